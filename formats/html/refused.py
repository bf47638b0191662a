"""The pages of forms that were not stored: what the user typed, and why."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from formats.html.bookmark import date_html, edit_path, existing_form, title_link
from formats.html.editor import LABELS, BookmarkForm, edit_form, labelled_value, texts_of
from formats.html.frame import ENCTYPE_MULTIPART, e, list_link, post_form, write_page
from formats.html.problem import Problem, conflict_link, detail_html, errors_html, people_text
from formats.html.retag import tags_field
from formats.html.view import Parameters, Site, View
from storage.index import Entry


def _alert(content: str) -> str:
    return f'<div class="alert" role="alert">\n{content}</div>\n'


def write_refused(fields: Mapping[str, Any], path: str, problem: Problem, site: Site) -> str:
    """Return the form of a bookmark as it was sent, with errors above it and below each field."""
    errors = _sentences(problem)
    if link := conflict_link(problem):
        errors["uri"] = f"{detail_html(problem)} {link}"
    label = "Save"
    if problem.deleted:  # By another client, after the user opened the form.
        path, label = "/-/add", "Save it as a new bookmark"
    text = "<p>This is not saved yet. The form has what you typed.</p>\n"
    editor = edit_form(site, path, BookmarkForm.read(fields), label, errors_html=errors)
    return write_page(problem.heading, _alert(text + errors_html(problem)) + editor, site)


def write_not_done(fields: Mapping[str, Any], path: str, problem: Problem, site: Site) -> str:
    """Return the page of another form, with this form to correct and to send again."""
    error, typed = _sentences(problem).get("tags", ""), ", ".join(fields.get("tags", ()))
    content = tags_field("tags", "Tags", typed, error) if error or typed else ""
    content += '<p class="buttons"><button class="primary">Try again</button></p>\n'
    hidden: Parameters = [
        (name, text)
        for name, value in fields.items()
        for text in (value if isinstance(value, list) else [value])
        if name != "tags"
    ]
    form = post_form(site.path + path, hidden, content, f'class="retag" {ENCTYPE_MULTIPART}')
    main = _alert(f"<p>This is not done yet.</p>\n{errors_html(problem)}")
    # A bookmark that does not exist cannot be changed the next time either.
    main += form if problem.status not in (404, 409, 410) else ""
    return write_page(problem.heading, main + list_link(site, fields.get("_list")), site)


def _sentences(problem: Problem) -> dict[str, str]:
    """Return the error of each field of a form, to be shown below the field."""
    return {n: f"{LABELS[n]} {people_text(why)}" for n, why in problem.errors if n in LABELS}


def write_existing(form: BookmarkForm, entry: Entry, view: View) -> str:
    """Return the form of the bookmark that has the uri already, with what was to be added."""
    stored = entry.bookmark
    editor = existing_form(entry, view, form, keep_typed_values=True)
    text = (
        f"<p>You saved {title_link(stored)} on {date_html(stored.created)}.</p>\n<p>The form shows "
        "that bookmark, with your tags after its own. Nothing changes before you save.</p>\n"
    )
    return write_page("You have this bookmark already", _alert(text) + editor, view.site)


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
    saved = texts_of(entry.bookmark)
    typed: dict[str, Any] = {name: getattr(form, name) for name in changes}
    if "tags" in changes:
        typed["unread"] = form.unread
    address = f"{e(site.path)}/{entry.bookmark.id}"
    link = f' <a class="button" href="{address}">Keep the saved version</a>'
    editor = edit_form(
        site,
        edit_path(entry),
        replace(form.showing(entry), **typed),
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
