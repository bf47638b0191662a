"""The page to log in, and the page after the login that sends a pending form again.

A form is pending if the user sent it without being logged in. Both pages have its values in hidden
fields, so that nothing typed is lost.
"""

from formats.html import frame
from formats.html.editor import values_html
from formats.listing import Parameters, Site, list_address


def write_login_page(
    site: Site, target: str, pending_fields: Parameters, error: str = ""
) -> bytes:
    """Return the page with the form to log in.

    After the login the browser goes to `target`, which is appended to the path of the service.
    `pending_fields` are the fields of a pending form, if one was sent to `target`.
    """
    hint = ("hint", "A token from the token file of the service.")
    attributes, note = frame.field_note("token", ("error", error) if error else hint)
    content = (
        '<div class="field">\n<label for="token">Token</label>\n'
        # Password managers store the token under this user name.
        '<input hidden autocomplete="username" value="Bookmarks">\n'
        '<input type="password" id="token" name="token" required autofocus '
        f'autocomplete="current-password"{attributes}>\n{note}</div>\n'
        f"{frame.submit_button('Log in')}"
    )
    hidden = [("next", target), *pending_fields]
    main = frame.post_form(f"{site.path}/-/login", hidden, content, 'class="editor"')
    if pending_fields:
        note = "Nothing was saved yet, and nothing that you typed is lost. Log in to go on."
        main = f'<p role="status">{note}</p>\n{main}'
    return (frame.begin_login("Log in", site) + frame.single_column("Log in", main)).encode()


def write_pending_form(site: Site, target: str, pending_fields: Parameters) -> bytes:
    """Return the page after a login, with a button that sends the pending form to `target`.

    The user sent this form before the login. All its fields are hidden, so that the browser sends
    them again exactly as they were. The page shows the values that a user has typed as text.
    """
    address = list_address(site.path, dict(pending_fields).get("_list"))
    is_deletion = target.startswith("/-/delete/") or ("do", "delete") in pending_fields
    label = "Delete" if is_deletion else "Continue"
    buttons = frame.submit_button(label, frame.link_button("Cancel", address))
    form = frame.post_form(site.path + target, pending_fields, buttons)
    note = '<p role="status">You are logged in now.</p>\n'
    main = f"{values_html(pending_fields)}{note}{form}"
    return frame.write_page("This is not done yet", main, site).encode()


def write_logout_page(site: Site) -> bytes:
    """Return the page for a browser that is logged in."""
    form = frame.post_form(f"{site.path}/-/logout", [], "<button>Log out</button>")
    return frame.write_page("You are logged in", form, site).encode()
