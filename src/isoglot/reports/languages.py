"""Codes of languages."""

import re

from isoglot.languages import two_letters


def common_code(code: str) -> str:
    """One code for a language, a pair or a derived language that has several.

    Example:
        >>> common_code("deu"), common_code("deu-eng"), common_code("eng-x-inv")
        ('de', 'de-en', 'en-x-inv')
    """
    codes, mark, derived = code.partition("-x-")
    return "-".join(map(two_letters, codes.split("-"))) + mark + derived


def transformation(language: str) -> str:
    """Transformations that make a derived language, sorted: ``inv+trans`` of ``en-x-trans-inv``, empty for others."""
    return "+".join(sorted(filter(None, re.split(r"[-+_]", language.lower().partition("-x-")[2]))))
