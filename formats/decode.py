"""The text of a file that comes as a stream of bytes, in whatever charset it was written."""

import codecs
import io
import re
from collections.abc import Callable, Iterable, Iterator

from formats.errors import Malformed
from formats.item import MAX_ENTRY, Stream

BLOCK = 64 * 1024

# Charsets that files declare and Python decodes in linear time. A declared UTF-16 is none: what
# could be read so far was not UTF-16.
_CHARSETS = re.compile(
    r"(iso-?8859-\d{1,2}|latin-?1|us-ascii|windows-125\d|cp\d{3,4}|koi8-[ru]|macintosh|mac-?roman"
    r"|euc-jp|iso-2022-jp|gb18030)",
    re.IGNORECASE,
)
# https://encoding.spec.whatwg.org/#names-and-labels: what many labels say is a larger charset.
_LARGER = {
    "gb18030": "gb2312 gb_2312-80 gbk x-gbk",
    "cp949": "euc-kr ks_c_5601-1987 ksc5601 korean windows-949",
    "cp932": "shift_jis shift-jis shiftjis sjis x-sjis ms_kanji windows-31j",
    "big5hkscs": "big5 big5-hkscs x-x-big5",
    "cp1254": "iso-8859-9 iso8859-9 latin5",
    "cp874": "iso-8859-11 iso8859-11 tis-620 windows-874",
}
_CODECS = {label: codec for codec, labels in _LARGER.items() for label in labels.split()}
# What says Latin-1 is windows-1252.
_LATIN_1 = re.compile(r"(iso-?8859-1|latin-?1|us-ascii|windows-1252|cp1252)", re.IGNORECASE)
_LINE_BREAK = re.compile("\r\n?|\n")
_INVALID = re.compile("[\udc80-\udcff]")
_CP1252 = {
    0xDC00 + byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte)
    for byte in range(0x80, 0x100)
}


class Begun:
    """A stream whose beginning was read already, and is read once more."""

    def __init__(self, head: bytes, stream: Stream) -> None:
        self.head = head
        self._rest, self._stream = head, stream

    def read(self, size: int, /) -> bytes:
        """Up to so many bytes; none at the end."""
        data, self._rest = self._rest[:size], self._rest[size:]
        return data or self._stream.read(size)


def _nothing(head: bytes) -> str | None:
    return None


def blocks(stream: Stream) -> Iterator[bytes]:
    """The bytes of the stream; the first block is whole, so that one can tell something by it."""
    head = b""
    while len(head) < BLOCK and (block := stream.read(BLOCK - len(head))):
        head += block
    while head:
        yield head
        head = stream.read(BLOCK)


def text(
    stream: Stream,
    declared: Callable[[bytes], str | None] = _nothing,
    strict: bool = False,
) -> Iterator[str]:
    """Yield the stream's text in pieces, with every line break as LF.

    `declared` finds the charset in the first block. Bytes that are not valid in it are read as
    windows-1252 or U+FFFD; if `strict`, they raise UnicodeDecodeError.
    """
    decoder = None
    for block in blocks(stream):
        decoder = decoder or _decoder(block, declared, strict)
        yield mended(decoder.decode(block))
    if decoder and (piece := decoder.decode(b"", final=True)):
        yield mended(piece)


def utf_8(stream: Stream) -> bytes:
    """Return the whole text of the stream in UTF-8, with every line break as LF.

    Raise Malformed, which names the line, for bytes that are not valid in the charset.
    """
    whole = io.BytesIO()
    try:
        whole.writelines(piece.encode() for piece in text(stream, strict=True))
    except UnicodeDecodeError as error:
        valid = error.object[: error.start].decode(error.encoding, "replace")
        line = whole.getvalue().count(b"\n") + len(_LINE_BREAK.findall(valid)) + 1
        raise Malformed(f"It is not valid {error.encoding} in line {line}.") from None
    return whole.getvalue()


def mended(piece: str) -> str:
    """The text, with what was no UTF-8 read as windows-1252."""
    if piece.isascii() or not _INVALID.search(piece):
        return piece
    return piece.translate(_CP1252)


def lines(pieces: Iterable[str]) -> Iterator[str]:
    """The lines of a text, without their ends; of one too long, some more than MAX_ENTRY."""
    rest = ""
    for piece in pieces:
        *whole, last = piece.split("\n")
        for line in whole:
            yield rest + line
            rest = ""
        if len(rest) <= MAX_ENTRY:
            rest += last
    if rest:
        yield rest


def _decoder(
    head: bytes, declared: Callable[[bytes], str | None], strict: bool
) -> io.IncrementalNewlineDecoder:
    charset, errors = _charset(head, declared)
    errors = "strict" if strict else errors
    return io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(charset)(errors), True)


def _charset(head: bytes, declared: Callable[[bytes], str | None]) -> tuple[str, str]:
    """The codec's name, and what it does where the bytes are none of its charset."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", "replace"
    # Without a mark: every other byte of the ASCII that any such file begins with is NUL.
    zeros = [byte == 0 for byte in head[:4]]
    if zeros in ([False, True] * 2, [True, False] * 2):
        return ("utf-16-be" if zeros[0] else "utf-16-le"), "replace"
    name = None if head.startswith(codecs.BOM_UTF8) else declared(head)
    if name and _LATIN_1.fullmatch(name):
        return "ascii", "surrogateescape"  # So that it is mended.
    if name and (codec := _CODECS.get(name.lower())):
        return codec, "replace"
    if name and _CHARSETS.fullmatch(name) and _is_known(name):
        return name, "replace"
    return "utf-8-sig", "surrogateescape"


def _is_known(name: str) -> bool:
    try:
        codecs.lookup(name)
    except LookupError:
        return False
    return True
