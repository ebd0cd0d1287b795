"""The class of statistical aligners: learn a model from bitext, align that text or other text, save, load."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

from isoglot.aligners.aligner import is_corpus, require_languages
from isoglot.aligners.alignment import WINDOW, give_links
from isoglot.aligners.statistical.bitext import (
    BitextSide,
    ForeignText,
    Sentences,
    encode_pairs,
    pairs_of,
    usable_sides,
)
from isoglot.aligners.statistical.decoding import SentenceAlignments
from isoglot.aligners.statistical.methods import METHODS, TranslationModel
from isoglot.aligners.statistical.options import Symmetrisation
from isoglot.aligners.statistical.saved_models import load_model
from isoglot.aligners.symmetrise import check_symmetriser
from isoglot.core.checks import did_you_mean, shortened, validated
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.formats.sentence_pair import SentencePair, WordPair, require_words
from isoglot.formats.sources import UNNAMED
from isoglot.formats.words import WordMode, require_mode

if TYPE_CHECKING:
    from datasets import Dataset

    from isoglot.aligners.embedding.options import Values
    from isoglot.core.options import Options

_LOG = logging.getLogger(__name__)
_warn = partial(_LOG.warning, "pair %d: %s")
AGREEMENT = "agreement"
"""Symmetrisation by a threshold on both directions' posteriors; see :mod:`isoglot.aligners.statistical.decoding`."""
_THRESHOLD = 0.3
"""The threshold of :data:`AGREEMENT` where none is given."""


def require_agreement(symmetrisation: str, name: str) -> None:
    """Refuse a threshold for an aligner of another symmetrisation, which would ignore it.

    ``name``: What the message calls the aligner.
    """
    if symmetrisation != AGREEMENT:
        raise ConfigurationError(
            f"[[threshold]]: only [[symmetrisation='agreement']] has a threshold, and {name} is read by "
            f"{symmetrisation}; leave the threshold out, or choose agreement"
        )


def _checked_threshold(threshold: float) -> float:
    """Return the threshold, and refuse one that is no probability."""
    if not 0 < threshold < 1:
        raise ConfigurationError(
            f"threshold must be a probability between 0 and 1, got {threshold}; the usual value is 0.3"
        )
    return threshold


