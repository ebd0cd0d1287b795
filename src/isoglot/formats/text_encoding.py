"""Find the encoding of a text: by its byte order mark, the declaration of its XML, or its NUL bytes."""

import codecs
import logging
import re
from functools import lru_cache

from isoglot.core.errors import InputError

_LOG = logging.getLogger(__name__)
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8",
}
_DECLARED = re.compile(rb"""\s*<\?xml\s[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")
_LETTERS = {
    "cp1251": "[а-яёіїєў]",
    "koi8-r": "[а-яё]",
    "cp1253": "[α-ωά-ώ]",
    "shift_jis": "[぀-ヿ一-鿿]",
    "gb18030": "[一-鿿]",
    "big5": "[一-鿿]",
    "euc-kr": "[가-힣]",
}
"""Encodings of text in other letters than Latin ones, and the letters that most text in them has."""
_HEAD = 1 << 16
_SPACES = " \n"
_BYTES_PER_NUL = 256
"""UTF-16 has at least one NUL in so many bytes; a fourth of them belong to spaces or line ends."""


def encoding_of(head: bytes, path: str = "") -> str:
    """Find the encoding of a text by its first bytes, as Python calls it.

    1. A byte order mark decides, with a warning that names ``path`` if XML declares another encoding.
    2. NUL bytes show UTF-16 or UTF-32 (:func:`_wide`). Without a mark, only XML may be in these.
    3. The declaration of XML decides.
    4. Other text is UTF-8.

    Raises:
        InputError: XML declares an unknown encoding, or other text is UTF-16 or UTF-32 without a byte order mark.

    Example:
        >>> encoding_of("é".encode("utf-16")), encoding_of(b'<?xml version="1.0" encoding="latin1"?>')
        ('utf-16', 'latin1')
    """
    head = head[:_HEAD]
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            declared = _DECLARED.match(head.decode(name, "ignore").lstrip("\ufeff").encode())
            if declared is not None and not declared[1].decode().lower().replace("_", "-").startswith(name):
                _warn_of_mark(path, declared[1].decode(), name)
            return name  # 1
    if name := _wide(head):  # 2
        if head.decode(name, "ignore").lstrip().startswith("<?xml"):
            return name
        raise InputError(
            f"is {name[:6].upper()} without a byte order mark, but UTF-8 is needed; convert it: "
            f"iconv -f {name} -t utf-8"
        )
    declared = _DECLARED.match(head)
    # A declaration that could be read byte by byte is not in UTF-16 or the like, even if it says so.
    if declared is None or re.match(rb"(?i)utf|ucs|iso-10646", declared[1]):
        return "utf-8"
    name = declared[1].decode()
    try:
        " ".encode(name)
    except (LookupError, UnicodeError):
        raise InputError(
            f"declares the unknown encoding {name!r}; convert it to UTF-8, for example with iconv"
        ) from None
    return name


def likely_encoding(line: bytes) -> str:
    r"""Guess the encoding of a line that is not UTF-8, as iconv calls it, for a message.

    1. Text with few bytes above 0x7f is Western: cp1252, whose apostrophes, quotes and dashes (0x80 to 0x9f) are
       control characters in latin1.
    2. Other text is in the encoding in which most characters are small letters, or letters of Chinese, Japanese and
       Korean (:data:`_LETTERS`).

    Example:
        >>> likely_encoding(b"I don\x92t know"), likely_encoding("Привет, мир".encode("cp1251"))
        ('cp1252', 'cp1251')
    """
    high = sum(byte > 0x7F for byte in line)
    if high * 3 < sum(not chr(byte).isspace() for byte in line):
        return "cp1252" if _decoded(line, "cp1252") else "latin1"  # 1
    texts = {name: _decoded(line, name) for name in _LETTERS}
    shares = {name: len(re.findall(_LETTERS[name], text)) / len(text) for name, text in texts.items() if text}
    best = max(shares, key=lambda name: shares[name], default="")
    return best if best and shares[best] > 1 / 3 else "cp1252"


def _decoded(line: bytes, name: str) -> str:
    """Decode a line; return an empty text if the line is not in this encoding."""
    try:
        return line.decode(name)
    except UnicodeDecodeError:
        return ""


@lru_cache(64)  # a file may be read more than once, and is reported once
def _warn_of_mark(path: str, declared: str, name: str) -> None:
    _LOG.warning(
        "%s: declares %s, but its byte order mark is that of %s, as which it is read", path, declared, name
    )


def _wide(head: bytes) -> str:
    """Tell whether NUL bytes show that a text is UTF-16 or UTF-32, and in which byte order; else return empty.

    1. UTF-32: of four bytes the highest one is always 0, and the next one is 3 at most, because no script has
       characters above U+3FFFF.
    2. UTF-16: many bytes are NUL, as in Western text; or some are, and a fourth of these belong to spaces or line ends,
       as in Chinese. The byte order is that in which the text has more spaces and line ends; if that does not tell,
       that in which more high bytes are NUL.
    """
    if 0 not in head:
        return ""
    characters = head[: len(head) // 4 * 4]
    for name, highest, next_highest in (("utf-32le", 3, 2), ("utf-32be", 0, 1)):
        if characters and not any(characters[highest::4]) and max(characters[next_highest::4]) <= 3:
            return name  # 1
    candidates = []
    for name, high_byte in (("utf-16le", 1), ("utf-16be", 0)):
        text = head.decode(name, "ignore")
        spaces = sum(text.count(space) for space in _SPACES)
        candidates.append((spaces, head[high_byte::2].count(0), name))
    spaces, _, name = max(candidates)
    nuls = head.count(0)
    has_many = nuls * 4 >= len(head)
    has_some = nuls * _BYTES_PER_NUL >= len(head)
    is_utf_16 = has_many or (has_some and spaces * 4 >= nuls)  # 2
    if not is_utf_16:
        return ""
    try:
        codecs.getincrementaldecoder(name)().decode(head)  # the last character may be cut off
    except UnicodeDecodeError:
        return ""
    return name
