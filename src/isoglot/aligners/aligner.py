"""What an aligner is, and how a verb uses one."""

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
        languages: Codes of the source and target language that it can link; empty where it can link any.
        learns: Whether it learns from the pairs that it links. Then it loops over them twice.
        values: What ``probabilities`` of a pair hold: probabilities, or similarities, which only order links.
        words: How text is cut into words for it: ``unicode`` (running text) or ``whitespace`` (tokenised text);
            None if both suit it.

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
    """How a verb uses an aligner, beside the options that a user gives."""

    words: WordMode | None = None
    """How text is cut into words, if the user says it."""
    default_words: WordMode | None = None
    """How text is cut into words, if neither the user nor a saved model says it."""
    train_on_words: WordMode | None = None
    """How the text of ``train_on`` is cut, if the verb has cut the pairs itself."""
    in_files: bool = False
    """The verb reads files: text that suits an encoder badly is reported."""
    is_kept: bool = False
    """An encoder with a name stays in memory, where the next call finds it."""
    warn: Warn | None = None
    """Receives what is wrong with a pair, by its number; by default it is logged."""
    unknown: OnUnknown | None = None
    """Receives words that an encoder's vocabulary does not know; by default one warning counts them."""
    links_alone: bool = False
    """Only links are needed of the pairs, so a method that learns need not read their words a second time."""
    lexicon_pieces: Sequence[str] = ()
    """Tokenizers whose pieces stand for single Chinese or Japanese characters in a lexicon of words."""
    pieces: Sequence[str] = ()
    """Tokenizers of a translation model, if its pieces are linked: a lexicon for Moses or Marian is one of pieces."""
    overwrite: bool = False
    """Replace a model that was saved from another text or with other options."""
    parts: Parts | None = None
    """Keeps the links of a method that has learned, until they are written."""


def is_corpus(value: object) -> TypeIs[Dataset]:
    """Whether a value is a data set, and no pairs; found out without `datasets`, which is slow to import."""
    return hasattr(value, "column_names")


def name_of(aligner: Any) -> str:
    """What messages call an aligner: the folder it was loaded from, else its class."""
    name = getattr(aligner, "name", None)
    return name if isinstance(name, str) else type(aligner).__name__


def require_languages(aligner: Aligner, languages: Sequence[str]) -> None:
    """Refuse text of other languages than the aligner's, where both are named.

    Raises:
        ConfigurationError: The aligner is for other languages.
    """
    trained, text = (
        tuple("" if tag in UNNAMED else tag for tag in tags) for tags in (aligner.languages, languages)
    )
    pairs = zip(trained, text, strict=True)
    if not all(not own or not tag or same_language(own, tag) for own, tag in pairs):
        own, other = ("-".join(tag or "?" for tag in tags) for tags in (aligner.languages, languages))
        raise ConfigurationError(
            f"{name_of(aligner)} was trained on {own}, and this text is {other}; train a model of these languages, or "
            "add [[any_language=True]] to use it all the same"
        )
