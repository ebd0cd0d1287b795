"""The scripts of languages, and the share of a text's letters that are in them."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import takewhile

import numpy as np
import regex
from numpy.typing import NDArray

from isoglot.core.errors import ConfigurationError
from isoglot.core.languages import codes

_LANGUAGES = {
    "Latin": "af ast az br bs ca ceb co cs cy da de en eo es et eu fi fil fo fr fy ga gd gl gn gsw ha haw hr ht hu id "
    "ig is it jv kmr ku la lb lg ln lt lv mg mi ms mt nb nds nl nn no nso ny oc om pl pt qu rm ro rw sc scn sco sk sl "
    "sm sn so sq st su sv sw szl tk tl tn to tr ts tw uz vec vi vo wa war wo xh yo zu",
    "Cyrillic": "ab ba be bg ce cv kk kv ky mk mn os ru sah tg tt udm uk",
    "Arabic": "ar arz azb ckb fa ps sd ug ur",
    "Devanagari": "awa bh bho hi mai mr ne new sa",
    "Hebrew": "he iw yi",
    "Greek": "el grc",
    "Armenian": "hy",
    "Georgian": "ka xmf",
    "Bengali": "as bn",
    "Gurmukhi": "pa",
    "Gujarati": "gu",
    "Oriya": "or",
    "Tamil": "ta",
    "Telugu": "te",
    "Kannada": "kn",
    "Malayalam": "ml",
    "Sinhala": "si",
    "Thai": "th",
    "Lao": "lo",
    "Tibetan": "bo dz",
    "Myanmar": "my",
    "Khmer": "km",
    "Ethiopic": "am ti",
    "Han": "zh cmn yue wuu lzh",
}
_SUBTAGS = {
    "hans": ("Han",),
    "hant": ("Han",),
    "jpan": ("Han", "Hiragana", "Katakana"),
    "kore": ("Hangul", "Han"),
}
"""Script subtags (of tags such as zh-Hans) that mean several scripts, or a variant of one.

Any other script subtag is the name of a Unicode script.
"""

LANGUAGE_SCRIPTS: dict[str, tuple[str, ...]] = {
    **{language: (script,) for script, names in _LANGUAGES.items() for language in names.split()},
    "ja": ("Han", "Hiragana", "Katakana"),
    "ko": ("Hangul", "Han"),
    "sr": ("Cyrillic", "Latin"),
    "sh": ("Latin", "Cyrillic"),
}
"""Unicode scripts in which a language is written, by its ISO 639 code."""


def scripts_of(language: str, extra: Mapping[str, Sequence[str]] | None = None) -> tuple[str, ...]:
    """Look up the scripts of a language.

    1. ``extra`` decides, where it names the language or tag.
    2. Then a script subtag does (``uz-Cyrl``); a region (``pt-BR``) does not matter.
    3. Then the table does.

    Example:
        >>> scripts_of("de"), scripts_of("zh-Hans"), scripts_of("ja")
        (('Latin',), ('Han',), ('Han', 'Hiragana', 'Katakana'))
    """
    tag = language.replace("_", "-").lower()
    for name in (language, tag, tag.split("-")[0]):
        if extra and name in extra:
            return tuple(extra[name])
    # Subtags behind an x are private: en-x-perm is a permutation, not Old Permic.
    for part in takewhile(lambda part: part != "x", tag.split("-")[1:]):
        if len(part) == 4 and part.isalpha():
            return _SUBTAGS.get(part, (part.title(),))
    base = next((code for code in codes(tag.split("-")[0]) if code in LANGUAGE_SCRIPTS), None)
    if base is None:
        raise ConfigurationError(
            f"min_script_share: the script of {language!r} is not in the table; set scripts: {{{language}: [Latin]}}"
        )
    return LANGUAGE_SCRIPTS[base]


def script_share(texts: Sequence[str], scripts: tuple[str, ...]) -> NDArray[np.float64]:
    """Compute the share of each text's letters that are in the given scripts.

    Letters that several scripts share (Unicode scripts Common and Inherited) are not counted. A text without letters
    has share 1.

    Example:
        >>> script_share(["house", "дом a", "1 + 1"], ("Latin",)).tolist()
        [1.0, 0.25, 1.0]
    """
    classes = _classes(scripts)
    lengths = np.fromiter((len(t) for t in texts), np.int64, len(texts))
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    letter_classes = classes[points]
    ends = np.cumsum(lengths)
    starts = ends - lengths

    def count(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Count the characters of each text for which the mask is true."""
        so_far = np.concatenate([[0], np.cumsum(mask)])
        counts: NDArray[np.int64] = so_far[ends] - so_far[starts]
        return counts

    letters = count(letter_classes > 0)
    inside = count(letter_classes == 2)
    return np.where(letters == 0, 1.0, inside / np.maximum(letters, 1))


@lru_cache(maxsize=16)
def _classes(scripts: tuple[str, ...]) -> NDArray[np.uint8]:
    """Classify each code point: 2 is a letter of these scripts, 1 a letter of another script, 0 anything else.

    A letter that several scripts share is of class 0.
    """
    classes = np.zeros(0x110000, np.uint8)
    every = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
    names = "".join(rf"\p{{Script={s}}}" for s in scripts)
    try:
        inside = regex.compile(rf"(?V1)[\p{{L}}&&[{names}]]+")
    except regex.error as error:
        raise ConfigurationError(
            f"scripts {', '.join(scripts)}: not all are Unicode scripts ({error}); use names such as Latin, Han"
        ) from error
    of_any_script = regex.compile(r"(?V1)[\p{L}--[\p{Script=Common}\p{Script=Inherited}]]+")
    for pattern, value in ((of_any_script, 1), (inside, 2)):
        for match in pattern.finditer(every):
            first, last = ord(every[match.start()]), ord(every[match.end() - 1])
            # A run of letters is a run of code points: `every` leaves out the surrogates alone, and the code points
            # around them are not letters.
            classes[first : last + 1] = value
    return classes
