"""The page that reports an error; a form that could not be saved comes back as it was sent."""

from collections.abc import Mapping, Sequence

import msgspec

from formats.base_url import BaseUrl
from formats.form import HiddenFields
from formats.html.bookmark import date_html, existing_form, title_link
from formats.html.editor import LABELS, delete_form, edit_form, form_values, labelled_value
from formats.html.frame import END, begin, cut, e, list_link, notice
from formats.problem import Problem
from storage.bookmark import Bookmark

_MAX_VALUE_SHOWN = 1000  # In characters, of each field in the notice of a refused deletion.


class SentForm(msgspec.Struct, frozen=True):
    """A form that the service refused, to be corrected and sent again."""

    action: str  # The path to send the form to again; empty if `is_retagging`.
    # By the name of a field, the value to show: the typed one if the user has changed the field,
    # and the stored one otherwise.
    values: Mapping[str, str]
    hidden_fields: HiddenFields  # If there is a `stored` bookmark, they have its version.
    # The stored bookmark, if another client has changed it since the user opened the form, or if it
    # has the uri that the form was to add.
    stored: Bookmark | None = None
    conflicts: Sequence[str] = ()  # The fields that the user and another client have changed.
    adds_existing_uri: bool = False  # The form was to add a bookmark, but `stored` has its uri.
    is_deletion: bool = False  # The form was to delete the bookmark.
    # The form was to change tags of many bookmarks. The page links to their list, without a form.
    is_retagging: bool = False


# The heading of the page for each status of a problem.
_HEADINGS: Mapping[int, str] = {
    400: "This cannot be read",
    403: "This was sent by another site",
    404: "There is nothing here",
    405: "This is not possible here",
    406: "There is no page here",
    409: "You have this bookmark already",
    410: "This bookmark was deleted",
    412: "The bookmark has changed",
    413: "This is too large",
    415: "This cannot be read",
    421: "This is not a name of this service",
    422: "Something needs a correction",
    500: "Something went wrong here",
    503: "This is not possible now",
    507: "The disk is full",
}
# With these statuses, the problem's detail is meant for programs. Pages show these texts instead.
_TEXTS_FOR_PEOPLE: Mapping[int, str] = {
    405: "This cannot be done at this address.",
    406: "This address is meant for programs.",
    409: "Another bookmark has this address.",
    415: "The service does not know the type of what was sent.",
}


def write_problem(problem: Problem, base: BaseUrl, sent: SentForm | None) -> bytes:
    """Return the page of a problem, with the refused form to add or edit a bookmark, if any."""
    heading = _HEADINGS.get(problem.status, "This did not work")
    escaped_detail = e(_TEXTS_FOR_PEOPLE.get(problem.status, problem.detail))
    if sent is None or sent.is_retagging:
        # A change of tags is refused with 412 if its list has more or fewer bookmarks than the user
        # was shown. The usual heading for 412 would be about one bookmark that has changed.
        if sent and problem.status == 412:
            heading = "Nothing was changed"
        reasons = _errors(problem) or f"<p>{escaped_detail}</p>\n"
        list_query = sent.hidden_fields.list_query if sent else None
        main = f"{reasons}{_conflict_link(problem)}{list_link(base, list_query)}"
    elif sent.is_deletion:
        main = _not_deleted(sent, escaped_detail) + list_link(base, sent.hidden_fields.list_query)
    elif sent.stored and sent.adds_existing_uri:
        heading = _HEADINGS[409]
        main = _existing(sent, sent.stored)
    elif sent.stored:  # Another client has changed the bookmark since the user opened the form.
        heading = "There are two versions"
        main = _both_versions(sent, sent.stored)
    else:
        main = _form_with_errors(sent, problem, escaped_detail)
    return (
        f'{begin(heading, base)}<main id="main" class="single">\n'
        f"<h1>{e(heading)}</h1>\n{main}</main>\n{END}"
    ).encode()


def _errors(problem: Problem) -> str:
    """Return a list of the errors. Each begins with a link to the field if the form shows it."""
    items = [f"<li>{_field_link(name)} {e(reason)}</li>" for name, reason in problem.errors]
    return f"<ul>{''.join(items)}</ul>\n" if items else ""


