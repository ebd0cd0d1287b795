"""Use an aligner of the user's own class: give it pairs with words, and check the links that it returns."""

from collections.abc import Callable, Iterable, Iterator

from isoglot.aligners.aligner import Aligner, Use, require_languages
from isoglot.core.errors import ConfigurationError
from isoglot.formats.links import link_outside
from isoglot.formats.sentence_pair import SentencePair


class PluginAligner(Aligner):
    """Gives pairs with words to a user's aligner, and checks the links that it returns.

    Args:
        aligner: The aligner.
        name: What messages call it.
        use: How the verb uses it.
    """

    def __init__(self, aligner: Aligner, name: str, use: Use) -> None:
        self.languages, self.learns, self.values = aligner.languages, aligner.learns, aligner.values
        self.words = use.word_mode or aligner.words or use.default_word_mode or "unicode"
        self.name = name
        self._aligner = aligner

    def align(self, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """Link the words of each pair by the user's aligner."""
        # One that learns loops over the pairs twice, which an iterator does not allow.
        if self.learns and iter(pairs) is pairs:
            pairs = list(pairs)
        text = _PairsWithWords(pairs, self._with_words)
        given = text if self.learns else iter(text)
        number = 0
        for number, pair in enumerate(self._aligner.align(given), 1):
            source, target = map(len, pair.words)
            if (link := link_outside(pair.links, source, target)) is not None:
                raise ConfigurationError(
                    f"{self.name}: pair {number} has the link {link}, counted from 0, but {source} and {target} words"
                )
            yield pair
        if number != text.count:
            raise ConfigurationError(
                f"{self.name}: returned {number:,} of {text.count:,} pairs; align must return each one, linked or not"
            )

    def _with_words(self, pair: SentencePair) -> SentencePair:
        """Check the languages of a pair, and cut its text into words."""
        require_languages(self, pair.languages)
        return pair.cut(self.words or "unicode")


class _PairsWithWords(Iterable[SentencePair]):
    """Pairs, changed one by one in each loop over them; they are counted on the way."""

    def __init__(self, pairs: Iterable[SentencePair], change: Callable[[SentencePair], SentencePair]) -> None:
        self._pairs, self._change = pairs, change
        self.count = 0
        """Number of pairs that the last loop gave."""

    def __iter__(self) -> Iterator[SentencePair]:
        self.count = 0
        for pair in self._pairs:
            self.count += 1
            yield self._change(pair)
