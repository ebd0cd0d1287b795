"""Find text whose bytes were read in a wrong encoding: ``fÃ¼r`` for ``für``, ``donâ€™t`` for ``don’t``.

Each encoding has a pattern of character sequences that its misreading makes and that no language writes.
"""

import regex

_TYPOGRAPHIC = "“”„‘’‚«»‹›–—…\u00a0"
"""Quotation marks, dashes and the like, which may follow any letter."""


def _misread(encoding: str, first: int, last: int) -> str:
    """Make a character class of the characters that an encoding has for some bytes.

    A byte without a character in the encoding is the control character of its number.
    """
    characters = set()
    for byte in range(first, last + 1):
        try:
            characters.add(bytes([byte]).decode(encoding))
        except UnicodeDecodeError:
            characters.add(chr(byte))
    # The class serves Latin-1 too, which differs from Windows-1252 in the bytes 80 to 9F alone: there it has control
    # characters.
    if encoding == "cp1252":
        characters.update(map(chr, range(first, last + 1)))
    return f"[{''.join(map(regex.escape, sorted(characters)))}]"


# In UTF-8 a character beyond ASCII is a leading byte (C2 to F4) and one to three bytes from 80 to BF behind it.
# Each of these classes has the characters that an encoding makes of the bytes behind it.
_WESTERN = _misread("cp1252", 0x80, 0xBF)
_CENTRAL = _misread("cp1250", 0x80, 0xBF)
_CYRILLIC = _misread("cp1251", 0x80, 0xBF)
_MAC = _misread("mac_roman", 0x80, 0xBF)
_DOS = f"[{_misread('cp437', 0x80, 0xBF)}{_misread('cp850', 0x80, 0xBF)}]"

