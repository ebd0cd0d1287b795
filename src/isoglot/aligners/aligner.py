"""The protocol of aligners, and the settings with which a verb uses one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from isoglot.core.errors import ConfigurationError
from isoglot.core.languages import same_language
from isoglot.formats.sources import UNNAMED

if TYPE_CHECKING:
    from datasets import Dataset
    from typing_extensions import TypeIs

    from isoglot.aligners.pairs_in_files import Warn
    from isoglot.corpus.encode.unknown import OnUnknown
    from isoglot.formats.sentence_pair import SentencePair
    from isoglot.formats.words import WordMode
    from isoglot.runs.parts import Parts


@runtime_checkable
class Aligner(Protocol):
    """Sentence pairs in, the same pairs with word links out.

    A class of your own inherits from it, writes :meth:`align`, and sets what differs from the defaults below.

    Attributes:
        languages: Codes of the source and target language that the aligner can link; empty for any language.
        learns: Whether the aligner learns from the pairs that it links. Then it loops over them twice.
        values: What ``probabilities`` of a pair hold: probabilities, or similarities, which only order links.
        words: How text is cut into words for the aligner: ``unicode`` (running text) or ``whitespace`` (tokenised
            text); None if both suit it.

    Example:
        >>> from isoglot import SentencePair
        >>> class Diagonal(Aligner):
        ...     def align(self, pairs):
        ...         for pair in pairs:
        ...             pair.links = [(number, number) for number in range(min(map(len, pair.words)))]
        ...             yield pair
        >>> pair = SentencePair.of(["the", "house"], ["das", "Haus"])
        >>> [linked.to_pharaoh() for linked in Diagonal().align([pair])]
        ['0-0 1-1']
    """

    languages: tuple[str, str] = ("", "")
    learns: bool = False
    values: Literal["probabilities", "similarities"] = "probabilities"
    words: WordMode | None = None

    def align(self, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """Give each pair its links, in the order of the pairs; a pair without words on a side gets none."""
        ...


@dataclass(frozen=True, kw_only=True)
class Use:
    """Settings that a verb gives an aligner, beside the options of the user.

    How text is cut into words, the *word mode*, is decided by the first of these that names one:

    1. The user, with the option ``words``: ``word_mode``.
    2. A saved model, whose text was cut so (``whitespace`` if its record names no mode), or an aligner of the user's
       own: the attribute ``words`` of either.
    3. The verb: ``default_word_mode``.
    4. The kind of aligner: ``unicode`` for an encoder or a user's class; for an aligner that learns ``whitespace`` if
       all pairs come with words, else ``unicode``.
    """

    word_mode: WordMode | None = None
    """How text is cut into words, if the user says so."""
    default_word_mode: WordMode | None = None
    """How text is cut into words, if neither the user nor the aligner says so."""
    train_on_word_mode: WordMode | None = None
    """How the text of ``train_on`` is cut, if the verb has cut the pairs itself."""
    in_files: bool = False
    """Whether the verb reads files. Then text that suits an encoder badly is reported."""
    stays_in_memory: bool = False
    """Whether an encoder that is named stays in memory, where the next call finds it."""
    warn: Warn | None = None
    """Receives the number of a pair and what is wrong with it; by default it is logged."""
    unknown: OnUnknown | None = None
    """Receives words that an encoder's vocabulary does not know; by default one warning counts them."""
    needs_words: bool = True
    """Whether the verb uses the words of linked pairs. If not, a method that learns reads the pairs only once, to
    learn, and gives back pairs that have links and no words."""
    needs_probabilities: bool = True
    """Whether the verb uses the probabilities and the score of linked pairs. If not, a method that learns leaves both
    out, which saves time; the links that it keeps (``kept_links``) have them in any case."""
    unit_tokenizers: Sequence[str] = ()
    """Names of tokenizers whose pieces stand for single Chinese or Japanese characters in a lexicon of words."""
    piece_tokenizers: Sequence[str] = ()
    """Names of a translation model's tokenizers, whose pieces are linked and stand in a lexicon for Moses or Marian."""
    overwrite: bool = False
    """Whether to replace a model that was saved from another text or with other options."""
    kept_links: Parts | None = None
    """Store for the links of a method that has learned, so that a stopped run need not learn again."""


def is_corpus(value: object) -> TypeIs[Dataset]:
    """Whether a value is a data set and not pairs, tested without importing `datasets`, which is slow."""
    return hasattr(value, "column_names")


def name_of(aligner: Any) -> str:
    """Return the name of an aligner for messages: the folder that it was loaded from, else its class."""
    name = getattr(aligner, "name", None)
    return name if isinstance(name, str) else type(aligner).__name__


def require_languages(aligner: Aligner, languages: Sequence[str]) -> None:
    """Refuse text of other languages than the aligner's, where both are named.

    Raises:
        ConfigurationError: The aligner is for other languages.
    """
    for trained, tag in zip(aligner.languages, languages, strict=True):
        are_named = trained and tag and trained not in UNNAMED and tag not in UNNAMED
        if are_named and not same_language(trained, tag):
            own = "-".join(language or "?" for language in aligner.languages)
            other = "-".join(language or "?" for language in languages)
            raise ConfigurationError(
                f"{name_of(aligner)} was trained on {own}, and this text is {other}; train a model of these languages, "
                "or add [[any_language=True]] to use it all the same"
            )