class StatisticalAligner:
    """Learns word alignment from the bitext itself, without a compiler or an encoder.

    Args:
        method: ``fast_align`` (IBM 2 with a diagonal prior, the links of the C++ program but for ties; the fastest)
            or ``hmm`` (a Bayesian HMM whose directions agree; the most accurate). See
            :mod:`isoglot.aligners.statistical.ibm2` and :mod:`isoglot.aligners.statistical.hmm`.
        symmetrisation: how the two directions become one: ``agreement`` (a threshold on their posteriors; default of
            ``hmm``) or one of :mod:`isoglot.aligners.symmetrise` (default of ``fast_align``: ``grow-diag-final-and``).
        threshold: of ``agreement``; 0.3, the default, balances precision and recall, 0.5 and more is for precision.
            With another symmetrisation it is refused.
        lowercase: compare words without case.
        words: how text is cut into words; saved with the model, whose other text is cut the same way. By default at
            spaces and tabs.
        languages: tags of the text's source and target language, empty where unknown; saved with the model, which then
            refuses text of other languages. :meth:`fit` reads them from the bitext.
        options: those of the method, such as :class:`isoglot.aligners.statistical.options.DiagonalOptions`.
        **overrides: options of the method by name, in place of ``options``.

    Raises:
        ConfigurationError: an unknown method, symmetrisation or option.

    Example:
        >>> source = [["das", "haus"], ["das", "buch"], ["ein", "buch"]]
        >>> target = [["the", "house"], ["the", "book"], ["a", "book"]]
        >>> aligner = StatisticalAligner(symmetrisation="intersect").fit_words(source, target)
        >>> aligner.align_words(["das", "buch"], ["the", "book"]).word_pairs
        [('das', 'the'), ('buch', 'book')]
    """

    learns: bool = False  # as `Aligner` has it: whether `align` learns; here `fit` does
    values: Values = "probabilities"

    def __init__(
        self,
        method: str = "fast_align",
        *,
        symmetrisation: Symmetrisation | None = None,
        threshold: float | None = None,
        lowercase: bool = False,
        words: WordMode | None = None,
        languages: Sequence[str] = ("", ""),
        options: Options | None = None,
        **overrides: Any,
    ) -> None:
        if words is not None:
            require_mode(words)
        if method not in METHODS:
            raise ConfigurationError(
                f"unknown statistical method {method!r}; {did_you_mean(method, METHODS)}"
            )
        if symmetrisation not in (None, AGREEMENT):
            check_symmetriser(symmetrisation)
        self.method = method
        self.symmetrisation = symmetrisation or METHODS[method].symmetrisation
        if threshold is not None:
            require_agreement(self.symmetrisation, f"method {method}")
        self.threshold = _checked_threshold(_THRESHOLD if threshold is None else threshold)
        self.lowercase = lowercase
        self.words = words
        self.languages = self._tags(languages)
        if options is None:
            options = validated(METHODS[method].options, overrides, owner=f"method {method}")
        elif overrides:
            raise ConfigurationError("got both options= and single options; put all of them in options=")
        self.options: Any = options
        self.model: TranslationModel | None = None
        self.name = "this aligner"
        """The name in messages: the folder that the aligner was loaded from."""

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that the aligner was made with, by name; ``options`` are those of the method."""
        return {
            "method": self.method,
            "lowercase": self.lowercase,
            "options": self.options.model_dump(),
            "symmetrisation": self.symmetrisation,
            "threshold": self.threshold,
            "words": self.words,
            "languages": self.languages,
        }

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any], model: TranslationModel) -> Self:
        """Make an aligner from :attr:`settings` and a trained model."""
        arguments = dict(settings)
        # Every model has a threshold in its record, also one whose symmetrisation has none.
        threshold = arguments.pop("threshold")
        aligner = cls(**arguments.pop("options"), **arguments)
        if threshold is not None:
            aligner.threshold = _checked_threshold(threshold)
        aligner.model = model
        return aligner

    def fit(self, bitext: Dataset, *, start: StatisticalAligner | None = None) -> Self:
        """Estimate the model from a BITEXT corpus (**columns** as :meth:`align` says).

        ``start``: A trained aligner of the same method that has counted this text too, for example a merged one; the
        first update uses its probabilities instead of uniform ones.
        """
        from isoglot.aligners.words import bitext_languages, bitext_words  # noqa: PLC0415 - `datasets` is slow to import

        words = bitext_words(bitext, mode=self._mode)
        self.languages = self.languages if any(self.languages) else self._tags(bitext_languages(bitext))
        return self.fit_words(*words, start=start)

    def fit_words(
        self, source: Sentences, target: Sentences, *, start: StatisticalAligner | None = None
    ) -> Self:
        """Estimate the model from lists of words; ``start`` as in :meth:`fit`."""
        self._estimate(*self._encode(pairs_of(source, target)), start)
        return self

    def fit_pairs(self, pairs: Iterable[SentencePair | WordPair]) -> Self:
        """Estimate the model from pairs given as words, which are read once and not kept."""
        self._estimate(*self._encode(pairs), start=None)
        return self

    def fit_align_sides(
        self,
        source: BitextSide,
        target: BitextSide,
        *,
        keep: bool = True,
        start: StatisticalAligner | None = None,
    ) -> SentenceAlignments:
        """Estimate the model and align the same text.

        ``source``, ``target``: Word numbers; if ``lowercase`` is set, the caller has lowercased the words already.
        Without ``keep`` the model is not there afterwards, which takes less time and memory. ``start``: As in
        :meth:`fit`.
        """
        if keep or start is not None:
            self._estimate(source, target, start)
            return self._decode(source, target)
        kind = METHODS[self.method]
        forward, reverse, agreed = kind.estimate_and_decode(source, target, self.options, self._agreement)
        return SentenceAlignments(source, target, forward, reverse, self.symmetrisation, agreed)

    def _estimate(self, source: BitextSide, target: BitextSide, start: StatisticalAligner | None) -> None:
        """Learn the model; ``start`` must be of the same method and compare words alike."""
        if start is not None and (start.method, start.lowercase) != (self.method, self.lowercase):
            raise ConfigurationError(
                f"start: got method {start.method!r} with lowercase={start.lowercase}, but this aligner has "
                f"{self.method!r} with lowercase={self.lowercase}; start from a model with the same settings"
            )
        start_model: Any = None
        if start is not None:
            start.require_languages(self.languages)
            start_model = start.trained()
        self.model = METHODS[self.method].estimate(source, target, self.options, start_model)

    @overload
    def align(self, bitext: Iterable[SentencePair]) -> Iterator[SentencePair]: ...

    @overload
    def align(self, bitext: Dataset, *, batch_size: int = 8192) -> Dataset: ...

    def align(
        self, bitext: Dataset | Iterable[SentencePair], *, batch_size: int = 8192
    ) -> Dataset | Iterator[SentencePair]:
        """Align pairs, or a BITEXT corpus, with the model as it is; ``batch_size`` bounds the memory of a corpus.

        Text of pairs is cut as the text of the model was.

        **Columns** read of a corpus: those of BITEXT, and ``source_words`` and ``target_words`` where it has them.
        Added: ``link_probabilities`` (posterior of each link) and ``alignment_score`` (see
        :class:`~isoglot.aligners.statistical.decoding.SentenceAlignments`).
        """
        if not is_corpus(bitext):
            return self.align_pairs(pair.cut(self._mode) for pair in bitext)
        from isoglot.aligners.words import add_links, bitext_languages  # noqa: PLC0415 - `datasets` is slow to import

        self.require_languages(bitext_languages(bitext))
        foreign_text, number = self.foreign_text(), 0

        def run(source: list[list[str]], target: list[list[str]]) -> dict[str, list[Any]]:
            nonlocal number
            usable_source, usable_target = usable_sides(zip(source, target, strict=True), number, _warn)
            number += len(source)
            foreign_text.look(usable_source, usable_target)
            result = self.tables(usable_source, usable_target)
            probability = result.links.probability
            values = [] if probability is None else probability.tolist()
            bounds = result.links.offsets.tolist()
            return {
                "links": result.links.lists(),
                "link_probabilities": [values[a:b] for a, b in pairwise(bounds)],
                "alignment_score": result.score.tolist(),
            }

        # Names the model and everything else that the links depend on: the same key may reuse a cached result.
        decoding = self.symmetrisation, self.threshold, self.lowercase
        key = f"{self.trained().digest()} {self.method} {decoding} {self.options} {self.words}"
        return add_links(bitext, run, batch_size=batch_size, key=key, mode=self._mode)

    def align_words(self, source: Sequence[str], target: Sequence[str]) -> SentencePair:
        """Link one sentence pair, given as words, with the model as it is."""
        return next(self.align_pairs([(source, target)]))

    def foreign_text(self) -> ForeignText:
        """Return an object that warns of text whose words are mostly unknown to the model."""
        return ForeignText(self.trained().word_sets, lowercase=self.lowercase)

    def align_pairs(
        self,
        pairs: Iterable[SentencePair | WordPair],
        *,
        window: int | None = None,
        foreign_text: ForeignText | None = None,
        warn: Callable[[int, str], None] | None = None,
        min_probability: float = 0.0,
        min_score: float = 0.0,
    ) -> Iterator[SentencePair]:
        """Link any number of pairs with words, in order, at most ``window`` of them in memory at a time.

        Pairs of other languages than the model's are refused.

        Args:
            pairs: Pairs of which the words are known.
            window: Pairs in memory; 8,192 by default.
            foreign_text: Counts unknown words, and warns of many; given where these pairs continue a text.
            warn: Called with the 1-based number of a pair that cannot be aligned and a message; by default logged.
            min_probability: Minimum probability of a link.
            min_score: Minimum score of a pair; other pairs get no links.
        """
        iterator, warn = map(require_words, pairs), warn or _warn
        foreign_text = foreign_text or self.foreign_text()
        first, checked_languages = 0, set[tuple[str, str]]()
        while chunk := list(islice(iterator, window or WINDOW)):
            for tags in {pair.languages for pair in chunk} - checked_languages:
                checked_languages.add(tags)
                self.require_languages(tags)
            source, target = usable_sides((pair.words for pair in chunk), first, warn)
            foreign_text.look(source, target)
            table = self.tables(source, target).links.above(min_probability)
            lengths = list(map(len, source)), list(map(len, target))
            yield from give_links(chunk, table, *lengths, min_score=min_score)
            first += len(chunk)

    def tables(self, source: Sentences, target: Sentences) -> SentenceAlignments:
        """Align lists of words with the model; returns both directions' links and the scores of pairs as arrays."""
        self.trained()
        return self._decode(*self._encode(pairs_of(source, target)))

    def save(self, path: str | Path, *, made_from: str | None = None) -> None:
        """Write the trained aligner into a folder, without loss; an aligner that is there is replaced.

        Args:
            path: The folder.
            made_from: Key of what the aligner was learned from, for the record.
        """
        self.trained().save(path, about={**self.settings, "made_from": made_from})

    @classmethod
    def load(cls, path: str | Path, *, any_language: bool = False, **changes: Any) -> Self:
        """Read an aligner that :meth:`save` wrote.

        Args:
            path: The folder.
            any_language: Align text of other languages than the aligner was trained on, which it otherwise refuses.
            **changes: Another ``symmetrisation`` or ``threshold``; None is the default of the method.

        Raises:
            InputError: no model there, or one of another format.
        """
        model, about = load_model(path)
        try:
            aligner = cls.of_settings(about, model)
        except (ConfigurationError, TypeError) as error:
            raise InputError(
                f"wrong settings of an alignment model ({error}); train it again",
                path=Path(path) / "model.json",
            ) from error
        if changes.get("threshold") is not None:
            symmetrisation = changes.get("symmetrisation", aligner.symmetrisation)
            require_agreement(symmetrisation or METHODS[aligner.method].symmetrisation, str(path))
        changes |= {"languages": ("", "")} if any_language else {}
        aligner = cls.of_settings({**about, **changes}, model) if changes else aligner
        aligner.name = str(path)
        return aligner

    def trained(self) -> TranslationModel:
        """The model that was learned.

        Raises:
            ConfigurationError: Nothing was learned yet.
        """
        if self.model is None:
            raise ConfigurationError(
                f"this {self.method} aligner must be trained first: aligner.fit(bitext), or load a saved one"
            )
        return self.model

    def require_languages(self, languages: Sequence[str]) -> None:
        """Refuse text of another language than the model's, where both are named.

        Raises:
            ConfigurationError: It was trained on other languages.
        """
        self._tags(languages)
        require_languages(self, languages)

    @staticmethod
    def _tags(languages: Sequence[str]) -> tuple[str, str]:
        """Check the tags of a source and a target language; a tag that stands for any language becomes empty."""
        if (
            not isinstance(languages, list | tuple)
            or len(languages) != 2
            or not all(isinstance(tag, str) for tag in languages)
        ):
            raise ConfigurationError(
                f"languages: two tags such as ('de', 'en') are needed, got {shortened(languages)}"
            )
        source, target = ("" if tag in UNNAMED else tag for tag in languages)
        return source, target

    @property
    def _mode(self) -> WordMode:
        return "unicode" if self.words == "unicode" else "whitespace"

    def _encode(self, pairs: Iterable[SentencePair | WordPair]) -> tuple[BitextSide, BitextSide]:
        return encode_pairs((pair.words for pair in map(require_words, pairs)), lowercase=self.lowercase)

    def _decode(self, source: BitextSide, target: BitextSide) -> SentenceAlignments:
        forward, reverse, agreed = self.trained().decode(source, target, self.options, self._agreement)
        return SentenceAlignments(source, target, forward, reverse, self.symmetrisation, agreed)

    @property
    def _agreement(self) -> float | None:
        """The threshold of agreement; None with another symmetrisation."""
        return self.threshold if self.symmetrisation == AGREEMENT else None
