"""Sentence pairs with the links that an aligner is measured against."""

from collections.abc import Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError
from isoglot.corpus.labelled_tables import in_languages
from isoglot.corpus.manifest import load_corpus
from isoglot.formats.labelled.splits import split_column
from isoglot.formats.link_files import read_links
from isoglot.formats.links import link_outside
from isoglot.formats.schema import ALIGNED, require
from isoglot.formats.sentence_pair import SentencePair, require_words
from isoglot.results.link_counts import require_sure


def side_length(pairs: Sequence[SentencePair]) -> float:
    """Return the number of words of all pairs, halved: the mean of source words and target words."""
    return sum(len(pair.words[0]) + len(pair.words[1]) for pair in pairs) / 2


def require_usable(pairs: Sequence[SentencePair], name: str) -> Sequence[SentencePair]:
    """Refuse pairs in memory that nothing can be measured against: no sure link, links of words that are not there.

    Raises:
        ConfigurationError: with the number of the first such pair, from 1.
    """
    for number, pair in enumerate(pairs, 1):
        if not isinstance(pair, SentencePair) or pair.sure is None:
            raise ConfigurationError(
                f"{name}: pair {number}: expected SentencePair.of(SOURCE, TARGET, sure=LINKS), got {shortened(pair)}"
            )
        source, target = map(len, require_words(pair.words).words)
        if outside := link_outside(pair.possible, source, target):
            raise ConfigurationError(
                f"{name}: pair {number} has the link {outside}, counted from 0, but {source} and {target} words"
            )
    require_sure(any(pair.sure for pair in pairs), name)
    return pairs


def gold_pairs(
    path: str | Path,
    *,
    limit: int | None = 500,
    sure: bool = True,
    languages: tuple[str, str] | None = None,
    **reading: Any,
) -> list[SentencePair]:
    """Read sentence pairs with gold links, by which an aligner is measured.

    Args:
        path: JSON lines with ``src``, ``tgt``, ``sure`` and ``possible``; or a folder that ``isoglot align --format
            corpus`` wrote, whose links count as sure ones.
        limit: Maximum number of pairs of a folder.
        sure: Refuse a file or folder without a sure link.
        languages: Only the pairs of a folder from the first to the second of these languages.
        **reading: ``name`` of the format and ``base`` of a file.
    """
    if Path(path).is_dir():
        if set_options := sorted(name for name, value in reading.items() if value is not None):
            raise ConfigurationError(
                f"{path} is a folder, which is read without {' or '.join(set_options)}; leave it out"
            )
        corpus = require(load_corpus(path), ALIGNED, role=str(path))
        if languages is not None:
            corpus = in_languages(corpus, *languages, str(path))
        rows = corpus.select(range(len(corpus) if limit is None else min(limit, len(corpus))))
        # The split of each row (train, dev, test), if the corpus has such a column, goes along with its pair.
        split = split_column(rows)
        more = repeat({}) if split is None else ({split: name} for name in rows[split])
        columns = zip(rows["source_words"], rows["target_words"], rows["links"], more, strict=False)
        pairs = [
            SentencePair.of(source, target, sure=links, id=str(number), more=named)
            for number, (source, target, links, named) in enumerate(columns, 1)
        ]
    else:
        pairs = read_links(path, **reading)
        for number, pair in enumerate(pairs, 1):
            if not pair.has_words:
                raise ConfigurationError(
                    f"{path}: has no words to align; use JSON lines with src and tgt, sure and possible"
                )
            pair.id = str(number) if pair.id is None else pair.id
    if sure:
        require_sure(any(pair.sure for pair in pairs), path)
    return pairs
