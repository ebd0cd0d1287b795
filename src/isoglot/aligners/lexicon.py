"""Lexicons counted from word links, in the formats of Moses and Marian and as a glossary for translators.

Moses and Marian call both directions by letters. Of a bitext `f` (source) to `e` (target) the files hold

    lex.f2e     target source p(target | source)      Marian: lex.s2t
    lex.e2f     source target p(source | target)      Marian: lex.t2s

Moses counts a word without a link as linked to `NULL`. Marian reads past such lines, so its files lack them, but the
probabilities of its files count them too.

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
from isoglot.aligners.phrases import LEAST, NULL, PairCounts, count_links, spaceless
from isoglot.aligners.pieces import as_pieces, load_bounds, load_cut
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import has_unspaced
from isoglot.runs.files import whole_file

TERM_LENGTH, MIN_COUNT = 3, 2


def with_lexicon(
    linked: Iterable[SentencePair],
    options: LexiconOptions,
    *,
    pieces: Sequence[str] = (),
    unit_pieces: Sequence[str] = (),
) -> Iterator[SentencePair]:
    """Pass pairs on, count the words that they link, and write the lexicon after the last pair.

    Args:
        linked: Pairs with links.
        options: Where the lexicon is written, and in which format.
        pieces: Tokenizers of the translation model, of one or both sides: a lexicon for Moses or Marian is then one of
            their pieces, as the links that are written beside it.
        unit_pieces: Tokenizers whose pieces stand for the single characters of running Chinese or Japanese in a
            lexicon of words; loaded where a text has some.
    """
    form = options.lexicon_format or "tsv"
    cuts = [load_cut(name) for name in pieces] if form in ("moses", "marian") else []
    words = PairCounts()
    glossary = Glossary(options.term_length or TERM_LENGTH) if form == "csv" else None
    bounds: list[PieceBounds] = []
    for pair in linked:
        unit = pair
        if cuts:
            unit = as_pieces(pair, cuts)
        elif unit_pieces and form in ("tsv", "csv") and any(map(has_unspaced, pair.texts)):
            bounds = bounds or [load_bounds(name) for name in unit_pieces]
            unit = with_units(pair, bounds[0], bounds[-1])
        if glossary is not None:
            glossary.add(unit)
        else:
            source, target = unit.words
            columns = spaceless if form != "tsv" else _columns
            count_links(words, columns(source), columns(target), unit.links, unlinked=form != "tsv")
        yield pair
    if options.lexicon is None:
        return
    if glossary is not None:
        glossary.write(options.lexicon, least=options.min_count or MIN_COUNT)
    elif form == "tsv":
        words.write(options.lexicon, minimum=LEAST)
    else:
        write_directions(words, options)


def _columns(words: Sequence[str]) -> list[str]:
    """Words as cells of TSV."""
    return [column(word) for word in words]


def write_directions(counts: PairCounts, options: LexiconOptions) -> None:
    """Write both directions as Moses or Marian reads them; a word's most frequent translation stands first."""
    forward, backward, *of_counts = options.lexicon_files
    named = options.lexicon_format == "moses"
    _write_direction(counts, forward, "source", null=named)
    _write_direction(counts, backward, "target", null=named)
    if of_counts:
        _write_direction(counts, of_counts[0], "source", null=named, numbers=True)
        _write_direction(counts, of_counts[1], "target", null=named, numbers=True)


def _write_direction(
    counts: PairCounts, path: Path, given: Literal["source", "target"], *, null: bool, numbers: bool = False
) -> None:
    """Write `generated given probability` lines; ``numbers``: the count and that of the given word instead."""
    with whole_file(path) as file:
        for source, target, count, total in counts.by_word(given):
            if not null and NULL in (source, target):
                continue
            words = (target, source) if given == "source" else (source, target)
            first, second = ("NULL" if word == NULL else word for word in words)
            values = f"{count} {total}" if numbers else f"{count / total:.7f}"
            file.write(f"{first} {second} {values}\n")
