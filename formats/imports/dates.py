"""Dates in the forms that programs write them."""

import re
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from storage.bookmark import clean, timestamp
from storage.errors import Invalid

EPOCH = datetime(1970, 1, 1)
_YEAR_1, _YEAR_9999_END = -62_135_596_800, 253_402_300_799  # In seconds since 1970.
_NUMBER = re.compile(r"([+-]?[0-9]{1,20})(?:\.[0-9]{0,20})?")
# Browsers write the epochs of Unix (1970) and of Windows (1601) for an unknown date.
_SECONDS_FROM_1601_TO_1970 = 11_644_473_600
UNKNOWN_DATES = ("0", f"-{_SECONDS_FROM_1601_TO_1970}")
_MAX_LENGTH = 64
# Dates of Notion, with a time and without, and of IFTTT.
_MONTH_NAME_PARSERS = [
    lambda text, form=form: datetime.strptime(text, form)
    for form in ("%B %d, %Y %I:%M %p", "%B %d, %Y", "%B %d, %Y at %I:%M%p")
]


def parse_date(value: object) -> str | None:
    """Return a date as RFC 3339 text, None for any other value.

    A number counts seconds since 1970, or if it is too large milliseconds or microseconds.
    """
    if isinstance(value, str):
        text = value.strip()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        text = str(int(value)) if abs(value) < 1e20 else ""
    else:
        return None
    if not text or len(text) > _MAX_LENGTH or text in UNKNOWN_DATES:
        return None
    number = _NUMBER.fullmatch(text)
    return _from_number(int(number[1])) if number else _from_text(text)


def parse_plausible_date(value: object) -> str | None:
    """Return a date as RFC 3339 text, None for any other value or an unlikely number.

    A number may count something else than time, so it must mean a date between 1990 and tomorrow,
    if need be in the microseconds since 1601 that Chromium counts.
    """
    date = parse_date(value)
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        return date
    tomorrow = timestamp(time.time() + 86_400)
    if date and date > tomorrow:
        date = _from_number(int(float(str(value))) // 1_000_000 - _SECONDS_FROM_1601_TO_1970)
    return date if date and "1990" < date < tomorrow else None


def _from_number(number: int) -> str | None:
    """Return a date from the largest unit of time with which the number is a date."""
    for unit in (1, 1_000, 1_000_000):
        if _YEAR_1 <= number // unit <= _YEAR_9999_END:
            return (EPOCH + timedelta(seconds=number // unit)).isoformat() + "Z"
    return None


def _from_text(text: str) -> str | None:
    with suppress(Invalid):
        return str(clean({"created": text})["created"])
    for parse in (datetime.fromisoformat, *_MONTH_NAME_PARSERS, parsedate_to_datetime):
        try:
            moment = parse(text)
            utc = moment.astimezone(UTC) if moment.tzinfo else moment
        except (ValueError, OverflowError, TypeError, IndexError):
            continue
        return utc.isoformat(timespec="seconds")[:19] + "Z"
    return None
