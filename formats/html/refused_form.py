"""Pages that show a refused form again."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from formats.html import frame
from formats.html.editor import (
    LABELS,
    BookmarkForm,
    FormParts,
    edit_form,
    saved_version,
    texts_of,
)
from formats.html.error_page import Problem, detail_html, error_sentence, problem_html
from formats.html.frame import Note
from formats.html.list_forms import tags_field
from formats.listing import Site, with_query
from storage.index import Entry

_LABELS_OF_REPEATED_ACTIONS = {
    "add": "Add tags",
    "remove": "Remove tags",
    "ask": "Remove tags",
    "rename": "Rename",
    "merge": "Merge",
    "read": "Mark as read",
    "unread": "Mark as unread",
    "delete": "Delete",
    "keep": "Keep this one",
    "restore": "Put back",
    "trash": "Delete for good",
}


def _alert(content: str) -> str:
    return f'<div class="notice alert" role="alert" tabindex="-1">\n{content}</div>\n'


def write_refused(fields: Mapping[str, Any], path: str, problem: Problem, site: Site) -> str:
    """Return the form of a bookmark as it was sent, with the errors."""
    form = BookmarkForm.read(fields)
    if problem.deleted:
        label = "Save it as a new bookmark"
    else:
        label = "Save"
        form = replace(form, id=_edited_id(path))
    notes = _notes(problem)
    first_wrong_field = next(iter(notes), "")
    parts = FormParts(notes=notes, focus=first_wrong_field, save_label=label)
    heading, text = _heading_and_text(problem)
    main = _alert(text) + edit_form(site, form, parts)
    return frame.write_page(heading, main, site)


def _edited_id(path: str) -> str:
    """Return the id in `/-/edit/{id}`, or "" for `/-/add`."""
    _, _, id = path.partition("/-/edit/")
    return id


def _notes(problem: Problem) -> dict[str, Note]:
    errors = _error_sentences(problem)
    if problem.bookmark_url:
        errors = {"uri": detail_html(problem)}
    return {name: Note("error", text) for name, text in errors.items()}


def _heading_and_text(problem: Problem) -> tuple[str, str]:
    text = problem_html(problem)
    if problem.is_outcome_unknown:
        return problem.heading, f"<p>The form has what you typed.</p>\n{text}"
    wrong_fields = [name for name, _ in problem.errors]
    if wrong_fields and set(wrong_fields) <= LABELS.keys():
        links = _links_to_fields(wrong_fields)
        return "Not saved yet", f"<p>Please correct: {links}</p>\n"
    return problem.heading, f"<p>Not saved yet.</p>\n{text}"


def _links_to_fields(names: Sequence[str]) -> str:
    return ", ".join([f'<a href="#{name}">{LABELS[name]}</a>' for name in names])


def write_not_done(fields: Mapping[str, Any], path: str, problem: Problem, site: Site) -> str:
    """Return an error page. Its button sends the form again, unless the bookmark is missing."""
    text = problem_html(problem)
    form = ""
    is_bookmark_missing = problem.status in (404, 410)
    if not is_bookmark_missing:
        form = _form_again(fields, path, problem, site)
        if not problem.is_outcome_unknown:
            text += "<p>This is not done yet.</p>\n"
    main = _alert(text) + form + frame.list_link(site, fields.get("_list"))
    return frame.write_page(problem.heading, main, site)


def _form_again(
    fields: Mapping[str, Any], path: str, problem: Problem, site: Site
) -> str:
    other_fields = {name: value for name, value in fields.items() if name != "tags"}
    content = ""
    typed = ", ".join(fields.get("tags", ()))
    error = _error_sentences(problem).get("tags", "")
    if typed or error:
        content = tags_field("tags", "Tags", typed, error)
    content += frame.submit_button(_action_label(fields, path))
    hidden = frame.flatten(other_fields)
    return frame.post_form(site.path + path, hidden, content, attributes='class="retag"')


def _action_label(fields: Mapping[str, Any], path: str) -> str:
    _, _, rest = path.partition("/-/")
    button, _, _ = rest.partition("/")  # Such as "delete" in `/-/delete/{id}`.
    action = fields.get("do", button)
    return _LABELS_OF_REPEATED_ACTIONS.get(action, "Try again")


def _error_sentences(problem: Problem) -> dict[str, str]:
    """Return sentences by field name, in the order of the form."""
    errors = dict(problem.errors)
    sentences = {}
    for name in LABELS:
        if name in errors:
            sentences[name] = error_sentence(name, errors[name])
    return sentences


def write_two_versions(
    form: BookmarkForm,
    entry: Entry,
    changes: Mapping[str, object],
    conflicts: Sequence[str],
    site: Site,
) -> str:
    """Return the page for a form in conflict with changes of another client."""
    stored_texts = texts_of(entry.bookmark)
    notes = {name: saved_version(stored_texts[name]) for name in conflicts}
    saved_version_address = with_query(f"{site.path}/{entry.bookmark.id}", form.origin())
    keep = frame.link_button("Keep the saved version", saved_version_address)
    parts = FormParts(notes=notes, save_label="Save mine", link_beside_save=keep)
    editor = edit_form(site, _merge(form, entry, changes), parts)
    links = _links_to_fields(conflicts)
    text = (
        "<p>This bookmark was changed elsewhere, and yours is not saved yet.</p>\n"
        f"<p>The two differ in: {links}</p>\n"
    )
    return frame.write_page("There are two versions", _alert(text) + editor, site)


def _merge(form: BookmarkForm, entry: Entry, changes: Mapping[str, object]) -> BookmarkForm:
    """Return the form with stored values in the fields that the user has not changed."""
    stored = form.with_stored_values(entry)
    unread = stored.unread
    if "tags" in changes:  # The checkbox `unread` is stored as one of the tags.
        unread = form.unread
    typed = {name: form.text(name) for name in changes}
    return stored.with_texts(typed, unread)