def _field_link(name: str) -> str:
    return f'<a href="#{name}">{LABELS[name]}</a>' if name in LABELS else e(name)


def _conflict_link(problem: Problem) -> str:
    if not problem.bookmark_url:
        return ""
    url = e(problem.bookmark_url)
    return f'<p><a href="{url}">See the bookmark that has this address</a></p>\n'


def _form_with_errors(sent: SentForm, problem: Problem, escaped_detail: str) -> str:
    """Return the form as it was sent, with the errors above it and below each wrong field."""
    errors = {name: f"{LABELS[name]} {e(text)}" for name, text in problem.errors if name in LABELS}
    if conflict_link := _conflict_link(problem):
        errors["uri"] = f"{escaped_detail} {conflict_link}"
    # With 410, another client deleted the bookmark after the user opened the form.
    label = "Save it as a new bookmark" if problem.status == 410 else "Save"
    return (
        '<div class="alert" role="alert">\n<p>This is not saved yet. The form has what you typed.'
        f"</p>\n{_errors(problem) or f'<p>{escaped_detail}</p>'}</div>\n"
        f"{edit_form(sent.action, sent.values, sent.hidden_fields, label, errors_html=errors)}"
    )


def _existing(sent: SentForm, stored: Bookmark) -> str:
    """Return the form of the bookmark that has the uri already, with what was to be added."""
    form = existing_form(
        sent.action, stored, sent.hidden_fields, values_to_add=sent.values, keep_typed_values=True
    )
    return (
        f'<div class="alert" role="alert">\n<p>You saved {title_link(stored)} on '
        f"{date_html(stored.created)}.</p>\n<p>The form shows that bookmark, with your tags "
        f"after its own. Nothing changes before you save.</p>\n</div>\n{form}"
    )


def _both_versions(sent: SentForm, stored: Bookmark) -> str:
    """Return the form, with the stored value below each field that another client changed too."""
    # The form's `action` is the address of the bookmark, so a link to it shows the saved version.
    keep_saved_link = f' <a class="button" href="{e(sent.action)}">Keep the saved version</a>'
    saved = form_values(stored)
    saved_html = {name: labelled_value("Saved now:", saved[name]) for name in sent.conflicts}
    form = edit_form(
        sent.action,
        sent.values,
        sent.hidden_fields,
        save_label="Save mine",
        other_values_html=saved_html,
        extra_link=keep_saved_link,
    )
    return (
        '<div class="alert" role="alert">\n'
        "<p>Another version was saved after you opened this form. Your version is not saved yet."
        "</p>\n<p>Both versions changed the marked fields: your value is in the field, the saved "
        f"value below it. The other fields have the changes of both versions.</p>\n</div>\n{form}"
    )


def _not_deleted(sent: SentForm, escaped_detail: str) -> str:
    """Return the notice that nothing was deleted, with the stored bookmark if it has changed.

    If the user pressed "Delete" in a list, the script shows this notice there, below the bookmark.
    """
    # `sent.stored` is None unless another client has changed the bookmark.
    saved_version = _saved_version(sent, sent.stored) if sent.stored else ""
    return notice(f"<p>{escaped_detail}</p>\n{saved_version}", "notice alert")


def _saved_version(sent: SentForm, b: Bookmark) -> str:
    rows = "".join(
        f'<dt>{LABELS[name]}</dt><dd dir="auto">{e(cut(value, _MAX_VALUE_SHOWN))}</dd>\n'
        for name, value in form_values(b).items()
        if value
    )
    return (
        f"<p>It was not deleted. This is the saved version:</p>\n<dl>\n{rows}</dl>\n"
        # The form's `action` is the address of the bookmark, whose page has the form to edit it.
        f'<div class="buttons"><a class="button" href="{e(sent.action)}">Edit</a>\n'
        # `hidden_fields` has the version of the saved bookmark, so this button can delete it.
        f"{delete_form(sent.action, sent.hidden_fields)}</div>\n"
    )
