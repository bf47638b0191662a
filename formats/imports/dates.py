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
# Flags, counts, words, and the year 1, from which .NET counts.
_NO_DATE = re.compile("true|false|-?[0-9]{1,3}|-|n/a|-62135596800")
# `parsedate_to_datetime` ignores every part that it does not know, such as PM.
_RFC_5322 = re.compile(r"(?i)([a-z]{3}, )?\d\d? [a-z]{3} \d{4} [\d:]{5,8}( GMT| UTC?| [+-]\d{4})?")
_FORMATS = (
    *("%B %d, %Y %I:%M %p", "%B %d, %Y"),  # Notion
    "%B %d, %Y at %I:%M%p",  # IFTTT
    "%Y-%m-%d %H:%M:%S UTC",
    "%Y/%m/%d %H:%M:%S %z",
    *("%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S"),  # The first is wallabag's.
    "%m/%d/%Y, %I:%M:%S %p",  # JavaScript's `toLocaleString` in English
    "%a %b %d %H:%M:%S %z %Y",  # Twitter
)


def parse_date(value: object) -> str | None:
    """Return a date as RFC 3339 text, None for an unknown date, and any other text as it is.

    The importer reports such a text. A number counts seconds since 1970; milliseconds if seconds
    would give a date outside the years 1 to 9999; microseconds if milliseconds would, too.
    Microseconds that would give a date after 2338 count from 1601, as Chromium writes them.
    """
    text = str(value).strip()
    if _UNKNOWN_DATE.fullmatch(text):
        return None
    number = _NUMBER.fullmatch(text)
    return (_from_number(int(number[1])) if number else _from_text(text)) or text


def parse_plausible_date(value: object) -> str | None:
    """Return the same as `parse_date`, but None for an unlikely number and for an array or object.

    A number may count other things than time, so it must give a date between 1990, before the
    oldest bookmarks, and tomorrow.
    """
    date = parse_date(value)
    tomorrow = timestamp(time.time() + 24 * 60 * 60)  # The clock of another computer may be ahead.
    is_text = isinstance(value, str) and not _NUMBER.fullmatch(value.strip())
    return date if is_text or (date and "1990" < date < tomorrow) else None


def is_unknown(value: object) -> bool:
    """Return whether a value stands for no date, such as `n/a`, or `true` in `saved: true`."""
    text = str(value).strip().lower()
    return any(pattern.fullmatch(text) for pattern in (_UNKNOWN_DATE, _NO_DATE))


def _from_number(number: int) -> str | None:
    """Return the date of a number of seconds, or else of milliseconds or microseconds."""
    from_microseconds = number // 1_000_000
    if from_microseconds > SECONDS_FROM_1601_TO_1970:  # From 1970, it would be after 2338.
        from_microseconds -= SECONDS_FROM_1601_TO_1970
    for seconds in (number, number // 1_000, from_microseconds):
        with suppress(OverflowError):  # Beyond the years 1 to 9999: try the next smaller unit.
            return (EPOCH + timedelta(seconds=seconds)).isoformat() + "Z"
    return None


def _from_text(text: str) -> str | None:
    with suppress(Invalid):  # Most dates are RFC 3339, which the rule of `created` parses.
        return str(clean({"created": text})["created"])
    if _RFC_5322.fullmatch(text):
        return _parse(parsedate_to_datetime, text)
    in_formats = (_parse(datetime.strptime, text, format) for format in _FORMATS)
    # `fromisoformat` reads no lower-case t and z.
    readings = {_parse(datetime.fromisoformat, text.upper()), *in_formats} - {None}
    # In 02/01/2023, the first number may be the day or the month: such a text is no date.
    return readings.pop() if len(readings) == 1 else None


def _parse(parse: Callable[..., datetime], *texts: str) -> str | None:
    with suppress(ValueError, OverflowError):
        moment = parse(*texts)
        utc = moment.astimezone(UTC) if moment.tzinfo else moment
        return utc.isoformat(timespec="seconds")[: len("2002-09-01T12:00:00")] + "Z"
    return None
