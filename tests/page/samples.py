"""Typical bookmarks for the pictures and for tests of the page."""

SAMPLES = [
    (
        "https://www.rfc-editor.org/rfc/rfc9110.html",
        "RFC 9110: HTTP Semantics",
        "The one to cite for methods, status codes, conditional requests and content negotiation.",
        "http, rfc, web",
    ),
    (
        "https://sqlite.org/whentouse.html",
        "Appropriate Uses For SQLite",
        "“SQLite does not compete with client/server databases. SQLite competes with fopen().”",
        "database, sqlite, architecture",
    ),
    (
        "https://www.bbc.co.uk/food/recipes/shakshuka_93889",
        "Shakshuka recipe",
        "",
        "recipes, breakfast",
    ),
    (
        "https://danluu.com/file-consistency/",
        "Files are hard",
        "What it takes to write a file so that a crash at any instant loses nothing.",
        "filesystems, durability, reading",
    ),
    (
        "https://www.haaretz.co.il/",
        "הארץ – חדשות, ידיעות מהארץ והעולם",
        "עיתון יומי",
        "news, hebrew",
    ),
    (
        "https://every-layout.dev/layouts/",
        "Every Layout: relearn CSS layout",
        "Composable layouts that need no breakpoints.",
        "css, web, design",
    ),
    (
        "https://github.com/python/cpython/blob/main/Lib/mailbox.py",
        "cpython/Lib/mailbox.py",
        "",
        "python, reading",
    ),
    (
        "https://www.w3.org/WAI/ARIA/apg/patterns/combobox/",
        "Combobox Pattern | APG",
        "Keyboard interaction, roles and states.",
        "accessibility, web, aria",
    ),
    (
        "https://lwn.net/Articles/457667/",
        "Ensuring data reaches disk",
        "",
        "linux, durability, filesystems",
    ),
    (
        "https://practicaltypography.com/line-length.html",
        "Line length | Butterick’s Practical Typography",
        "45 to 90 characters.",
        "typography, design",
    ),
    (
        "magnet:?xt=urn:btih:08ada5a7a6183aae1e09d831df6748d566095a10&dn=Sintel",
        "Sintel, the Durian open movie",
        "",
        "film, cc",
    ),
    (
        "https://peps.python.org/pep-3333/",
        "PEP 3333: Python Web Server Gateway Interface",
        "",
        "python, web, wsgi",
    ),
]
