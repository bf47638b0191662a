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
# The last text is the beginning of 1970 in Chromium's microseconds since 1601.
_EMPTY_DATES = ("", *TEXTS_OF_UNKNOWN_DATES, f"{SECONDS_FROM_1601_TO_1970}000000")
# .NET writes its empty date, in the year 1, as the last one.
_WORDS_FOR_NO_DATE = ("false", "-", "n/a", "-62135596800")
# Check the form first, because `parsedate_to_datetime` ignores unknown words such as PM.
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

    A text that is not a date is returned unchanged, and the importer reports it.
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
    """Convert a date like `parse_date`. Returns None for a number before 1990 or after tomorrow."""
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
    """Return whether a value such as `true` or 12 cannot be a date."""
    text = str(value).strip().lower()
    if _is_empty_date(text):
        return False
    return text == "true" or _SMALL_NUMBER.fullmatch(text) is not None


def _is_empty_date(text: str) -> bool:
    return text in _EMPTY_DATES or text.startswith("0000-00-00")  # MySQL


def _from_number(number: int) -> str | None:
    """Convert seconds, milliseconds or microseconds: the first that mean a possible date."""
    for seconds in (number, number // 1_000, _from_microseconds(number)):
        with suppress(OverflowError):
            date = EPOCH + timedelta(seconds=seconds)
            return date.isoformat() + "Z"
    return None


def _from_microseconds(number: int) -> int:
    seconds = number // 1_000_000
    # Chromium counts from 1601. Counted from 1970, the date would be after 2338.
    if seconds > SECONDS_FROM_1601_TO_1970:
        seconds -= SECONDS_FROM_1601_TO_1970
    return seconds


def _from_text(text: str) -> str | None:
    with suppress(Invalid):  # `clean` parses RFC 3339.
        return str(clean({"created": text})["created"])
    if _RFC_5322.fullmatch(text):
        return _parse_with(parsedate_to_datetime, text)
    date = _parse_with(datetime.fromisoformat, text.upper())  # A lower-case z would be refused.
    if date:
        return date
    dates = [_parse_with(datetime.strptime, text, format) for format in _FORMATS]
    possible_dates = set(filter(None, dates))
    # 02/01/2023 01:02:03 may begin with the day or with the month.
    if len(possible_dates) == 1:
        return possible_dates.pop()
    return None


def _parse_with(parse: Callable[..., datetime], *texts: str) -> str | None:
    """Return the date in RFC 3339, or None."""
    with suppress(ValueError, OverflowError):
        moment = parse(*texts)
        if moment.tzinfo:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        return moment.isoformat(timespec="seconds") + "Z"
    return None
