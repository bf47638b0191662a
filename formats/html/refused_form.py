"""The pages of forms that were not stored."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from formats.html import frame
from formats.html.bookmark import typed_form
from formats.html.editor import (
    LABELS,
    BookmarkForm,
    FormParts,
    edit_form,
    other_value,
    texts_of,
)
from formats.html.error_page import Problem, detail_html, people_text, problem_html
from formats.html.frame import Note
from formats.html.list_forms import tags_field
from formats.html.parts import date_html, title_link
from formats.listing import Parameters, Site
from storage.index import Entry


def _alert(content: str) -> str:
    return f'<div class="notice alert" role="alert" tabindex="-1">\n{content}</div>\n'


def write_refused(fields: Mapping[str, Any], path: str, problem: Problem, site: Site) -> str:
    """Return the form of a bookmark as it was sent, with errors above it and below each field."""
    _, _, id = path.partition("/-/edit/")  # Empty in a form that adds a bookmark.
    label = "Save"
    if problem.deleted:
        id = ""
        label = "Save it as a new bookmark"
    form = replace(BookmarkForm.read(fields), id=id)
    notes = _notes(problem)
    first_wrong_field = next(iter(notes), "")
    parts = FormParts(notes=notes, focus=first_wrong_field, save_label=label)
    main = _alert(_not_saved(problem)) + edit_form(site, form, parts)
    return frame.write_page(problem.heading, main, site)


def _notes(problem: Problem) -> dict[str, Note]:
    errors = _error_sentences(problem)
    if problem.bookmark_url:  # Another bookmark has the typed address.
        errors = {"uri": detail_html(problem)}
    return {name: ("error", text) for name, text in errors.items()}


def _not_saved(problem: Problem) -> str:
    if problem.is_outcome_unknown:
        return "<p>The form has what you typed.</p>\n" + problem_html(problem)
    wrong_fields = [name for name, _ in problem.errors]
    are_in_form = all(name in LABELS for name in wrong_fields)
    if not wrong_fields or not are_in_form:
        return "<p>Not saved yet.</p>\n" + problem_html(problem)
    # The form shows each error below its field.
    links = [f'<a href="#{name}">{LABELS[name]}</a>' for name in wrong_fields]
    fields = ", ".join(links)
    return f"<p>Not saved yet. Please correct: {fields}</p>\n"


def write_not_done(fields: Mapping[str, Any], path: str, problem: Problem, site: Site) -> str:
    """Return the error page from which the user can send a form again, such as that of a tag."""
    text = "<p>This is not done yet.</p>\n"
    if problem.is_outcome_unknown:
        text = ""
    main = _alert(text + problem_html(problem))
    # It is useless to try again to change a bookmark that does not exist.
    if problem.status not in (404, 410):
        main += _form_again(fields, site.path + path, problem)
    main += frame.list_link(site, fields.get("_list"))
    return frame.write_page(problem.heading, main, site)


def _form_again(fields: Mapping[str, Any], address: str, problem: Problem) -> str:
    hidden: Parameters = []
    for name, value in fields.items():
        if name == "tags":
            continue  # The user can correct the tags in a field that is not hidden.
        if isinstance(value, list):
            hidden += [(name, text) for text in value]
        else:
            hidden.append((name, value))
    content = ""
    typed = ", ".join(fields.get("tags", ()))
    error = _error_sentences(problem).get("tags", "")
    if typed or error:
        content = tags_field("tags", "Tags", typed, error)
    content += frame.submit_button("Try again")
    return frame.post_form(address, hidden, content, attributes='class="retag"')


def _error_sentences(problem: Problem) -> dict[str, str]:
    """Return the error of each wrong field as a sentence, in the order of the fields."""
    errors = dict(problem.errors)
    sentences = {}
    for name, label in LABELS.items():
        if name in errors:
            sentences[name] = f"{label} {people_text(errors[name])}"
    return sentences


def write_existing(form: BookmarkForm, entry: Entry, site: Site) -> str:
    """Return the page for a user who has typed the uri of a stored bookmark to add it."""
    stored = entry.bookmark
    editor = typed_form(entry, site, form)
    link = title_link(stored)
    date = date_html(stored.created)
    text = (
        f"<p>You saved {link} on {date}.</p>\n<p>The form shows that bookmark, with your "
        "tags after its own. Nothing changes before you save.</p>\n"
    )
    return frame.write_page("You have this bookmark already", _alert(text) + editor, site)


def write_two_versions(
    form: BookmarkForm,
    entry: Entry,
    changes: Mapping[str, object],
    conflicts: Sequence[str],
    site: Site,
) -> str:
    """Return the page for a form whose bookmark another client has changed meanwhile.

    Its form has the values that the user has changed, and stored values in the other fields. Below
    each field that both have changed, it also shows the stored value.
    """
    stored = form.showing(entry)
    unread = stored.unread
    if "tags" in changes:  # "unread" is one of the tags.
        unread = form.unread
    typed = {name: form.text(name) for name in changes}
    merged = stored.with_texts(typed, unread)
    saved = texts_of(entry.bookmark)
    notes = {name: other_value("Saved now:", saved[name]) for name in conflicts}
    keep = frame.link_button("Keep the saved version", f"{site.path}/{stored.id}")
    editor = edit_form(site, merged, FormParts(notes=notes, save_label="Save mine", link=keep))
    text = (
        "<p>This bookmark was changed elsewhere. Where the two differ, the other version "
        "is under yours. Yours is not saved yet.</p>\n"
    )
    return frame.write_page("There are two versions", _alert(text) + editor, site)
