"""Codes of languages, and which are written from right to left."""

import re

from isoglot.languages import two_letters

RIGHT_TO_LEFT = frozenset(["ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"])
"""ISO 639 codes of languages written from right to left."""


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
