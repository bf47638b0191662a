"""The page to log in, and the page after the login that sends a pending form again.

A form is pending if the user sent it without being logged in. Both pages have its values in hidden
fields, so that nothing typed is lost.
"""

from formats.html.bookmark import host_html, title_link
from formats.html.editor import LABELS
from formats.html.frame import ENCTYPE_MULTIPART, END, begin, begin_login, e, hidden_input
from formats.html.view import Parameters, Site, list_address
from storage.bookmark import Bookmark

# The labels of the fields of forms that a user types.
_TYPED = LABELS | {"add": "Add tags", "remove": "Remove tags"}


def write_login_page(
    site: Site, target: str, pending_fields: Parameters, error: str = ""
) -> bytes:
    """Return the page with the form to log in.

    After the login the browser goes to `target`, which is appended to the path of the service.
    `pending_fields` are the fields of a pending form, if one was sent to `target`.
    """
    # Multipart, because URL-encoding could make a long bookmark too large for the service.
    note = e(error) if error else "A token from the token file of the service."
    note_class, aria_invalid = ("error", ' aria-invalid="true"') if error else ("hint", "")
    return (
        f'{begin_login("Log in", site)}<main id="main" class="single">\n<h1>Log in</h1>\n'
        f"{_PENDING_NOTICE if pending_fields else ''}"
        f'<form class="editor" method="post" action="{e(site.path)}/-/login" {ENCTYPE_MULTIPART}>\n'
        f"{hidden_input('next', target)}{_hidden_inputs(pending_fields)}\n"
        '<div class="field">\n<label for="token">Token</label>\n'
        # Password managers store the token under this user name.
        '<input hidden autocomplete="username" value="Bookmarks">\n'
        '<input type="password" id="token" name="token" required autofocus '
        f'autocomplete="current-password" aria-describedby="token-{note_class}"'
        f'{aria_invalid}>\n<div class="{note_class}" id="token-{note_class}">{note}</div>\n</div>\n'
        '<p class="buttons"><button class="primary">Log in</button></p>\n</form>\n'
        f"</main>\n{END}"
    ).encode()


_PENDING_NOTICE = (
    '<p role="status">Nothing was saved yet, and nothing that you typed is lost. Log in to go on.'
    "</p>\n"
)


# The heading and the button of a pending form by the beginning of its target.
_PENDING = {
    "/-/delete/": ("This is not deleted yet", "Delete"),
    "/-/restore": ("This is not put back yet", "Put back"),
    "/-/selected": ("This is not done yet", "Continue"),
    "/": ("This is not saved yet", "Save"),
}


def write_pending_form(
    site: Site, target: str, pending_fields: Parameters, bookmark: Bookmark | None
) -> bytes:
    """Return the page after a login, with a button that sends the pending form to `target`.

    The user sent this form before the login. All its fields are hidden, so that the browser sends
    them again exactly as they were. The page shows the values that a user has typed as text, and
    the `bookmark` that a deletion is about.
    """
    heading, button = next(_PENDING[start] for start in _PENDING if target.startswith(start))
    cancel = e(list_address(site.path, dict(pending_fields).get("_list", "")))
    rows = "".join(
        f'<dt>{_TYPED[name]}</dt><dd dir="auto">{e(value)}</dd>\n'
        for name, value in pending_fields
        if value and name in _TYPED  # Nobody types the others, such as `_version`.
    )
    return (
        f'{begin(heading, site)}<main id="main" class="single">\n<h1>{heading}</h1>\n'
        f'{f"<dl>{rows}</dl>" if rows else ""}\n<p role="status">You are logged in now.</p>\n'
        f"{_named(bookmark) if bookmark else ''}"
        f'<form method="post" action="{e(site.path + target)}" {ENCTYPE_MULTIPART}>'
        f"{_hidden_inputs(pending_fields)}\n"
        f'<p class="buttons"><button class="primary">{button}</button> '
        f'<a class="button" href="{cancel}">Cancel</a></p>\n</form>\n</main>\n{END}'
    ).encode()


def _named(bookmark: Bookmark) -> str:
    return f'<p dir="auto">{title_link(bookmark)} {host_html(bookmark.uri)}</p>\n'


def _hidden_inputs(fields: Parameters) -> str:
    return "".join(hidden_input(name, value) for name, value in fields)


def write_logout_page(site: Site) -> bytes:
    """Return the page for a browser that is logged in."""
    return (
        f'{begin("Log out", site)}<main id="main" class="single">\n<h1>You are logged in</h1>\n'
        f'<form method="post" action="{e(site.path)}/-/logout"><button>Log out</button></form>\n'
        f"</main>\n{END}"
    ).encode()
