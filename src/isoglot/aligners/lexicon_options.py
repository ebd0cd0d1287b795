"""Options for the lexicon of linked words that `isoglot align` writes."""

from pathlib import Path
from typing import Literal

from isoglot.core.options import Options, OutputFile, option

_WRITING = "How to write"

SUFFIXES = {
    "moses": (".f2e", ".e2f", ".counts.f2e", ".counts.e2f"),
    "marian": (".s2t", ".t2s"),
}
"""Formats that write several files, to what each file adds to the name that the user gives."""


class LexiconOptions(Options):
    """A lexicon that is written beside the links.

    ``lexicon_format``, ``min_count`` and ``term_length`` are None by default. So outputs that were made before these
    options existed have the same record as outputs made without them, and are recognised.
    """

    lexicon: OutputFile | None = option(
        None,
        "Write linked words with a probability of 0.05 or more to this file: source, target, probability; with an "
        "encoder also counts.",
        group=_WRITING,
    )
    lexicon_format: Literal["tsv", "moses", "marian", "csv"] | None = option(
        None,
        "moses: PATH.f2e, PATH.e2f and their counts; marian: shortlists PATH.s2t and PATH.t2s; csv: a glossary of "
        "content words and terms, the most frequent first. By default tsv.",
        only_with="lexicon",
        group=_WRITING,
    )
    min_count: int | None = option(
        None,
        "csv: leave out terms that were linked fewer times; by default 2.",
        only_with="lexicon_format=csv",
        group=_WRITING,
        ge=1,
    )
    term_length: int | None = option(
        None,
        "csv: maximum words of a term; by default 3.",
        only_with="lexicon_format=csv",
        group=_WRITING,
        ge=1,
    )

    @property
    def lexicon_files(self) -> tuple[Path, ...]:
        """The files that the lexicon is written to: one, or for Moses and Marian several."""
        if self.lexicon is None:
            return ()
        suffixes = SUFFIXES.get(self.lexicon_format or "tsv", ("",))
        return tuple(self.lexicon.with_name(self.lexicon.name + suffix) for suffix in suffixes)

    @property
    def counts_links(self) -> bool:
        """Whether a statistical model's lexicon must be counted from links.

        As TSV the model writes its own word probabilities. Not asked of an encoder, whose lexicon is always
        counted from links.
        """
        return self.lexicon is not None and self.lexicon_format not in (None, "tsv")
