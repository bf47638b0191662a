"""The page to log in, and the page after a login that shows the pending form.

A pending form was sent without a login. It is kept in these pages, and sent again after the login.
"""

from formats.base_url import BaseUrl, Parameters
from formats.html.editor import LABELS
from formats.html.frame import END, MULTIPART, begin, begin_login, e, hidden_input


def write_login_page(base: BaseUrl, target: str, fields: Parameters, error: str = "") -> bytes:
    """Return the page with the form to log in.

    After the login the browser goes to `target`, a path below the service's own. `fields` are those
    of a pending form, which was sent to `target`.
    """
    kind, state = ("error", ' aria-invalid="true"') if error else ("hint", "")
    note = e(error) if error else "A token from the token file of the service."
    return (
        f'{begin_login("Log in", base)}<main id="main" class="single">\n<h1>Log in</h1>\n'
        f"{_PENDING if fields else ''}"
        f'<form class="editor" method="post" action="{e(base.path)}/-/login" {MULTIPART}>\n'
        f"{hidden_input('next', target)}{_hidden_inputs(fields)}\n"
        '<div class="field">\n<label for="token">Token</label>\n'
        # Browsers store a password with a user name.
        '<input hidden autocomplete="username" value="Bookmarks">\n'
        '<input type="password" id="token" name="token" required autofocus '
        f'autocomplete="current-password" aria-describedby="token-{kind}"{state}>\n'
        f'<div class="{kind}" id="token-{kind}">{note}</div>\n</div>\n'
        '<p class="buttons"><button class="primary">Log in</button></p>\n</form>\n'
        f"</main>\n{END}"
    ).encode()


_PENDING = (
    '<p role="status">Nothing was saved yet, and nothing that you typed is lost. Log in to go on.'
    "</p>\n"
)


def write_pending_form(base: BaseUrl, target: str, fields: Parameters) -> bytes:
    """Return the page after a login with the fields of the pending form.

    All fields are hidden, so that the form is sent again exactly as it was; the page shows those
    that a user has typed.
    """
    is_deletion = ("_method", "DELETE") in fields
    heading = "This is not deleted yet" if is_deletion else "This is not saved yet"
    button = "Delete" if is_deletion else "Save"
    rows = "".join(
        f'<dt>{LABELS.get(name, e(name))}</dt><dd dir="auto">{e(value)}</dd>\n'
        for name, value in fields
        if value and not name.startswith("_")
    )
    return (
        f'{begin(heading, base)}<main id="main" class="single">\n<h1>{heading}</h1>\n'
        f'{f"<dl>{rows}</dl>" if rows else ""}\n<p role="status">You are logged in now.</p>\n'
        f'<form method="post" action="{e(base.path + target)}" {MULTIPART}>'
        f"{_hidden_inputs(fields)}\n"
        f'<p class="buttons"><button class="primary">{button}</button></p>\n</form>\n'
        f"</main>\n{END}"
    ).encode()


def _hidden_inputs(fields: Parameters) -> str:
    return "".join(hidden_input(e(name), value) for name, value in fields)
