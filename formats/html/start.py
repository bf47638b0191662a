"""How to begin: the page of an empty collection, the bookmarklet and the import form."""

import json
from urllib.parse import quote

from formats.html.frame import e, post_form
from formats.listing import Site

# If the browser refuses to open a window for the form, the form replaces the page. toWellFormed
# replaces half a surrogate pair, for which encodeURIComponent would throw an error.
_BOOKMARKLET = """\
javascript:(()=>{const e=encodeURIComponent,\
cut=(t,n)=>e([...t].slice(0,n).join('').toWellFormed()),\
url=BASE+'/-/add?uri='+e(location.href)+'&title='+cut(document.title,1000)+'&description='+\
cut(String(getSelection()),2000);if(!open(url+'&close=1'))location.href=url})()"""


def introduction(site: Site) -> str:
    """Return the content of the page of an empty collection."""
    path = e(site.path)
    from_page = bookmarklet(site)
    from_file = import_form(site)
    return (
        f'<form class="first" action="{path}/-/add">\n<input type="hidden" name="_list">'
        '<label for="first">Paste the address of a page that you want to find again</label>\n'
        '<div class="row"><input id="first" name="uri" dir="auto" required autofocus '
        'inputmode="url" autocapitalize="none" spellcheck="false" autocomplete="off" '
        'placeholder="https://">\n<button class="primary">Add</button></div>\n</form>\n'
        '<div class="ways">\n'
        f"<section>\n<h2>From any page</h2>\n{from_page}</section>\n"
        f"<section>\n<h2>From another program</h2>\n{from_file}</section>\n"
        "</div>\n"
    )


def bookmarklet(site: Site) -> str:
    """Return the bookmarklet that saves a page of any site, and instructions for a phone."""
    code = _BOOKMARKLET.replace("BASE", json.dumps(site.url))
    # Browsers decode the address before they run it, so each % of the code must be encoded.
    address = quote(code, safe=":/()*'!,;=&+?.")
    return (
        '<div class="on-desktop">\n<p>'
        f'<a class="button" id="bookmarklet" href="{e(address)}">Save to Bookmarks</a></p>\n'
        "<p>Drag this button to your bookmarks bar. Click it there to save the page "
        "that you are on, with the text that you have selected.</p>\n</div>\n"
        '<p class="on-phone">Over https, you can install this page from the menu of '
        "your browser. On Android you can then share pages from any app to "
        "Bookmarks.</p>\n"
    )


def import_form(site: Site) -> str:
    """Return the form that imports a file."""
    content = (
        '<label for="file">'
        "A file that a browser or another service has exported</label>\n"
        '<input type="file" id="file" name="file" required>\n'
        "<button>Import</button>\n"
    )
    return post_form(f"{site.path}/-/import", [], content, attributes='class="import"')
