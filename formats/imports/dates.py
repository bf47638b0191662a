"""Parse dates in the forms in which other programs write dates."""

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
# 1970 in numbers that count from 1970 or 1601, and an unknown date of MySQL.
_UNKNOWN_DATE = re.compile(
    rf"|{'|'.join(TEXTS_OF_UNKNOWN_DATES)}|{SECONDS_FROM_1601_TO_1970}000000|0000-00-00.*"
)
_FLAG_OR_COUNT = re.compile("true|false|-?[0-9]{1,3}")
_WEB_BEGAN = "1990"  # No bookmark is older, so a number that gives an earlier date is no date.
_MAX_LENGTH = 64  # In characters. Longer texts are no dates.
_FORMATS = (
    *("%B %d, %Y %I:%M %p", "%B %d, %Y"),  # Notion
    "%B %d, %Y at %I:%M%p",  # IFTTT
    "%Y-%m-%d %H:%M:%S UTC",
    "%Y/%m/%d %H:%M:%S %z",
    *("%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S"),  # The first is wallabag's.
)


def parse_date(value: object) -> str | None:
    """Return a date as RFC 3339 text, None for any other value.

    A number counts seconds since 1970; milliseconds if seconds would give a date outside the years
    1 to 9999; microseconds if milliseconds would, too.
    """
    text = str(value).strip()
    if len(text) > _MAX_LENGTH or _UNKNOWN_DATE.fullmatch(text):
        return None
    number = _NUMBER.fullmatch(text)
    return _from_number(int(number[1])) if number else _from_text(text)


def parse_date_or_keep(value: object) -> str | None:
    """Return a date as RFC 3339 text, and a text that is no date as it is: the importer reports it.

    None for a text that stands for an unknown date, and for any other value.
    """
    text = value.strip() if isinstance(value, str) else ""
    return None if _UNKNOWN_DATE.fullmatch(text) else parse_date(value) or text


def is_unknown(value: object) -> bool:
    """Return whether a value is an unknown date, or a flag or count, such as `saved: true`."""
    text = str(value).strip().lower()
    return any(pattern.fullmatch(text) for pattern in (_UNKNOWN_DATE, _FLAG_OR_COUNT))


def parse_plausible_date(value: object) -> str | None:
    """Return a date as RFC 3339 text, None for an unlikely number. Keep a text that is no date.

    A number may count other things than time, so it must give a date between 1990 and tomorrow. A
    number that gives a later date is read as microseconds since 1601, which Chromium writes.
    """
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        return parse_date_or_keep(value)
    date = parse_date(value)
    tomorrow = timestamp(time.time() + 24 * 60 * 60)  # The clock of another computer may be ahead.
    if date and date > tomorrow:  # Such a number counts from 1601.
        microseconds_since_1601 = int(float(str(value)))  # `float` also reads the text "1.0".
        date = _from_number(microseconds_since_1601 // 1_000_000 - SECONDS_FROM_1601_TO_1970)
    return date if date and _WEB_BEGAN < date < tomorrow else None


def _from_number(number: int) -> str | None:
    """Return the date of a number of seconds, or else of milliseconds or microseconds."""
    for units_per_second in (1, 1_000, 1_000_000):
        with suppress(OverflowError):  # Beyond the years 1 to 9999: try the next smaller unit.
            return (EPOCH + timedelta(seconds=number // units_per_second)).isoformat() + "Z"
    return None


def _from_text(text: str) -> str | None:
    with suppress(Invalid):  # Most dates are RFC 3339, which the rule of `created` parses.
        return str(clean({"created": text})["created"])
    upper = text.upper()  # `fromisoformat` reads no lower-case t and z.
    in_formats = (_parse(datetime.strptime, upper, format) for format in _FORMATS)
    readings = {_parse(datetime.fromisoformat, upper), *in_formats} - {None}
    # In 02/01/2023, the first number may be the day or the month: such a text is no date.
    if readings:
        return readings.pop() if len(readings) == 1 else None
    return _parse(parsedate_to_datetime, text)


def _parse(parse: Callable[..., datetime], *texts: str) -> str | None:
    with suppress(ValueError, OverflowError):
        moment = parse(*texts)
        utc = moment.astimezone(UTC) if moment.tzinfo else moment
        return utc.isoformat(timespec="seconds")[: len("2002-09-01T12:00:00")] + "Z"
    return None
