"""Count lexicons from word links, in the formats of Moses and Marian and as a glossary for translators.

Moses and Marian name the directions by letters: `f` or `s` is the source, `e` or `t` the target. A line is

    lex.f2e     target source p(target | source)      Marian: lex.s2t
    lex.e2f     source target p(source | target)      Marian: lex.t2s

Moses counts a word without a link as linked to `NULL`. Marian skips such lines, so its files do not have them, but
they count in its probabilities too: the probabilities of a word that has a link in half of its occurrences add up to
about 0.5.

Source: moses/scripts/training/LexicalTranslationModel.pm; marian-dev/src/data/shortlist.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from isoglot.aligners.alignment import column
from isoglot.aligners.embedding.running_text import PieceBounds, with_units
from isoglot.aligners.glossary import Glossary
from isoglot.aligners.lexicon_options import LexiconOptions
from isoglot.aligners.phrases import MIN_PROBABILITY, NULL, PairCounts, count_links, spaceless
from isoglot.aligners.pieces import as_pieces, load_bounds, load_cut
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import has_unspaced
from isoglot.runs.files import whole_file

TERM_LENGTH, MIN_COUNT = 3, 2
"""Defaults of a glossary: maximum words of a side, and minimum count of an entry."""


def with_lexicon(
    linked: Iterable[SentencePair],
    options: LexiconOptions,
    *,
    piece_tokenizers: Sequence[str] = (),
    unit_tokenizers: Sequence[str] = (),
) -> Iterator[SentencePair]:
    """Pass pairs on unchanged, count the words that they link, and write the lexicon after the last pair.

    Args:
        linked: Pairs with links.
        options: File and format of the lexicon.
        piece_tokenizers: Names of the translation model's tokenizers, one for both sides or one for each. A lexicon for
            Moses or Marian is then one of their pieces, as the links that are written beside it are.
        unit_tokenizers: Names of tokenizers whose pieces take the place of the single characters of running Chinese or
            Japanese in a lexicon of words. They are loaded at the first text that has such characters.
    """
    form = options.lexicon_format or "tsv"
    cuts = [load_cut(name) for name in piece_tokenizers] if form in ("moses", "marian") else []
    word_counts = PairCounts()
    glossary = Glossary(options.term_length or TERM_LENGTH) if form == "csv" else None
    bounds: list[PieceBounds] = []
    for pair in linked:
        unit_pair = pair
        if cuts:
            unit_pair = as_pieces(pair, cuts)
        elif unit_tokenizers and form in ("tsv", "csv") and any(map(has_unspaced, pair.texts)):
            bounds = bounds or [load_bounds(name) for name in unit_tokenizers]
            unit_pair = with_units(pair, bounds[0], bounds[-1])
        if glossary is not None:
            glossary.add(unit_pair)
        elif form == "tsv":
            source, target = ([column(word) for word in side] for side in unit_pair.words)
            count_links(word_counts, source, target, unit_pair.links, unlinked=False)
        else:  # moses, marian: columns are separated by spaces, and words without a link count
            source, target = (spaceless(side) for side in unit_pair.words)
            count_links(word_counts, source, target, unit_pair.links, unlinked=True)
        yield pair
    if options.lexicon is None:
        return
    if glossary is not None:
        glossary.write(options.lexicon, min_count=options.min_count or MIN_COUNT)
    elif form == "tsv":
        word_counts.write(options.lexicon, minimum=MIN_PROBABILITY)
    else:
        write_directions(word_counts, options)


def write_directions(counts: PairCounts, options: LexiconOptions) -> None:
    """Write both directions as Moses or Marian reads them; a word's most frequent translation stands first."""
    forward, backward, *count_files = options.lexicon_files
    has_null = options.lexicon_format == "moses"
    _write_direction(counts, forward, "source", null=has_null)
    _write_direction(counts, backward, "target", null=has_null)
    if count_files:  # of Moses
        _write_direction(counts, count_files[0], "source", null=has_null, numbers=True)
        _write_direction(counts, count_files[1], "target", null=has_null, numbers=True)


def _write_direction(
    counts: PairCounts, path: Path, given: Literal["source", "target"], *, null: bool, numbers: bool = False
) -> None:
    """Write lines of a word, the ``given`` word, and the probability of the first given the second.

    ``null``: Also write words without a link, beside `NULL`. ``numbers``: Write the count of the pair and of the given
    word in place of the probability.
    """
    with whole_file(path) as file:
        for source, target, count, total in counts.by_word(given):
            if not null and NULL in (source, target):
                continue
            word, given_word = (target, source) if given == "source" else (source, target)
            values = f"{count} {total}" if numbers else f"{count / total:.7f}"
            file.write(f"{_moses_word(word)} {_moses_word(given_word)} {values}\n")


def _moses_word(word: str) -> str:
    """Return a word as Moses writes it; the partner of a word without a link is `NULL`."""
    return "NULL" if word == NULL else word
