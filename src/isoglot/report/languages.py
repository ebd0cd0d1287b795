"""Names of languages, and which are written from right to left."""

import re

from isoglot.languages import two_letters

_NAMES = """af Afrikaans|am Amharic|ar Arabic|az Azerbaijani|be Belarusian|bg Bulgarian|bn Bengali|ca Catalan|cs Czech
|cy Welsh|da Danish|de German|el Greek|en English|eo Esperanto|es Spanish|et Estonian|eu Basque|fa Persian|fi Finnish
|fr French|ga Irish|gl Galician|gu Gujarati|he Hebrew|hi Hindi|hr Croatian|hu Hungarian|hy Armenian|id Indonesian
|is Icelandic|it Italian|ja Japanese|jv Javanese|ka Georgian|kk Kazakh|kn Kannada|ko Korean|ku Kurdish|ky Kyrgyz
|la Latin|lt Lithuanian|lv Latvian|mk Macedonian|ml Malayalam|mn Mongolian|mr Marathi|ms Malay|mt Maltese|my Burmese
|ne Nepali|nl Dutch|no Norwegian|pa Punjabi|pl Polish|ps Pashto|pt Portuguese|qu Quechua|ro Romanian|ru Russian
|sa Sanskrit|sd Sindhi|si Sinhala|sk Slovak|sl Slovenian|sq Albanian|sr Serbian|sv Swedish|sw Swahili|ta Tamil
|te Telugu|th Thai|tl Tagalog|tr Turkish|ug Uyghur|uk Ukrainian|ur Urdu|uz Uzbek|vi Vietnamese|wo Wolof|yi Yiddish
|yo Yoruba|zh Chinese"""
_BY_CODE = dict(entry.strip().split(" ", 1) for entry in _NAMES.split("|"))

RIGHT_TO_LEFT = frozenset(["ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"])
"""ISO 639 codes of languages written from right to left."""


def language_name(code: str) -> str:
    """English name of a language or of a pair (``de-en``: German–English); the code itself if it has none here."""
    if code in _BY_CODE:
        return _BY_CODE[code]
    parts = code.split("-")
    if len(parts) == 2 and all(part in _BY_CODE for part in parts):
        return "–".join(_BY_CODE[part] for part in parts)
    return code


def common_code(code: str) -> str:
    """One code for a language, a pair or a derived language that has several.

    Example:
        >>> common_code("deu"), common_code("deu-eng"), common_code("eng-x-inv")
        ('de', 'de-en', 'en-x-inv')
    """
    own, mark, derived = code.partition("-x-")
    return "-".join(map(two_letters, own.split("-"))) + mark + derived


def transformation(language: str) -> str:
    """Transformations that make a derived language, sorted: ``inv+trans`` of ``en-x-trans-inv``, empty for others."""
    return "+".join(sorted(filter(None, re.split(r"[-+_]", language.lower().partition("-x-")[2]))))


def direction(code: str) -> str:
    """``rtl``, ``ltr``, or ``auto`` where the code is empty: HTML's ``dir``."""
    if not code:
        return "auto"
    return "rtl" if code.replace("_", "-").partition("-")[0].lower() in RIGHT_TO_LEFT else "ltr"
