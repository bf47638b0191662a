"""The pages to log in and out."""

from formats.html import frame
from formats.listing import Parameters, Site


def write_login_page(
    site: Site, target: str, pending_fields: Parameters, error: str = ""
) -> bytes:
    """Return the login page. The login leads to the path `target`, such as `/tags`.

    `pending_fields` are from a form that the user sent without a login.
    """
    source = "From the service’s token file or BOOKMARKS_TOKEN."
    note = frame.Note("hint", source)
    if error:
        note = frame.Note("error", error)
    attributes, note_html = frame.field_note("token", note)
    button = frame.submit_button("Log in")
    # Password managers need the hidden user name.
    content = f"""\
<div class="field">
<label for="token">Token</label>
<input hidden autocomplete="username" value="Bookmarks">
<input type="password" id="token" name="token" required autofocus \
autocomplete="current-password"{attributes}>
{note_html}</div>
{button}"""
    hidden = [("next", target), *pending_fields]
    main = frame.post_form(f"{site.path}/-/login", hidden, content)
    if pending_fields:
        main = (
            '<p role="status">Nothing was saved yet, and nothing that you typed is '
            f"lost. Log in to go on.</p>\n{main}"
        )
    page = frame.begin_login("Log in", site) + frame.single_column("Log in", main)
    return page.encode()


def write_logout_page(site: Site) -> bytes:
    form = frame.post_form(f"{site.path}/-/logout", [], "<button>Log out</button>")
    return frame.write_page("You are logged in", form, site).encode()
