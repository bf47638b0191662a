"""The tokens of the service, and the login cookie."""

import base64
import binascii
import hmac
import os
import re
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from storage import files
from storage.errors import Invalid
from storage.watch import warn_once

LOGIN_COOKIE = "bookmarks-login"
_MIN_TOKEN_CHARACTERS = 16
LOGIN_SECONDS = 365 * 24 * 3600


def warn_of_readable_tokens(file: str) -> None:
    with suppress(OSError):  # The caller reports an unreadable file.
        if os.stat(file).st_mode & 0o077:
            warn_once(f"Other users can read the tokens: chmod 600 {file}")


def warn_of_short_tokens(tokens: Sequence[bytes], place: str) -> None:
    if any(len(token.decode(errors="replace")) < _MIN_TOKEN_CHARACTERS for token in tokens):
        warn_once(
            f"A token of less than {_MIN_TOKEN_CHARACTERS} characters can be guessed. "
            f"Replace it in {place}. Make one with: "
            "python3 -c 'import secrets; print(secrets.token_urlsafe())'"
        )


def read_tokens(file: Path) -> tuple[bytes, ...]:
    """Return the tokens in a file. Raises StorageError or OSError."""
    data, _ = files.read(os.path.realpath(file))
    tokens = encode_tokens(parse_tokens(data, str(file)))
    warn_of_readable_tokens(str(file))
    warn_of_short_tokens(tokens, str(file))
    return tokens


def parse_tokens(data: bytes, file: str) -> list[str]:
    """Return the lines that do not begin with `#`. Raises Invalid."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid([(f"The token file {file}", "is not UTF-8.")]) from None
    tokens = []
    for line in text.replace("\r", "\n").split("\n"):
        line = line.strip()
        if line and not line.startswith("#"):
            tokens.append(line)
    if not tokens:
        raise Invalid([(f"The token file {file}", "has no token. Write one on a line.")])
    return tokens


def encode_tokens(token: str | Sequence[str] | None) -> tuple[bytes, ...]:
    """Return one token or several as bytes. Raises Invalid."""
    if token is None:
        return ()
    if isinstance(token, str):
        return encode_tokens([token])
    tokens = [text.strip() for text in token]
    if not tokens or "" in tokens:
        reason = "must not be empty: give BOOKMARKS_TOKEN a value, or unset it"
        raise Invalid([("token", reason)])
    # os.environ has surrogates for bytes that are not UTF-8.
    return tuple(text.encode(errors="surrogateescape") for text in tokens)


def has_token(authorization: str, tokens: Sequence[bytes]) -> bool:
    scheme, _, credentials = authorization.partition(" ")
    # WSGI headers are decoded as Latin-1.
    sent = credentials.strip().encode("latin-1", "replace")
    match scheme.lower():
        case "bearer" | "token":
            return find_token(sent, tokens) is not None
        case "basic":
            return find_token(_basic_password(sent), tokens) is not None
    return False


def _basic_password(credentials: bytes) -> bytes:
    try:
        decoded = base64.b64decode(credentials, validate=True)
    except binascii.Error:
        return b""
    _user_name, _, password = decoded.partition(b":")
    return password


def find_token(sent: bytes, tokens: Sequence[bytes]) -> bytes | None:
    """Return the token that is equal to `sent`, or None."""
    found = None
    # Compare with all tokens, so that the time does not show which token is right.
    for token in tokens:
        if hmac.compare_digest(sent, token):
            found = token
    return found


# --- The login cookie ---

_LOGIN = re.compile(
    r"""
    (?P<signed>
        (?P<issued> [0-9]{1,12} )
        \.
        [A-Za-z0-9_-]{22}           # the nonce: 16 bytes in base64url
    )
    \.
    (?P<signature> [0-9a-f]{64} )
    """,
    re.VERBOSE,
)


def make_login(token: bytes) -> str:
    login = f"{int(time.time())}.{secrets.token_urlsafe(16)}"
    return f"{login}.{_sign(login, token)}"


def has_login(cookies: str, tokens: Sequence[bytes]) -> bool:
    """Return whether a Cookie header has a login signed with one of the tokens."""
    for cookie in cookies.split(";"):
        name, _, value = cookie.strip().partition("=")
        if name == LOGIN_COOKIE and _is_login(value, tokens):
            return True
    return False


def _is_login(value: str, tokens: Sequence[bytes]) -> bool:
    match = _LOGIN.fullmatch(value)
    if not match:
        return False
    # A login has a time in the future if the clock was ahead when the user logged in.
    age = abs(time.time() - int(match["issued"]))
    if age >= LOGIN_SECONDS:
        return False
    signatures = [_sign(match["signed"], token).encode() for token in tokens]
    return find_token(match["signature"].encode(), signatures) is not None


def _sign(login: str, token: bytes) -> str:
    # The prefix makes the signature useless for other purposes.
    return hmac.digest(token, f"login {login}".encode(), "sha256").hex()
