"""The tokens of the service, and how a request proves that it has one."""

import base64
import binascii
import hmac
import logging
import os
from collections.abc import Sequence
from enum import Enum
from pathlib import Path

from storage.errors import Invalid

log = logging.getLogger("bookmarks")


class Credentials(Enum):
    """What the credentials of a request prove.

    HEADER is a right token as Bearer or Token, which no browser sends for a page of another site.
    BASIC is a right token as the password of HTTP Basic, which browsers send by themselves.
    """

    NONE = "none"
    WRONG = "wrong"
    HEADER = "header"
    BASIC = "basic"


def read_tokens(file: str) -> list[str]:
    """Return the tokens in a file, one per line; `#` begins a comment line.

    Raises Invalid or OSError.
    """
    if os.stat(file).st_mode & 0o077:
        log.warning("Other users can read the tokens: chmod 600 %s", file)
    try:
        lines = Path(file).read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise Invalid([(f"The token file {file}", "is not UTF-8.")]) from None
    stripped = (line.strip() for line in lines)
    tokens = [line for line in stripped if line and not line.startswith("#")]
    if not tokens:
        raise Invalid([(f"The token file {file}", "has no token. Write one on a line.")])
    return tokens


def encode_tokens(token: str | Sequence[str] | None) -> list[bytes]:
    """Return one token or several as bytes; None and an empty text mean none. Raises Invalid."""
    if token is None or token == "":
        return []
    tokens = [token] if isinstance(token, str) else token
    if not tokens or "" in tokens:  # A program that found no token must not serve everybody.
        raise Invalid([("token", "must be a text or several, none of them empty")])
    # os.environ decodes bytes that are not UTF-8 as surrogates.
    return [text.encode(errors="surrogateescape") for text in tokens]


def check_authorization(value: str, tokens: Sequence[bytes]) -> Credentials:
    """Return what an Authorization header proves.

    The schemes are Bearer (RFC 6750), Token, and Basic (RFC 7617) with the token as the password.
    """
    scheme, _, credentials = value.partition(" ")
    sent = credentials.strip().encode("latin-1", "replace")
    kind = _SCHEMES.get(scheme.lower(), Credentials.WRONG)
    if kind is Credentials.BASIC:
        try:
            sent = base64.b64decode(sent, validate=True).partition(b":")[2]
        except binascii.Error:
            return Credentials.WRONG
    # Compare with every token, so that the time does not depend on which one is right.
    is_right = any([hmac.compare_digest(sent, token) for token in tokens])
    return kind if is_right else Credentials.WRONG


_SCHEMES = {
    "bearer": Credentials.HEADER,
    "token": Credentials.HEADER,
    "basic": Credentials.BASIC,
}
