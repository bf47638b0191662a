"""How to begin: what an empty collection's page says, and every other one keeps at its side."""

import json
from urllib.parse import quote

from formats.frame import e
from formats.view import View

# Opens the form with the page's address and title and the selected text. It cuts between whole
# characters, since half of one cannot be encoded.
_BOOKMARKLET = """\
javascript:(()=>{const e=encodeURIComponent,\
cut=(t,n)=>e([...t].slice(0,n).join('').toWellFormed()),\
url=BASE+'/?uri='+e(location.href)+'&title='+cut(document.title,1000)+'&description='+\
cut(String(getSelection()),2000);if(!open(url))location.href=url})()"""


def start(view: View) -> str:
    """The beginning of an empty collection's page."""
    return (
        "<h1>Your bookmarks begin here</h1>\n"
        '<p class="lead">Nothing is saved yet. Here are three ways in, and a form below.</p>\n'
        f'<div class="ways">\n<section>\n<h2>From any page</h2>\n{bookmarklet(view)}</section>\n'
        f"<section>\n<h2>From another service</h2>\n{import_form(view)}</section>\n"
        "<section>\n<h2>From a shell</h2>\n<p>One line adds a bookmark:</p>\n"
        f"<pre><code>curl {e(view.base)}/ "
        '<span class="whole">-d uri=https://example.com/</span></code></pre>\n'
        "</section>\n</div>\n"
    )


def bookmarklet(view: View) -> str:
    """The link that saves the page on which it is clicked, from the browser's bookmarks bar."""
    code = _BOOKMARKLET.replace("BASE", json.dumps(view.base))
    # A browser decodes the address before it runs it.
    address = quote(code, safe=":/()*'!,;=&+?.")
    return (
        f'<p><a class="button" id="bookmarklet" href="{e(address)}">Save to Bookmarks</a></p>\n'
        "<p>Drag this to your bookmarks bar. A click on it there saves the page that you are on, "
        "with the text that you have selected.</p>\n"
    )


def import_form(view: View) -> str:
    """The form that takes a file of bookmarks."""
    return (
        f'<form class="import" method="post" action="{e(view.path)}/" '
        'enctype="multipart/form-data">\n'
        '<label for="file">A file that a browser or another service has exported</label>\n'
        '<input type="file" id="file" name="file" required>\n<button>Import</button>\n</form>\n'
    )