_WINDOWS_1252 = rf"""
    (?<=\p{{Ll}})[ÂÃÄÅ]{_WESTERN}                # fÃ¼r, bÅ‚Ä…d
    | [ÂÃÄÅ][{_WESTERN}&&[\p{{Ll}}\p{{Lu}}\x80-\x9f]]  # Ãœ, Å¡ also behind a capital
    | Ã[{_WESTERN}--[{_TYPOGRAPHIC}©®™]]         # Ã³, Ãª
    | (?<!\p{{Lu}})[ÂÃÄÅ][{_WESTERN}--[{_TYPOGRAPHIC}]]  # Ã©tÃ©, Â°; but not JÄÄ® in capitals
    | (?<!\p{{L}})[ÃÄÅ][{_TYPOGRAPHIC}--\u00a0](?=\p{{L}})  # Ã–sterreich; but not „PÅ“
    | (?<![\p{{L}}«»„“‘‚])Â[«»]                   # Â«quotedÂ»; but not the letter «Â»
    | Ã[–„“‚‹](?=\p{{Lu}})                       # GRÃ–SSE
    | [ÂÃ]\u00a0                                # à, and a non-breaking space
    | (?:[ÎÏÐĞÑ×ØÙ]{_WESTERN}){{2}}              # two letters of Greek, Cyrillic, Hebrew, Arabic; Ğ in Windows-1254
    | â[€‚„†ˆ‰\x80-\x8f]                         # ’ “ – … € →
    | (?:[à-ï]{_WESTERN}{{2}}){{2}}              # two characters of Chinese, Hindi, Thai
    | á[º»]{_WESTERN}                                # ạ, ế of Vietnamese
    | ðŸ | ð\x9f                                 # emoji
    | ï»¿                                        # a byte order mark
"""
# Cleaning turns the second byte of à (Ã with a non-breaking space) into a plain space, and removes control characters.
_WITHOUT_SECOND = r"""
    (?<=\p{Ll})[ÂÃÄÅÐÑØÙ](?!\p{Lu})
    | ã[¡-¿--»]ã
"""
_WINDOWS_1250 = rf"""
    (?<=\p{{Ll}})[ĂÄĹ]{_CENTRAL}                 # fĂĽr for für, byĹ‚ for był
    | (?<!\p{{Lu}})[ĂĹ][{_CENTRAL}--[{_TYPOGRAPHIC}\p{{L}}]]
    | Ĺ[‚„›\p{{Ll}}&&{_CENTRAL}]                 # Ĺ‚, Ĺľ: a capital Ĺ before a small letter begins no word
    | Ă[–„](?=\p{{Ll}})                          # Ă–sterreich
"""
_WINDOWS_1251 = rf"""
    (?:[РС][{_CYRILLIC}--[\p{{Lu}}]]){{2}}       # РґР° for да; in Ukrainian capitals (СІРІ) only three are certain
    | (?:[ОПРСЧШЩ]{_CYRILLIC}){{3}}              # three letters of Greek, Cyrillic, Hebrew, Arabic
    | (?:[а-п]{_CYRILLIC}{{2}}){{2}}             # two characters of Chinese, Hindi, Thai
    | вЂ                                         # ’ “ – …
    | (?<=\p{{Latin}})б[є»]                      # ạ, ế of Vietnamese
    | (?<=[\p{{Latin}}--[ªº]])[ГДЕ][{_CYRILLIC}--[{_TYPOGRAPHIC}]]   # fГјr for für
    | [ГДЕ][{_CYRILLIC}--[{_TYPOGRAPHIC}]](?=[\p{{Latin}}--[ªº]])
"""
_MACINTOSH = rf"""
    (?<=\p{{L}})√[{_MAC}--π] | √[{_MAC}--π](?=\p{{Ll}})      # f√ºr for für, but not the root of π
    | (?<=\p{{Latin}})[ƒ≈]{_MAC} | [ƒ≈]{_MAC}(?=\p{{Ll}})    # ƒô for ę, ≈Ç for ł
    | ‚Ä[ìîôòúùö¶∫°†]                            # ’ “ – …
    | ·[∫ª]                                      # ạ, ế of Vietnamese
    | (?:[–—]{_MAC}){{3}}                        # three letters of Cyrillic
    | (?:[Œœ◊ÿŸ]{_MAC}){{2}}                     # two letters of Greek, Hebrew, Arabic
    | (?:[‡·‚„‰ÂÊÁËÈÍÎÏ]{_MAC}{{2}}){{2}}        # two characters of Chinese, Hindi, Thai
"""
_DOS_PAGES = rf"""
    (?<=\p{{L}})[┬├─┼]{_DOS} | [├─┼][{_DOS}&&[\p{{L}}╝╛╜║╗]](?=\p{{Ll}})  # f├╝r for für
    | [ΓÔ]Ç                                      # ’ “ – …
    | (?:[╨╤╫╪┘╬╧]{_DOS}){{2}}                   # two letters of Cyrillic, Greek, Hebrew, Arabic in code page 437
    | (?:[ðÐ]{_DOS}){{3}}                        # three letters of Cyrillic in code page 850
    | (?:[αßΓπΣσµτΦΘΩ]{_DOS}{{2}}){{2}}          # two characters of Chinese, Hindi, Thai
"""
_MOJIBAKE = regex.compile(
    "|".join(
        [
            r"\uFFFD",  # where a decoder met what it could not read
            _WINDOWS_1252, _WITHOUT_SECOND, _WINDOWS_1250, _WINDOWS_1251, _MACINTOSH, _DOS_PAGES,
        ]
    ),
    regex.VERBOSE | regex.V1,
)  # fmt: skip


def is_mojibake(text: str) -> bool:
    """Whether a text has characters that only a wrong encoding explains.

    Finds UTF-8 that was read as Latin-1, Windows-1250 to 1252, Mac Roman or the code pages 437 and 850 of DOS, once or
    twice over, and U+FFFD.

    Example:
        >>> [is_mojibake(text) for text in ("fÃ¼r", "donâ€™t", "Ð¿Ñ€Ð¸Ð²ÐµÑ‚", "für „Spaß“", "IRMÃ", "Å är ö")]
        [True, True, True, False, False, False]
        >>> [is_mojibake(text) for text in ("fГјr", "f√ºr", "f├╝r", "РїСЂРёРІРµС‚", "für", "привет")]
        [True, True, True, True, False, False]
    """
    return not text.isascii() and _MOJIBAKE.search(text) is not None
