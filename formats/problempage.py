"""What went wrong, told to a person; a form that could not be saved comes back as it was sent."""

from collections.abc import Mapping

from formats.editor import LABELS, NEW, delete_form, fields_of, form
from formats.frame import END, begin, cut, e, listed
from formats.view import Draft, View
from storage.bookmark import Bookmark

_HEADINGS = {
    400: "That cannot be understood",
    401: "A token is needed",
    403: "That came from another site",
    404: "There is nothing here",
    409: "You have that one already",
    410: "This bookmark was deleted",
    412: "Somebody was faster",
    413: "That is too large",
    421: "That is no name of this service",
    422: "Something is not right yet",
    500: "Something went wrong here",
    503: "That is not possible just now",
    507: "The disk is full",
}


def write_problem(
    status: int, title: str, detail: str, members: Mapping[str, object], view: View
) -> bytes:
    """A page that says what went wrong, and where; `members` are the problem's own."""
    heading = _HEADINGS.get(status, title)
    if view.draft is None:
        main = f"<p>{e(detail)}</p>\n{_members(members)}{_way_out(view)}"
    elif view.draft.is_deletion:
        main = f'<div class="alert" role="alert">\n<p>{e(detail)}</p>\n</div>\n'
        main += _kept(view.draft, view.draft.current) if view.draft.current else _way_out(view)
    elif view.draft.current:
        heading = "There are two versions"
        main = _both(view.draft, view.draft.current, detail)
    else:
        main = _again(view.draft, status, detail, members)
    return (
        f'{begin(heading, view)}<main id="main" class="single">\n'
        f'<p class="status">{status} {e(title)}</p>\n<h1>{e(heading)}</h1>\n{main}</main>\n{END}'
    ).encode()


def _members(members: Mapping[str, object]) -> str:
    """What the problem tells besides: which fields are wrong, or which bookmark is in the way."""
    lines = listed([f"{e(name)} {e(reason)}" for name, reason in _errors(members)])
    return (lines if _errors(members) else "") + _holder(members)


def _errors(members: Mapping[str, object]) -> list[tuple[str, str]]:
    errors = members.get("errors", ())
    assert isinstance(errors, list | tuple)
    return [(error["field"], error["reason"]) for error in errors]


def _holder(members: Mapping[str, object]) -> str:
    if "bookmark" not in members:
        return ""
    url = str(members["bookmark"])
    return f'<p><a href="{e(url)}">See the bookmark that has this address</a></p>\n'


def _way_out(view: View) -> str:
    return f'<p><a class="button" href="{e(view.path)}/">All bookmarks</a></p>\n'


def _again(draft: Draft, status: int, detail: str, members: Mapping[str, object]) -> str:
    """The form as it was sent, with what is wrong above it and beside each field."""
    errors = _errors(members)
    beside = {name: f"{LABELS[name]} {e(reason)}" for name, reason in errors if name in LABELS}
    if holder := _holder(members):
        beside["uri"] = f"{e(detail)} {holder}"
    lines = [
        f'<a href="#{name}">{LABELS[name]}</a> {e(reason)}' if name in LABELS
        else f"{e(name)} {e(reason)}"
        for name, reason in errors
    ]  # fmt: skip
    said = listed(lines) if lines else f"<p>{e(detail)}</p>\n"
    save = "Save it as a new bookmark" if status == 410 else "Save"
    version = NEW if status == 410 else draft.version
    return (
        f'<div class="alert" role="alert">\n<p>It is not saved yet. What you typed is below.</p>\n'
        f"{said}</div>\n"
        f"{form(draft.action, draft.fields, version, save, errors=beside)}"
    )


def _both(draft: Draft, current: Bookmark, detail: str) -> str:
    """The form as it was sent, and what is saved by now below each field that differs."""
    keep = f' <a class="button" href="{e(draft.action)}">Keep what is saved</a>'
    theirs = fields_of(current)
    mine = form(draft.action, draft.fields, draft.version, "Save mine", instead=keep, theirs=theirs)
    return (
        f'<div class="alert" role="alert">\n<p>{e(detail)}</p>\n'
        "<p>What you typed is in the form; what is saved stands below each field that differs. "
        f"Neither is lost.</p>\n</div>\n{mine}"
    )


def _kept(draft: Draft, b: Bookmark) -> str:
    """The bookmark that was not deleted, as it is by now."""
    rows = "".join(
        f'<dt>{LABELS[name]}</dt><dd dir="auto">{e(cut(value, 1000))}</dd>\n'
        for name, value in fields_of(b).items()
        if value
    )
    return (
        f"<p>It was not deleted. This is what it is now:</p>\n<dl>\n{rows}</dl>\n"
        f'<p><a class="button" href="{e(draft.action)}">Edit</a></p>\n'
        f"{delete_form(draft.action, draft.version)}"
    )
