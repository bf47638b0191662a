"""Parse the dates of other programs."""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from formats.netscape import EPOCH, SECONDS_FROM_1601_TO_1970, TEXTS_OF_UNKNOWN_DATES
from storage.bookmark import clean_value, timestamp
from storage.errors import Invalid

_NUMBER = re.compile(r"[+-]?[0-9]{1,20}(?:\.[0-9]{0,20})?")
_EMPTY_DATES = (
    "",
    *TEXTS_OF_UNKNOWN_DATES,
    f"{SECONDS_FROM_1601_TO_1970}000000",  # 1970 in Chromium's microseconds since 1601.
)
_PLACEHOLDERS = (
    "false",
    "-",
    "n/a",
    "-62135596800",  # The year 1 in .NET.
)
# `parsedate_to_datetime` ignores words such as PM, so it parses only texts of this form.
_RFC_5322 = re.compile(
    r"""
    ([a-z]{3},\ )?                      # Mon,
    \d\d?\ [a-z]{3}\ \d{4}\ [\d:]{5,8}  # 2 Jan 2006 15:04:05
    (\ (GMT|UTC?|[+-]\d{4}))?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_FORMATS = (
    "%Y-%m",  # Galeon
    "%B %d, %Y %I:%M %p",  # Notion
    "%B %d, %Y",
    "%B %d, %Y at %I:%M%p",  # IFTTT
    "%Y-%m-%d %H:%M:%S UTC",
    "%Y/%m/%d %H:%M:%S %z",
    "%d/%m/%Y %H:%M:%S",  # wallabag
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y, %I:%M:%S %p",  # JavaScript's `toLocaleString` in English
    "%a %b %d %H:%M:%S %z %Y",  # Twitter
)


def parse_date(value: object) -> str | None:
    """Return a date as RFC 3339, None for an empty date, and any other text unchanged."""
    text = str(value).strip()
    if _is_empty_date(text):
        return None
    if _NUMBER.fullmatch(text):
        return _from_number(text) or text
    return _from_text(text) or text


def parse_plausible_date(value: object) -> str | None:
    """Convert a date to RFC 3339, or return None.

    A number counts as a date only between 1990 and tomorrow.
    """
    text = str(value).strip()
    if not _NUMBER.fullmatch(text):
        return _from_text(text)
    date = _from_number(text)
    tomorrow = timestamp(time.time() + 24 * 60 * 60)
    if date and "1990" < date < tomorrow:
        return date
    return None


def may_be_date(value: object) -> bool:
    """Return False for a number that is no plausible date, such as a duration."""
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        return True
    return parse_plausible_date(value) is not None


def is_unknown_date(value: object) -> bool:
    text = str(value).strip().lower()
    return _is_empty_date(text) or text in _PLACEHOLDERS


def _is_empty_date(text: str) -> bool:
    return text in _EMPTY_DATES or text.startswith("0000-00-00")  # MySQL's text for no date.


def _from_number(text: str) -> str | None:
    """Convert seconds. Numbers too large for seconds are milliseconds or microseconds."""
    integer, _, _ = text.partition(".")
    number = int(integer)
    for seconds in (number, number // 1_000, _seconds_of_microseconds(number)):
        with suppress(OverflowError):
            date = EPOCH + timedelta(seconds=seconds)
            return date.isoformat() + "Z"
    return None


def _seconds_of_microseconds(number: int) -> int:
    seconds = number // 1_000_000
    # Only Chromium, which counts from 1601, writes such large numbers.
    if seconds > SECONDS_FROM_1601_TO_1970:
        seconds -= SECONDS_FROM_1601_TO_1970
    return seconds


def _from_text(text: str) -> str | None:
    with suppress(Invalid):
        return str(clean_value("created", text))  # RFC 3339
    if _RFC_5322.fullmatch(text):
        return _parse_with(parsedate_to_datetime, text)
    date = _parse_with(datetime.fromisoformat, text.upper())
    if date:
        return date
    dates = [_parse_with(datetime.strptime, text, format) for format in _FORMATS]
    possible_dates = set(filter(None, dates))
    # 02/01/2023 may mean January 2 or February 1, so no date is returned.
    if len(possible_dates) == 1:
        return possible_dates.pop()
    return None


def _parse_with(parse: Callable[..., datetime], *arguments: str) -> str | None:
    with suppress(ValueError, OverflowError):
        moment = parse(*arguments)
        if moment.tzinfo:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        return moment.isoformat(timespec="seconds") + "Z"
    return None
