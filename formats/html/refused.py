"""The pages of forms that were not stored: what the user typed, and why."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from formats.html.bookmark import date_html, existing_form, title_link
from formats.html.editor import (
    LABELS,
    BookmarkForm,
    delete_form,
    edit_form,
    form_values,
    labelled_value,
)
from formats.html.frame import cut, e, list_link, notice
from formats.html.problem import (
    HEADINGS,
    Problem,
    conflict_link,
    detail_html,
    errors_html,
    people_text,
    write_page,
)
from formats.html.view import Site, View
from storage.index import Entry

_MAX_VALUE_SHOWN = 1000  # In characters, of each field in the notice of a refused deletion.


def _alert(content: str) -> str:
    return f'<div class="alert" role="alert">\n{content}</div>\n'


def write_refused(form: BookmarkForm, action: str, problem: Problem, site: Site) -> str:
    """Return the form as it was sent, with the errors above it and below each wrong field."""
    heading = HEADINGS.get(problem.status, "This did not work")
    errors = {name: _sentence(name, text) for name, text in problem.errors if name in LABELS}
    if link := conflict_link(problem):
        errors["uri"] = f"{detail_html(problem)} {link}"
    # With 410, another client deleted the bookmark after the user opened the form.
    label = "Save it as a new bookmark" if problem.status == 410 else "Save"
    text = "<p>This is not saved yet. The form has what you typed.</p>\n"
    editor = edit_form(action, form, label, errors_html=errors)
    return write_page(heading, _alert(text + errors_html(problem)) + editor, site)


def _sentence(name: str, reason: str) -> str:
    return f"{LABELS[name]} {people_text(reason)}"


def write_deletion_refused(problem: Problem, site: Site, list_query: str | None) -> str:
    """Return the notice that nothing was deleted, and why."""
    heading = HEADINGS.get(problem.status, "This did not work")
    content = notice(f"<p>{detail_html(problem)}</p>\n", "notice alert")
    return write_page(heading, content + list_link(site, list_query), site)


def write_existing(form: BookmarkForm, entry: Entry, view: View) -> str:
    """Return the form of the bookmark that has the uri already, with what was to be added."""
    stored = entry.bookmark
    opened = BookmarkForm.of(entry, {"_list": form.list_query} if form.list_query else {})
    typed = {name: getattr(form, name) for name in LABELS}
    editor = existing_form(entry, view, opened, typed, keep_typed_values=True)
    text = (
        f"<p>You saved {title_link(stored)} on {date_html(stored.created)}.</p>\n<p>The form shows "
        "that bookmark, with your tags after its own. Nothing changes before you save.</p>\n"
    )
    return write_page(HEADINGS[409], _alert(text) + editor, view.site)


def write_two_versions(
    form: BookmarkForm,
    entry: Entry,
    changes: Mapping[str, object],
    conflicts: Sequence[str],
    site: Site,
) -> str:
    """Return the form, with the stored value below each field that another client changed too.

    A field that the user has not changed has the stored value, so that saving leaves it alone.
    """
    saved, typed = form_values(entry.bookmark), {name: getattr(form, name) for name in changes}
    opened = BookmarkForm.of(entry)  # The next time, compare with the version shown now.
    form = replace(form, opened=opened.opened, **(saved | typed))
    address = f"{e(site.path)}/{entry.bookmark.id}"
    link = f' <a class="button" href="{address}">Keep the saved version</a>'
    editor = edit_form(
        f"{site.path}/-/edit/{entry.bookmark.id}",
        form,
        "Save mine",
        other_values_html={n: labelled_value("Saved now:", saved[n]) for n in conflicts},
        extra_link=link,
    )
    text = (
        "<p>Another version was saved after you opened this form. Your version is not saved yet."
        "</p>\n<p>Both versions changed the marked fields: your value is in the field, the saved "
        "value below it. The other fields have the changes of both versions.</p>\n"
    )
    return write_page("There are two versions", _alert(text) + editor, site)


def write_not_deleted(entry: Entry, site: Site, list_query: str | None) -> str:
    """Return the notice that nothing was deleted, with the version that is stored now.

    If the user pressed "Delete" in a list, the script shows this notice there, below the bookmark.
    """
    b = entry.bookmark
    rows = "".join(
        f'<dt>{LABELS[name]}</dt><dd dir="auto">{e(cut(value, _MAX_VALUE_SHOWN))}</dd>\n'
        for name, value in form_values(b).items()
        if value
    )
    content = (
        "<p>It has changed since the form was opened.</p>\n"
        f"<p>It was not deleted. This is the saved version:</p>\n<dl>\n{rows}</dl>\n"
        f'<div class="buttons"><a class="button" href="{e(site.path)}/{b.id}">Edit</a>\n'
        f"{delete_form(site.path, entry, list_query)}</div>\n"
    )
    main = notice(content, "notice alert") + list_link(site, list_query)
    return write_page(HEADINGS[412], main, site)
