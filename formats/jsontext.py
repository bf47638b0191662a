"""A JSON text (RFC 8259) that is read value by value, however long the whole is."""

import json
import re
from collections.abc import Iterator

from formats.errors import Malformed
from formats.item import MAX_ENTRY, TOO_LARGE

_SPACE = re.compile(r"[ \t\n\r]*+")
_OUTSIDE = re.compile(r'[^"\[\]{}]*+')
_OPENING = re.compile(r"[\[{]++")
_INSIDE = re.compile(r'[^"\\]*+')
# What is cut off at the end of what was read is found wrong at most so far from it.
_LONGEST_TOKEN = 12
_MAX_DIGITS = 400

TOO_DEEP = "is nested too deep"


class Refused(Exception):
    """The value can't be had; the text says why. It was read over."""


class JsonText:
    """What pieces of text make up, and a place in it.

    `wrong` is what makes the last value one that JSON should not have, or empty.
    """

    def __init__(self, pieces: Iterator[str]) -> None:
        self.wrong = ""
        self._pieces = pieces
        self._text, self._at = "", 0
        self._line, self._counted = 1, 0
        self._decode = json.JSONDecoder(
            object_pairs_hook=self._object, parse_constant=self._constant, parse_int=self._int
        ).raw_decode

    @property
    def line(self) -> int:
        """The number of the line that has been reached."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def malformed(self, reason: str) -> Malformed:
        """The error that the text ends up with here."""
        return Malformed(f"It is not well-formed JSON: {reason} in line {self.line}.")

    def peek(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def elements(self) -> Iterator[None]:
        """Stands at the beginning of each value of the array that begins here."""
        self._take("[")
        if self.peek() != "]":
            yield
            while self.peek() == ",":
                self._take(",")
                self.peek()
                yield
        self._take("]")

    def members(self) -> Iterator[str]:
        """The names in the object that begins here; at each the place is that of its value."""
        self._take("{")
        if self.peek() != "}":
            yield self._name()
            while self.peek() == ",":
                self._take(",")
                yield self._name()
        self._take("}")

    def value(self) -> object:
        """The value that begins here. Raises Refused or Malformed."""
        begin = self.peek()
        while True:
            self.wrong = ""
            try:
                value, end = self._decode(self._text, self._at)
            except RecursionError:
                self._refuse(TOO_DEEP)
            except json.JSONDecodeError as error:
                self._go_on(error, begin)
                continue
            # A number may go on in the next piece.
            if end == len(self._text) and begin not in '"[{':
                if end - self._at > MAX_ENTRY:
                    raise self.malformed("a number is too long")
                if self._more():
                    continue
            self._at = end
            return value

    def skip(self) -> None:
        """Reads over the array, object or string that begins here. Raises Malformed."""
        depth, quoted = 0, False
        while True:
            run = (_INSIDE if quoted else _OUTSIDE).match(self._text, self._at)
            self._at = run.end() if run else self._at
            if not quoted and (opening := _OPENING.match(self._text, self._at)):
                self._at = opening.end()
                depth += len(opening[0])
                continue
            character = self._character()
            if character == "\\":
                self._character()
            elif character == '"':
                quoted = not quoted
            elif character in "]}":
                depth -= 1
            else:
                self._at -= 1  # It has just been read.
            if not quoted and depth == 0:
                return

    def _character(self) -> str:
        while self._at == len(self._text):
            if not self._more():
                raise self.malformed("its end is missing")
        self._at += 1
        return self._text[self._at - 1]

    def _name(self) -> str:
        if self.peek() != '"':
            raise self.malformed("a name is missing")
        try:
            name = self.value()
        except Refused:
            raise self.malformed("a name is too long") from None
        self._take(":")
        self.peek()
        return str(name)

    def _take(self, character: str) -> None:
        if self.peek() != character:
            raise self.malformed(f"{character!r} is missing")
        self._at += 1

    def _more(self) -> bool:
        """Whether there was more text to read; what is behind the place is forgotten."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self._line = self.line
        self._text = self._text[self._at :] + piece
        self._at = self._counted = 0
        return True

    def _go_on(self, error: json.JSONDecodeError, begin: str) -> None:
        """Reads more, if the value only seems wrong because its end is still to come."""
        size = len(self._text) - self._at
        is_cut = error.msg.startswith("Unterminated string") or (
            error.pos >= len(self._text) - _LONGEST_TOKEN
        )
        if is_cut and size > MAX_ENTRY and begin in '"[{':
            self._refuse(TOO_LARGE)
        # Twice as much each time, so that all attempts together take no longer than two.
        is_more = is_cut and self._more()
        while is_more and len(self._text) < 2 * size and self._more():
            pass
        if not is_more:
            self._at = error.pos
            raise self.malformed(error.msg[:1].lower() + error.msg[1:]) from None

    def _refuse(self, reason: str) -> None:
        self.skip()
        raise Refused(reason) from None

    def _object(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        members = dict(pairs)
        if len(members) < len(pairs):
            self.wrong = "has the same name twice"
        return members

    def _constant(self, name: str) -> None:
        self.wrong = f"has {name}, which is no JSON value"

    def _int(self, digits: str) -> int:
        if len(digits) > _MAX_DIGITS:
            self.wrong = "has a number that is too long"
            return 0
        return int(digits)
