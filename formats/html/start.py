"""The page of an empty collection, the bookmarklet and the import form."""

import json
from urllib.parse import quote

from formats.html.frame import e, post_form
from formats.listing import Site

# If the browser blocks the new window, the form replaces the page. `toWellFormed` replaces half a
# surrogate pair, for which `encodeURIComponent` throws an error.
_BOOKMARKLET = """
javascript:(()=>{
const e=encodeURIComponent,
cut=(t,n)=>e([...t].slice(0,n).join('').toWellFormed()),
url=BASE
+'/-/add?uri='+e(location.href)
+'&title='+cut(document.title,1000)
+'&description='+cut(String(getSelection()),2000);
if(!open(url+'&close=1'))location.href=url
})()
""".replace("\n", "")


def introduction(site: Site) -> str:
    path = e(site.path)
    from_page = bookmarklet(site)
    from_file = import_form(site)
    return f"""\
<form class="first" action="{path}/-/add">
<input type="hidden" name="_list">\
<label for="first">Paste the address of a page that you want to find again</label>
<div class="row"><input id="first" name="uri" dir="auto" required autofocus \
inputmode="url" autocapitalize="none" spellcheck="false" autocomplete="off" \
placeholder="https://example.com/">
<button class="primary">Add</button></div>
</form>
<div class="ways">
<section>
<h2>Add from any page</h2>
{from_page}</section>
<section>
<h2>Import</h2>
{from_file}</section>
</div>
"""


def bookmarklet(site: Site) -> str:
    code = _BOOKMARKLET.replace("BASE", json.dumps(site.url))
    # Browsers percent-decode a `javascript:` address before they run it.
    address = e(quote(code, safe=":/()*'!,;=&+?."))
    return f"""\
<div class="on-desktop">
<p>Drag this button to your bookmarks bar. Click it there to save the page \
that you are on, with the text that you have selected.</p>
<p><a class="button" id="bookmarklet" href="{address}">Save to Bookmarks</a></p>
</div>
<p class="on-phone">Install this page from the menu of your browser (over https). On Android, \
you can then share pages to it. On an iPhone, copy an address and paste it under Add.</p>
"""


def import_form(site: Site) -> str:
    content = """\
<label for="file">A file that a browser or another service has exported.</label>
<input type="file" id="file" name="file" required>
<button>Import</button>
"""
    return post_form(f"{site.path}/-/import", [], content, attributes='class="import"')
