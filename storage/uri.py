"""The comparison key of a uri: RFC 3986 section 6.2.2, plus default port and empty path."""

import re

_DEFAULT_PORTS = {"http": "80", "https": "443", "ftp": "21", "ws": "80", "wss": "443"}
# Most uris have this form: scheme and host in lower case, no userinfo, no port, and a path. If such
# a uri has no `%` and no dot segment, it is normalized already, so `uri_key` need not parse it.
_MOSTLY_NORMALIZED = re.compile(r"[a-z][a-z0-9+.-]*://[a-z0-9.-]+/[!-~]*")
_ENCODED_OR_NOT_ASCII = re.compile(r"%[0-9A-Fa-f]{2}|[^\x00-\x7f]+")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_PORT = re.compile(r":([0-9]*)\Z")  # The digits may be missing (RFC 3986 section 3.2.3).
# Finds the host in a key, to compare the sites of bookmarks: the group is the host with its port,
# without userinfo and `www.`.
_HOST_OF_KEY = re.compile(r"[a-z][a-z0-9+.-]*://(?:[^/?#]*@)?(?:www\.)?([^/?#]+)")


def uri_key(uri: str) -> str:
    """Return the normalized uri. Two uris with equal keys count as the same address.

    Characters outside of ASCII count as their percent-encoding (RFC 3987 section 3.1).
    """
    # A dot segment begins with "/."; a name such as /.well-known does too, and takes the slow way.
    if _MOSTLY_NORMALIZED.fullmatch(uri) and "%" not in uri and "/." not in uri:
        return uri
    scheme, _, rest = uri.partition(":")
    scheme = scheme.lower()
    rest, number_sign, fragment = rest.partition("#")
    path, question_mark, query = rest.partition("?")
    authority = ""
    if path.startswith("//"):
        authority, slash, path = path[2:].partition("/")
        authority = "//" + _normalize_authority(scheme, authority)
        path = f"/{path}" if slash else "/"  # An empty path becomes "/".
    path = _normalize_encoding(path)
    if path.startswith("/"):
        path = _remove_dot_segments(path)
    if path.startswith("//") and not authority:
        path = "/." + path  # Otherwise `//` would begin an authority (RFC 3986 section 3.3).
    query, fragment = _normalize_encoding(query), _normalize_encoding(fragment)
    return f"{scheme}:{authority}{path}{question_mark}{query}{number_sign}{fragment}"


def host_of(key: str) -> str:
    """Return the host and port, without `www.`, in a normalized uri; empty if it has no host."""
    match = _HOST_OF_KEY.match(key)
    return match[1] if match else ""


def _normalize_authority(scheme: str, authority: str) -> str:
    """Return userinfo, host and port, without a default port and with the host in lower case."""
    userinfo, at, host = authority.rpartition("@")
    port = _PORT.search(host)
    if port and port[1] in ("", _DEFAULT_PORTS.get(scheme)):
        host = host[: port.start()]
    host = _normalize_encoding(host.lower())  # `Ä` is lowered before it becomes `%C3%84`.
    # Decoding `%41` has given `A`, so lower the host again. That turns `%C3` into `%c3`: normalize
    # the encoding again.
    host = _normalize_encoding(host.lower())
    return _normalize_encoding(userinfo) + at + host


def _normalize_encoding(text: str) -> str:
    """Decode unreserved characters, encode non-ASCII ones, write hexadecimal in upper case."""
    return _ENCODED_OR_NOT_ASCII.sub(_normalize_one, text)


def _normalize_one(match: re.Match[str]) -> str:
    text = match[0]
    if not text.isascii():
        return "".join(f"%{byte:02X}" for byte in text.encode("utf-8"))
    character = chr(int(text[1:], 16))
    return character if _UNRESERVED.fullmatch(character) else text.upper()


def _remove_dot_segments(path: str) -> str:
    """Remove `.` and `..` from a path that begins with a slash (RFC 3986 section 5.2.4)."""
    segments = path.split("/")[1:]
    result: list[str] = []
    for segment in segments:
        if segment == "..":
            del result[-1:]
        elif segment != ".":
            result.append(segment)
    if segments[-1] in (".", ".."):  # Both name a folder: the path ends with a slash.
        result.append("")
    return "/" + "/".join(result)
