"""The tokens of the service, and how a request proves that it has one."""

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

COOKIE = "bookmarks-login"  # The name of the cookie that proves a login.
MIN_TOKEN_LENGTH = 16  # In characters. A shorter token only causes a warning.
_HOW_TO_MAKE_A_TOKEN = "Make one with: python3 -c 'import secrets; print(secrets.token_urlsafe())'"
LOGIN_SECONDS = 365 * 24 * 3600  # A year, after which a browser must log in again.


def warn_of_readable_tokens(file: str) -> None:
    """Log a warning if other users can read a token file."""
    with suppress(OSError):  # Reading the tokens raises the error.
        if os.stat(file).st_mode & 0o077:  # Any permission of the group or of others.
            warn_once(f"Other users can read the tokens: chmod 600 {file}")


def warn_of_short_tokens(tokens: Sequence[bytes], place: str) -> None:
    """Log a warning if a token in this place is short, for a service that other machines reach."""
    if any(len(token.decode(errors="replace")) < MIN_TOKEN_LENGTH for token in tokens):
        warn_once(
            f"A token of less than {MIN_TOKEN_LENGTH} characters can be guessed. "
            f"Replace it in {place}. {_HOW_TO_MAKE_A_TOKEN}"
        )


def read_tokens(file: Path) -> tuple[bytes, ...]:
    """Return the tokens in the token file of a host. Raises StorageError or OSError."""
    data, _ = files.read(os.path.realpath(file))  # Refuses a pipe, which might never end.
    tokens = encode_tokens(parse_tokens(data, str(file)))
    warn_of_readable_tokens(str(file))
    warn_of_short_tokens(tokens, str(file))
    return tokens


def parse_tokens(data: bytes, file: str) -> list[str]:
    """Return the tokens in the content of a file, one per line; `#` begins a comment line.

    Raises Invalid.
    """
    try:
        # Some editors on Windows begin a file with a byte order mark, which utf-8-sig skips.
        lines = data.decode("utf-8-sig").replace("\r", "\n").split("\n")
    except UnicodeDecodeError:
        raise Invalid([(f"The token file {file}", "is not UTF-8.")]) from None
    stripped = (line.strip() for line in lines)
    tokens = [line for line in stripped if line and not line.startswith("#")]
    if not tokens:
        raise Invalid([(f"The token file {file}", "has no token. Write one on a line.")])
    return tokens


def encode_tokens(token: str | Sequence[str] | None) -> tuple[bytes, ...]:
    """Return one token or several as bytes, without white space around them. Raises Invalid."""
    if token is None:
        return ()
    tokens = [text.strip() for text in ([token] if isinstance(token, str) else token)]
    # An empty list or text is a mistake, such as an environment variable that was not filled in.
    if not tokens or "" in tokens:
        raise Invalid([("token", "must not be empty: give BOOKMARKS_TOKEN a value, or unset it")])
    # os.environ decodes bytes that are not UTF-8 as surrogates.
    return tuple(text.encode(errors="surrogateescape") for text in tokens)


def has_token(authorization: str, tokens: Sequence[bytes]) -> bool:
    """Return whether an Authorization header has one of the tokens.

    The schemes are Bearer (RFC 6750), Token, and Basic (RFC 7617) with the token as the password.
    """
    scheme, _, credentials = authorization.partition(" ")
    sent = credentials.strip().encode("latin-1", "replace")  # WSGI has decoded it as Latin-1.
    match scheme.lower():
        case "bearer" | "token":
            return find_token(sent, tokens) is not None
        case "basic":
            with suppress(binascii.Error):
                _user_name, _, password = base64.b64decode(sent, validate=True).partition(b":")
                return find_token(password, tokens) is not None
    return False


def find_token(sent: bytes, tokens: Sequence[bytes]) -> bytes | None:
    """Return the token that equals the sent one, None if none does."""
    # Compare with every token, so that the time does not depend on which one is right.
    matches = [token for token in tokens if hmac.compare_digest(sent, token)]
    return matches[0] if matches else None


# --- The login cookie ---

# A login cookie in a header Cookie, in which semicolons separate cookies. `make_login` has made the
# value: the nonce is 16 bytes in base64url, the signature 32 bytes in hexadecimal digits.
_LOGIN_COOKIE = re.compile(
    rf"(?:^|;)\s*{COOKIE}=(?P<signed>(?P<issued>[0-9]{{1,12}})\.(?P<nonce>[\w-]{{22}}))"
    r"\.(?P<signature>[0-9a-f]{64})\s*(?=;|$)",
    re.ASCII,
)


def make_login(token: bytes) -> str:
    """Return the value of a cookie that proves a login with the token.

    The value is the time of issue, a nonce, and an HMAC of both under the token, so that the
    service needs to store nothing, and the login ends when the token is removed. The nonce makes
    two logins in the same second different.
    """
    login = f"{int(time.time())}.{secrets.token_urlsafe(16)}"
    return f"{login}.{_sign(login, token)}"


def has_login(cookies: str, tokens: Sequence[bytes]) -> bool:
    """Return whether a Cookie header has a login under one of the tokens that has not ended."""
    now = time.time()
    for match in _LOGIN_COOKIE.finditer(cookies):  # A browser may send one for each path.
        # `abs` also refuses a login that a wrong clock dated more than a year into the future.
        if abs(now - int(match["issued"])) >= LOGIN_SECONDS:
            continue
        # Compare with every token, so that the time does not depend on which one is right.
        signatures = [_sign(match["signed"], token) for token in tokens]
        if any([hmac.compare_digest(match["signature"], each) for each in signatures]):
            return True
    return False


def _sign(login: str, token: bytes) -> str:
    # The prefix makes these signatures invalid for anything else that is signed with the token.
    return hmac.digest(token, f"login {login}".encode(), "sha256").hex()
