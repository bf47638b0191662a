"""The pages of forms that were not stored: the typed values, and the reasons."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from formats.html import frame
from formats.html.bookmark import existing_form
from formats.html.editor import LABELS, BookmarkForm, cancel_link, edit_form, other_value, texts_of
from formats.html.error_page import Problem, detail_html, people_text, problem_html
from formats.html.list_forms import tags_field
from formats.html.parts import date_html, title_link
from formats.listing import Parameters, Site
from storage.index import Entry


def _alert(content: str) -> str:
    return f'<div class="alert" role="alert">\n{content}</div>\n'


def write_refused(fields: Mapping[str, Any], path: str, problem: Problem, site: Site) -> str:
    """Return the form of a bookmark as it was sent, with errors above it and below each field."""
    errors = {"uri": detail_html(problem)} if problem.bookmark_url else _sentences(problem)
    notes = {name: ("error", text) for name, text in errors.items()}
    _, _, id = path.partition("/-/edit/")
    # A bookmark that was deleted after the user opened the form can only be added again.
    form = replace(BookmarkForm.read(fields), id="" if problem.deleted else id)
    label = "Save it as a new bookmark" if problem.deleted else "Save"
    editor = edit_form(site, form, label, notes=notes, focus=next(iter(errors), ""))
    text = "<p>This is not saved yet. The form has what you typed.</p>\n"
    return frame.write_page(problem.heading, _alert(text + problem_html(problem)) + editor, site)


def write_not_done(fields: Mapping[str, Any], path: str, problem: Problem, site: Site) -> str:
    """Return the page of another form, with this form to correct and to send again."""
    error, typed = _sentences(problem).get("tags", ""), ", ".join(fields.get("tags", ()))
    content = tags_field("tags", "Tags", typed, error) if error or typed else ""
    content += frame.submit_button("Try again")
    hidden: Parameters = [
        (name, text)
        for name, value in fields.items()
        for text in (value if isinstance(value, list) else [value])
        if name != "tags"
    ]
    main = _alert(f"<p>This is not done yet.</p>\n{problem_html(problem)}")
    # A bookmark that does not exist cannot be changed the next time either.
    if problem.status not in (404, 410):
        main += frame.post_form(site.path + path, hidden, content, 'class="retag"')
    main += frame.list_link(site, fields.get("_list"))
    return frame.write_page(problem.heading, main, site)


def _sentences(problem: Problem) -> dict[str, str]:
    """Return the errors to be shown below the fields of a form, in the order of the fields."""
    errors = dict(problem.errors)
    return {n: f"{LABELS[n]} {people_text(errors[n])}" for n in LABELS if n in errors}


def write_existing(form: BookmarkForm, entry: Entry, site: Site) -> str:
    """Return the form of the bookmark that has the uri already, with what was to be added."""
    stored = entry.bookmark
    editor = existing_form(entry, site, form, is_typed=True)
    text = (
        f"<p>You saved {title_link(stored)} on {date_html(stored.created)}.</p>\n<p>The form shows "
        "that bookmark, with your tags after its own. Nothing changes before you save.</p>\n"
    )
    return frame.write_page("You have this bookmark already", _alert(text) + editor, site)


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
    form = replace(form.showing(entry), **typed)
    notes = {name: other_value("Saved now:", saved[name]) for name in conflicts}
    keep = frame.link_button("Keep the saved version", f"{site.path}/{form.id}")
    link = f"{keep} {cancel_link(site, form)}"
    editor = edit_form(site, form, "Save mine", notes=notes, link=link)
    text = (
        "<p>Another version was saved after you opened this form. Your version is not saved yet."
        "</p>\n<p>Both versions changed the marked fields: your value is in the field, the saved "
        "value below it. The other fields have the changes of both versions.</p>\n"
    )
    return frame.write_page("There are two versions", _alert(text) + editor, site)
