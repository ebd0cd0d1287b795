"""Judge whether a text is in its language; the library lingua compares all languages of the same script."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
import regex
from numpy.typing import NDArray

from isoglot.core.checks import missing_package
from isoglot.core.errors import ConfigurationError
from isoglot.core.languages import two_letters
from isoglot.corpus.filter.scripts import scripts_of

if TYPE_CHECKING:
    from lingua import ConfidenceValue, Language, LanguageDetector

_TOO_CLOSE = ({"bs", "hr", "sr", "sh"}, {"nb", "nn", "no"})
"""Groups of written languages that share many sentences: if one of a group is found, a text is in all of them."""
_ENOUGH_CONFIDENCE = 0.97
"""If lingua's fast model is at least so confident of the language, the slow model is not asked."""
FEWEST_LETTERS = 20
"""Letters of the shortest text that is judged by default; a Chinese, Japanese or Korean character counts as three."""
_LETTER, _EAST_ASIAN = regex.compile(r"\p{L}"), regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]")
_LONG_TEXT = 120
"""Characters of the shortest text for which lingua's slow model is never asked.

In a text this long the slow model looks at sequences of three letters alone, as the fast one does.
"""


class LanguageIdentifier:
    """Tells how likely texts are in one language, among the languages that share a script with it.

    lingua's fast model counts sequences of three letters, its slow model sequences of one to five.

    Args:
        language: Code of the language that the texts should have.
        alternatives: Codes of further languages that they may be in, such as that of the other side.
        fewest_letters: Letters of the shortest text that is judged.

    Raises:
        ConfigurationError: lingua is not installed, or does not know the language.
    """

    def __init__(
        self, language: str, alternatives: Iterable[str] = (), *, fewest_letters: int = FEWEST_LETTERS
    ) -> None:
        self._fewest_letters = fewest_letters
        try:
            from lingua import Language  # noqa: PLC0415 (an extra)
        except ImportError as error:
            raise missing_package("[[min_language]]", "lingua-language-detector") from error
        known = {lingua.iso_code_639_1.name.lower(): lingua for lingua in Language.all()}
        code = _code(language)
        # The language itself, and languages in which a text counts as being in it.
        accepted = next((group for group in _TOO_CLOSE if code in group), {code})
        self._accepted = {known[name] for name in accepted & known.keys()}
        if not self._accepted:
            raise ConfigurationError(
                f"min_language: lingua does not know {language!r}; it knows {', '.join(sorted(known))}; leave "
                "min_language out (of a preset: [[min_language=0]]), or set the languages"
            )
        scripts = set(scripts_of(code))
        in_same_script = {name for name in known if scripts & set(scripts_of(name))}
        # lingua needs two languages at least, so English and Chinese are always compared.
        candidates = in_same_script | accepted | set(map(_code, alternatives)) | {"en", "zh"}
        self._candidates = [known[name] for name in sorted(candidates & known.keys())]

    def likelihoods(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Divide the confidence in the language by that in the likeliest one, for each text.

        1. The fast model judges all texts.
        2. The slow model judges short texts again, if the fast one is not confident of the language.
        3. A text with few letters has 1: two words such as "Open file" are as likely in several languages.

        **Shape**: (texts,).
        """
        if not texts:
            return np.ones(0)
        fast = self._fast.compute_language_confidence_values_in_parallel(list(texts))
        judged = np.array([self._judged(values) for values in fast])  # 1
        likelihoods, confidences = judged[:, 0], judged[:, 1]
        lengths = np.array(list(map(len, texts)))
        is_doubtful = (confidences < _ENOUGH_CONFIDENCE) & (lengths < _LONG_TEXT)
        if is_doubtful.any():
            doubtful = list(compress(texts, is_doubtful.tolist()))
            slow = self._slow.compute_language_confidence_values_in_parallel(doubtful)
            likelihoods[is_doubtful] = [self._judged(values)[0] for values in slow]  # 2
        likelihoods[[weighted_letters(text) < self._fewest_letters for text in texts]] = 1.0  # 3
        return likelihoods

    def _judged(self, values: Sequence["ConfidenceValue"]) -> tuple[float, float]:
        """Return the confidence in the language divided by the highest one, at most 1; and the confidence itself."""
        confidence = sum(value.value for value in values if value.language in self._accepted)
        best = max(value.value for value in values)
        return (min(1.0, confidence / best), confidence) if best else (1.0, 1.0)

    @cached_property
    def _fast(self) -> "LanguageDetector":
        return _detector(self._candidates, fast=True)

    @cached_property
    def _slow(self) -> "LanguageDetector":
        return _detector(self._candidates, fast=False)


def _code(tag: str) -> str:
    """The code of a tag's language, without script and region: ``zh`` of ``zh-Hans``."""
    return two_letters(tag.replace("_", "-").lower().partition("-")[0])


def _detector(candidates: Sequence["Language"], *, fast: bool) -> "LanguageDetector":
    from lingua import LanguageDetectorBuilder  # noqa: PLC0415 (an extra)

    builder = LanguageDetectorBuilder.from_languages(*candidates)
    return (builder.with_low_accuracy_mode() if fast else builder).build()


def weighted_letters(text: str) -> int:
    """Count the letters of a text; a character of Chinese, Japanese or Korean counts as three."""
    return len(_LETTER.findall(text)) + 2 * len(_EAST_ASIAN.findall(text))
