"""Normalize uris, to compare them (RFC 3986 section 6.2.2)."""

import re

_DEFAULT_PORTS = {"http": "80", "https": "443", "ftp": "21", "ws": "80", "wss": "443"}
_USUAL_NORMALIZED_URI = re.compile(r"[a-z][a-z0-9+.-]*://[a-z0-9.-]+/[!-~]*")
_ENCODED_OR_NOT_ASCII = re.compile(r"%[0-9A-Fa-f]{2}|[^\x00-\x7f]+")
_PORT = re.compile(":[0-9]+$")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")


def uri_key(uri: str) -> str:
    """Return the normalized uri, in ASCII (RFC 3987 section 3.1)."""
    if _is_obviously_normalized(uri):
        return uri
    scheme, _, rest = uri.partition(":")
    scheme = scheme.lower()
    rest, number_sign, fragment = rest.partition("#")
    hierarchy, question_mark, query = rest.partition("?")
    hierarchy = _normalize_hierarchy(scheme, hierarchy)
    query = _normalize_encoding(query)
    fragment = _normalize_encoding(fragment)
    return f"{scheme}:{hierarchy}{question_mark}{query}{number_sign}{fragment}"


def host_of(key: str) -> str:
    """Return a normalized uri's host and port, without `www.`."""
    return _host_and_port(key).removeprefix("www.")


def is_below(key: str, host: str) -> bool:
    """Return whether a normalized uri has this host or a subdomain of it.

    Without a port, `host` matches every port.
    """
    with_port = _host_and_port(key)
    without_port = _PORT.sub("", with_port)
    if host in (with_port, without_port):
        return True
    return with_port.endswith(f".{host}") or without_port.endswith(f".{host}")


def _host_and_port(key: str) -> str:
    _, _, rest = key.partition(":")
    if not rest.startswith("//"):
        return ""
    authority, _, _ = rest[2:].partition("/")
    _, _, host = authority.rpartition("@")
    return host


def _is_obviously_normalized(uri: str) -> bool:
    if "%" in uri or "/." in uri:
        return False
    return bool(_USUAL_NORMALIZED_URI.fullmatch(uri))


def _normalize_hierarchy(scheme: str, hierarchy: str) -> str:
    if hierarchy.startswith("//"):
        authority, _, path = hierarchy[2:].partition("/")
        return f"//{_normalize_authority(scheme, authority)}{_normalize_path('/' + path)}"
    path = _normalize_path(hierarchy)
    if path.startswith("//"):  # `//` would begin an authority (RFC 3986 section 3.3).
        return "/." + path
    return path


def _normalize_authority(scheme: str, authority: str) -> str:
    userinfo, at, host = authority.rpartition("@")
    name, colon, port = host.rpartition(":")
    # An empty port is the default port (RFC 3986 section 3.2.3).
    if colon and port in ("", _DEFAULT_PORTS.get(scheme)):
        host = name
    return _normalize_encoding(userinfo) + at + normalize_host(host)


def normalize_host(host: str) -> str:
    """Normalize a host with or without a port."""
    decoded = _normalize_encoding(host.lower())
    # Decoding may give capitals: `%41` becomes `A`.
    lower = decoded.lower()
    # Hexadecimal digits must be capitals again: `%c3` becomes `%C3`.
    return _normalize_encoding(lower)


def _normalize_path(path: str) -> str:
    path = _normalize_encoding(path)
    if path.startswith("/"):
        return _remove_dot_segments(path)
    return path


def _normalize_encoding(text: str) -> str:
    return _ENCODED_OR_NOT_ASCII.sub(_normalize_one, text)


def _normalize_one(match: re.Match[str]) -> str:
    text = match[0]
    if not text.isascii():
        return "".join(f"%{byte:02X}" for byte in text.encode("utf-8"))
    character = chr(int(text[1:], 16))
    if _UNRESERVED.fullmatch(character):
        return character
    return text.upper()


def _remove_dot_segments(path: str) -> str:
    """Remove `.` and `..` from an absolute path (RFC 3986 section 5.2.4)."""
    segments = path.split("/")[1:]
    result: list[str] = []
    for segment in segments:
        if segment == "..":
            if result:
                result.pop()
        elif segment != ".":
            result.append(segment)
    if segments[-1] in (".", ".."):  # `/a/b/..` becomes `/a/`.
        result.append("")
    return "/" + "/".join(result)
