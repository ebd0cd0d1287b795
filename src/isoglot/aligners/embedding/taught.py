"""The languages of the aligner that comes with isoglot, and the nearest of them to others."""

import re
from pathlib import Path

from isoglot.checkpoints.folder import BOX
from isoglot.core.languages import name_of, two_letters

_CODES = """
af am ar az be bg bn ca cs cy da de el en es et eu fa fi fr ga gl ha he hi hr hu hy id is it ja ka km ko ku lt lv mk mr
ms my ne nl no om pl ps pt ro ru sl so sq sr sv sw ta th tl tr uk ur vi zh
"""
BOX_LANGUAGES = frozenset(_CODES.split())
"""Languages that the aligner of the package was taught."""
_SAME = {"nb": "no", "nn": "no", "fil": "tl", "kmr": "ku", "cmn": "zh"}
_RELATIVES = {
    taught: frozenset(codes.split())
    for taught, codes in {
        "am": "gez ti tig",
        "ar": "acm aeb ajp apc arq ars ary arz mt",
        "az": "tk",
        "bn": "as or syl",
        "ca": "oc",
        "cs": "hsb sk",
        "cy": "br kw",
        "de": "bar gsw ksh lb nds pfl yi",
        "es": "an ast ext lad pap",
        "et": "vro",
        "fa": "prs tg",
        "fi": "krl olo",
        "fr": "frp ht pcd wa",
        "ga": "gd gv",
        "he": "arc syr",
        "hi": "awa bho gu hne mag mai pa raj sa sd",
        "id": "ace ban bjn bug jv mad min su",
        "is": "fo",
        "it": "co eml fur la lij lmo nap pms sc scn vec",
        "ku": "ckb diq zza",
        "lv": "ltg",
        "mr": "gom kok",
        "my": "rki",
        "ne": "dty",
        "nl": "fy li stq vls zea",
        "om": "aa",
        "pl": "csb dsb szl",
        "pt": "mwl",
        "ro": "rup",
        "ru": "cu",
        "sr": "bs cnr sh",
        "sw": "bem kg ki lg ln nd nr nso ny rn rw sn ss st tn ts ve xh zu",
        "ta": "kn ml tcy te",
        "th": "lo shn",
        "tl": "bcl ceb hil ilo pag pam war",
        "tr": "ba crh cv gag kaa kk ky tt ug uz",
        "uk": "rue",
        "ur": "skr",
        "vi": "mtq",
        "zh": "gan hak nan wuu yue",
    }.items()
}
"""For a taught language others that are nearest to it, by family, and of these by script."""
NEAREST = {code: taught for taught, codes in _RELATIVES.items() for code in codes}


def untaught(model: str | Path, language: str) -> str | None:
    """Say that an encoder was not taught a language, and which is nearest; None if it was, or nothing is known.

    Example:
        >>> untaught("box", "deu"), untaught("box", "zh-Hant"), untaught("mbert", "sk"), untaught("box", "")
        (None, None, None, None)
        >>> untaught("box", "sk")
        "was not taught 'sk'; the nearest language that it was taught is Czech (cs)"
        >>> untaught("box", "yo")
        "was not taught 'yo', nor a language related to it"
    """
    if str(model) != BOX or not language:
        return None
    code = two_letters(language if "-x-" in language else re.split("[-_]", language.lower())[0])
    if _SAME.get(code, code) in BOX_LANGUAGES:
        return None
    if (near := NEAREST.get(code)) is None:
        return f"was not taught {language!r}, nor a language related to it"
    return f"was not taught {language!r}; the nearest language that it was taught is {name_of(near)} ({near})"
