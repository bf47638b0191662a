"""Parse the dates of other programs."""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from formats.netscape import EPOCH, SECONDS_FROM_1601_TO_1970, TEXTS_OF_UNKNOWN_DATES
from storage.bookmark import clean, timestamp
from storage.errors import Invalid

_NUMBER = re.compile(r"([+-]?[0-9]{1,20})(?:\.[0-9]{0,20})?")
_SMALL_NUMBER = re.compile(r"-?[0-9]{1,3}(\.0)?")
# The last one is the year 1970 in microseconds since 1601.
_EMPTY_DATES = ("", *TEXTS_OF_UNKNOWN_DATES, f"{SECONDS_FROM_1601_TO_1970}000000")
_EMPTY_DATE_OF_MYSQL = "0000-00-00"
# The number is the year 1 of .NET.
_WORDS_FOR_NO_DATE = ("false", "-", "n/a", "-62135596800")
# `parsedate_to_datetime` would ignore unknown words such as PM.
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
    "%B %d, %Y",  # Notion
    "%B %d, %Y at %I:%M%p",  # IFTTT
    "%Y-%m-%d %H:%M:%S UTC",
    "%Y/%m/%d %H:%M:%S %z",
    "%d/%m/%Y %H:%M:%S",  # wallabag
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y, %I:%M:%S %p",  # JavaScript's `toLocaleString` in English
    "%a %b %d %H:%M:%S %z %Y",  # Twitter
)


def parse_date(value: object) -> str | None:
    """Convert a date to RFC 3339. Returns None for an empty date.

    Any other text is returned unchanged, so that the importer reports it.
    """
    text = str(value).strip()
    if _is_empty_date(text):
        return None
    number = _NUMBER.fullmatch(text)
    if number:
        date = _from_number(int(number[1]))
    else:
        date = _from_text(text)
    return date or text


def parse_plausible_date(value: object) -> str | None:
    """Convert a date like `parse_date`, but no number before 1990 or after tomorrow."""
    date = parse_date(value)
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        return date
    tomorrow = timestamp(time.time() + 24 * 60 * 60)  # Clocks may differ.
    if date and "1990" < date < tomorrow:
        return date
    return None


def stands_for_no_date(value: object) -> bool:
    """Return whether a value is a flag, or a text such as `n/a`."""
    text = str(value).strip().lower()
    return _is_empty_date(text) or text in _WORDS_FOR_NO_DATE or is_flag(value)


def is_flag(value: object) -> bool:
    """Return whether a value is `true` or a number below 1,000.

    Some programs use the names of dates for other things, as in `"saved": true` and `"time": 12`.
    """
    text = str(value).strip().lower()
    if _is_empty_date(text):
        return False
    return text == "true" or _SMALL_NUMBER.fullmatch(text) is not None


def _is_empty_date(text: str) -> bool:
    return text in _EMPTY_DATES or text.startswith(_EMPTY_DATE_OF_MYSQL)


def _from_number(number: int) -> str | None:
    """Return the date of a number of seconds, milliseconds or microseconds.

    The first unit that gives a date before the year 10000 is right.
    """
    for seconds in (number, number // 1_000, _from_microseconds(number)):
        try:
            date = EPOCH + timedelta(seconds=seconds)
        except OverflowError:  # After the year 9999, so the unit is smaller.
            continue
        return date.isoformat() + "Z"
    return None


def _from_microseconds(number: int) -> int:
    """Return the seconds since 1970."""
    seconds = number // 1_000_000
    # So many seconds since 1970 would be after 2338, so this is Chromium's count from 1601.
    if seconds > SECONDS_FROM_1601_TO_1970:
        seconds -= SECONDS_FROM_1601_TO_1970
    return seconds


def _from_text(text: str) -> str | None:
    with suppress(Invalid):  # `clean` parses RFC 3339.
        return str(clean({"created": text})["created"])
    if _RFC_5322.fullmatch(text):
        return _parse(parsedate_to_datetime, text)
    date = _parse(datetime.fromisoformat, text.upper())  # It reads no lower-case t or z.
    if date:
        return date
    readings = {_parse(datetime.strptime, text, format) for format in _FORMATS}
    readings.discard(None)
    # 02/01/2023 01:02:03 is ambiguous: it begins with the day or with the month.
    if len(readings) != 1:
        return None
    return readings.pop()


def _parse(parse: Callable[..., datetime], *texts: str) -> str | None:
    with suppress(ValueError, OverflowError):
        moment = parse(*texts)
        if moment.tzinfo:
            moment = moment.astimezone(UTC)
        return moment.isoformat(timespec="seconds")[: len("2002-09-01T12:00:00")] + "Z"
    return None
