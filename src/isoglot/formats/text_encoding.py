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
_SPACES, _FEWEST = " \n", 256
"""Characters that hold a fourth of the NUL bytes of UTF-16 at least, and how many bytes have one NUL among them."""


def encoding_of(head: bytes, path: str = "") -> str:
    """The encoding of a text that begins with these bytes, as Python calls it.

    A byte order mark counts most, with a warning that names ``path`` if XML declares another encoding; then what XML
    declares; text without either is UTF-8, unless its NUL bytes show that it is not.

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
            return name
    if name := _wide(head):
        if head.decode(name, "ignore").lstrip().startswith("<?xml"):
            return name
        raise InputError(
            f"is {name[:6].upper()} without a byte order mark, but UTF-8 is needed; convert it: "
            f"iconv -f {name} -t utf-8"
        )
    declared = _DECLARED.match(head)
    # a declaration that is read byte by byte is in no encoding of several bytes a character, whatever it says
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
    r"""The encoding that a line which is not UTF-8 fits best, as iconv calls it; a guess for a message.

    Western text has few bytes above 0x7f: it is cp1252, whose apostrophes, quotes and dashes (0x80 to 0x9f) are control
    characters in latin1. Where most letters are such bytes, the encoding wins whose letters are mostly of lower case,
    or of Chinese, Japanese and Korean.

    Example:
        >>> likely_encoding(b"I don\x92t know"), likely_encoding("Привет, мир".encode("cp1251"))
        ('cp1252', 'cp1251')
    """
    high = sum(byte > 0x7F for byte in line)
    if high * 3 < sum(not chr(byte).isspace() for byte in line):
        return "cp1252" if _decoded(line, "cp1252") else "latin1"
    texts = {name: _decoded(line, name) for name in _LETTERS}
    shares = {name: len(re.findall(_LETTERS[name], text)) / len(text) for name, text in texts.items() if text}
    best = max(shares, key=lambda name: shares[name], default="")
    return best if best and shares[best] > 1 / 3 else "cp1252"


def _decoded(line: bytes, name: str) -> str:
    """The line in an encoding; empty if it is not in it."""
    try:
        return line.decode(name)
    except UnicodeDecodeError:
        return ""


@lru_cache(64)  # a file is read more than once
def _warn_of_mark(path: str, declared: str, name: str) -> None:
    _LOG.warning(
        "%s: declares %s, but its byte order mark is that of %s, as which it is read", path, declared, name
    )


def _wide(head: bytes) -> str:
    """UTF-16 or UTF-32 and its byte order, where NUL bytes show that; else empty."""
    if 0 not in head:
        return ""
    whole = head[: len(head) // 4 * 4]
    for name, first, second in (("utf-32le", 3, 2), ("utf-32be", 0, 1)):
        if whole and not any(whole[first::4]) and max(whole[second::4]) <= 3:
            return name
    # where a script's characters have no NUL bytes, spaces and line ends still do
    spaces, name = max(
        (sum(map(head.decode(name, "ignore").count, _SPACES)), head[odd::2].count(0), name)
        for name, odd in (("utf-16le", 1), ("utf-16be", 0))
    )[::2]
    nuls = head.count(0)
    if nuls * 4 < len(head) and (nuls * _FEWEST < len(head) or spaces * 4 < nuls):
        return ""
    try:
        codecs.getincrementaldecoder(name)().decode(head)  # the last character may be cut off
    except UnicodeDecodeError:
        return ""
    return name
