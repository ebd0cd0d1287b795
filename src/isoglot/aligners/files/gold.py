"""Sentence pairs with the links that an aligner is measured against."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoglot.aligners.files.formats import read_links
from isoglot.aligners.scoring import GoldAlignment, require_sure
from isoglot.checks import shortened
from isoglot.corpus.labelled.splits import split_column
from isoglot.corpus.labelled.tables import in_languages
from isoglot.corpus.manifest import load_corpus
from isoglot.corpus.sentence_pair import require_words
from isoglot.errors import ConfigurationError
from isoglot.schema import ALIGNED, require


@dataclass(frozen=True)
class GoldPairs:
    """Sentence pairs with gold links.

    Raises:
        ConfigurationError: Not one gold alignment per pair.
    """

    words: Sequence[tuple[Sequence[str], Sequence[str]]]
    gold: Sequence[GoldAlignment]
    ids: Sequence[str] = ()
    splits: Sequence[Any] | None = None
    """What each pair's row calls its split, where rows do."""

    def __post_init__(self) -> None:
        if len(self.words) != len(self.gold):
            raise ConfigurationError(
                f"got {len(self.words)} sentence pairs but {len(self.gold)} gold alignments; give one per pair"
            )

    @property
    def size(self) -> float:
        """Words of a side, the mean of both sides' sums."""
        return sum(len(source) + len(target) for source, target in self.words) / 2


def require_usable(pairs: GoldPairs, name: str) -> GoldPairs:
    """Refuse pairs in memory that nothing can be measured against: no sure link, links of words that are not there.

    Raises:
        ConfigurationError: with the number of the first such pair, from 1.
    """
    for number, (words, own) in enumerate(zip(pairs.words, pairs.gold, strict=True), 1):
        if not isinstance(own, GoldAlignment):
            raise ConfigurationError(
                f"{name}: pair {number}: expected GoldAlignment.of(LINKS), got {shortened(own)}"
            )
        source, target = map(len, require_words(words).words)
        if outside := own.outside(source, target):
            raise ConfigurationError(
                f"{name}: pair {number} has the link {outside}, counted from 0, but {source} and {target} words"
            )
    require_sure(any(own.sure for own in pairs.gold), name)
    return pairs


def gold_pairs(
    path: str | Path,
    *,
    limit: int | None = 500,
    sure: bool = True,
    languages: tuple[str, str] | None = None,
    **reading: Any,
) -> GoldPairs:
    """Sentence pairs and links to measure an aligner by.

    They are JSON lines with ``src``, ``tgt``, ``sure`` and ``possible``, read as ``name`` and ``base`` say; or the
    first ``limit`` pairs of a folder of ``isoglot align --format corpus``, whose links then count as ``sure`` ones;
    with ``languages`` of those from the one to the other.
    """
    if Path(path).is_dir():
        if given := sorted(name for name, value in reading.items() if value is not None):
            raise ConfigurationError(
                f"{path} is a folder, which is read without {' or '.join(given)}; leave it out"
            )
        return _of_corpus(path, limit, languages)
    found = read_links(path, **reading)
    if found.words is None:
        raise ConfigurationError(
            f"{path}: has no words to align; use JSON lines with src and tgt, sure and possible"
        )
    if sure:
        require_sure(any(own.sure for own in found.gold), path)
    return GoldPairs(found.words, found.gold, found.ids or (), found.splits)


def _of_corpus(path: str | Path, limit: int | None, languages: tuple[str, str] | None) -> GoldPairs:
    corpus = require(load_corpus(path), ALIGNED, role=str(path))
    if languages is not None:
        corpus = in_languages(corpus, *languages, str(path))
    rows = corpus.select(range(len(corpus) if limit is None else min(limit, len(corpus))))
    words = list(zip(rows["source_words"], rows["target_words"], strict=True))
    gold = [GoldAlignment.of(links, []) for links in rows["links"]]
    require_sure(any(own.sure for own in gold), path)
    column = split_column(rows)
    return GoldPairs(words, gold, splits=None if column is None else list(rows[column]))
