"""Steps before training: worlds, texts, tokenizers, derived languages, pairs, word links.

Steps that label translations are in ``projection_steps.py``.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from isoglot.aligners.load_aligner import aligner_request
from isoglot.aligners.options import AnyAligner, LinkFormat
from isoglot.core.checks import checked
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Count, PositiveShare
from isoglot.corpus.options import PrepareOptions
from isoglot.derivation.options import DeriveRequest
from isoglot.formats.sources import Source
from isoglot.runs.files import write_text
from isoglot.runs.reporter import Reporter
from isoglot.studies.step import Step
from isoglot.synthetic.options import WorldRequest


class MakeWorld(Step):
    """The miniature world, generated text and task data, with the options and files of ``isoglot world``."""

    doing: ClassVar[str] = "generating"
    options: WorldRequest

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Write the world's files."""
        from isoglot.synthetic.write_world import write_world  # noqa: PLC0415

        # The world is written to a new folder; the folder of the step is there already.
        world = folder / "world"
        write_world(world, self.options, progress=report)
        for path in world.iterdir():
            path.rename(folder / path.name)
        world.rmdir()
        return {}


class TextSource(Source):
    """A source as recipes name it, of text or of a treebank."""

    kind: Literal["text", "treebank"] = "text"
    language: str | None = "en"


class CollectText(Step):
    """Sentences of several sources in one file ``text.txt``, one per line, with a blank between two words.

    Args:
        sources: Files of text or treebanks.
        words: ``keep`` splits at white space; ``unicode`` also separates punctuation from words.
        drop_headings: Leave out WikiText's headings, such as `` = Early life = ``.
        min_words: Minimum number of words; shorter sentences are left out.
    """

    doing: ClassVar[str] = "collecting"
    sources: Annotated[list[TextSource], Field(min_length=1)]
    words: Literal["keep", "unicode"] = "keep"
    drop_headings: bool = False
    min_words: Count = 1

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Read, filter, write."""
        lines = 0
        with (folder / "text.txt").open("w", encoding="utf-8", newline="\n") as file:
            for source in self.sources:
                for text in self._texts(source):
                    file.write(f"{text}\n")
                    lines += 1
        if not lines:
            raise ConfigurationError("no line is left; give other sources, or lower min_words")
        return {"lines": lines}

    def _texts(self, source: TextSource) -> Iterator[str]:
        """Yield the sentences of a source that are kept."""
        from isoglot.formats.readers import read  # noqa: PLC0415
        from isoglot.formats.words import split_words  # noqa: PLC0415

        for row in read(source, kind=source.kind):
            # A row of a treebank has words, a row of text has none.
            words = list(row["words"]) if "words" in row else split_words(row["text"], mode="whitespace")
            if self.drop_headings and words[:1] == ["="] and words[-1:] == ["="]:
                continue
            if self.words == "unicode":
                words = split_words(" ".join(words))
            if len(words) >= self.min_words:
                yield " ".join(words)


class TrainTokenizer(Step):
    """A tokenizer trained on text files, with options of :class:`isoglot.corpus.encode.tokenizer.TokenizerOptions`."""

    doing: ClassVar[str] = "training"
    text: Annotated[list[str], Field(min_length=1)]  # files
    options: dict[str, Any]

    def check(self) -> Any:
        """Check the options, and return them."""
        from isoglot.corpus.encode.tokenizer import TokenizerOptions  # noqa: PLC0415 - loads the library

        return checked(TokenizerOptions, self.options)

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Train and save."""
        from isoglot.corpus.encode.tokenizer import train_tokenizer  # noqa: PLC0415 - loads the library

        tokenizer = train_tokenizer(_TextLines(self.text), self.check())
        tokenizer.save_pretrained(str(folder))
        return {"size": len(tokenizer)}


class Derive(Step):
    """Corpora and task data in one derived language, each as ``isoglot derive`` makes it.

    The inputs ``text`` and ``pos.dev`` become the folders ``xx/text`` and ``xx/pos.dev``, if ``xx`` is the language.
    Folders of text and treebanks hold ``original.txt``, ``derived.txt`` (words separated by blanks) and ``aligned``.

    A derivation with ``trans`` and a tokenizer gives each piece of the vocabulary a copy. The first input draws these
    copies and saves them in its folder ``tokenizer``; all other inputs take the same ones. The fact
    ``copied_vocabulary`` is the number of pieces that were copied.

    Args:
        inputs: Inputs by name, derived in this order. An input has a ``path`` and options of ``isoglot derive``:
            ``kind``, ``parses``, ``first_parse_only``, ``limit``. Its ``options`` and ``rows`` are laid over those of
            the step. Give the inputs in one order everywhere: steps that differ in the order alone share a folder.
        transform: Transformations in the order in which they are applied: ``trans+inv``.
        tokenizer: Tokenizer whose pieces ``trans`` copies; without one, ``trans`` changes letters.
        language: Code of the derived language.
        options: Options of the transformations, for every input.
        rows: Options of reading rows and moving labels, for every input.
    """

    doing: ClassVar[str] = "deriving"
    inputs: Annotated[dict[str, dict[str, Any]], Field(min_length=1)]
    transform: str
    tokenizer: str | None = None
    language: str
    options: dict[str, Any] = Field(default={})
    rows: dict[str, Any] = Field(default={})

    def check(self) -> Any:
        """Check the options of each input, and return them as those of ``isoglot derive``."""
        # Without the tokenizer: the check is of options, and the tokenizer may be a folder that no step has made yet.
        return [self._request(fields, None) for fields in self.inputs.values()]

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Derive every input."""
        from isoglot.derivation.derive_corpus import derive_corpus  # noqa: PLC0415
        from isoglot.derivation.vocabulary import VocabularyCopy  # noqa: PLC0415

        tokenizer = self.tokenizer
        for name, fields in self.inputs.items():
            out = folder / self.language / name
            summary = derive_corpus([fields["path"]], out, self._request(fields, tokenizer), progress=report)
            dropped = {reason: count for reason, count in summary.counts.items() if reason != "derived"}
            left_out = f" (left out: {dropped})" if dropped else ""
            report.note(f"{name}: {summary.rows:,} rows{left_out}")
            # The inputs after the first one take its copies of the vocabulary.
            if (out / "tokenizer").is_dir():
                tokenizer = str(out / "tokenizer")
        if tokenizer is None or "trans" not in self.transform:
            return {}
        return {"copied_vocabulary": VocabularyCopy.load(tokenizer).size}

    def _request(self, fields: dict[str, Any], tokenizer: str | None) -> DeriveRequest:
        """Return the options of ``isoglot derive`` for an input with these fields."""
        values = {
            "transform": self.transform,
            "languages": ("en",),
            "derived_language": self.language,
            "tokenizer": tokenizer,
            **fields,
            "options": {**self.options, **fields.get("options", {})},
            "rows": {**self.rows, **fields.get("rows", {})},
        }
        del values["path"]
        return checked(DeriveRequest, values)


class SamplePairs(Step):
    """A random share of the pairs of two parallel files, in ``pairs.tsv``.

    The pairs of a smaller share are among those of a larger one.
    """

    doing: ClassVar[str] = "drawing"
    source: str  # a file of lines
    target: str  # a file whose line i translates line i of `source`
    share: PositiveShare = 1.0

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Draw and write, in the files' order."""
        import torch  # noqa: PLC0415

        from isoglot.core.seeding import generator_for  # noqa: PLC0415

        sources, targets = list(_TextLines([self.source])), list(_TextLines([self.target]))
        if len(sources) != len(targets):
            raise ConfigurationError(
                f"{self.source} has {len(sources):,} lines and {self.target} {len(targets):,}; "
                "parallel files are needed"
            )
        # Every share takes the first pairs of the same random order, so that the shares contain each other.
        order = torch.randperm(len(sources), generator=generator_for(0, "pairs")).tolist()
        count = max(1, round(self.share * len(sources)))
        drawn = sorted(order[:count])
        text = "".join(f"{sources[i]}\t{targets[i]}\n" for i in drawn)
        (folder / "pairs.tsv").write_text(text, encoding="utf-8")
        return {"pairs": len(drawn)}


class Prepare(Step):
    """A prepared corpus in ``corpus``, as ``isoglot prepare`` makes it."""

    doing: ClassVar[str] = "preparing"
    source: Source
    options: PrepareOptions

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Prepare."""
        from isoglot.corpus.prepare import prepare  # noqa: PLC0415 - loads the libraries

        prepare(self.source, folder / "corpus", options=self.options)
        return {}


class Align(Step):
    """A bitext with word links in ``aligned``, as ``isoglot align --words unicode`` makes it.

    Example::

        lab.make("aligned de", Align, path="en-de.tsv", source={"target_language": "de"}, method="hmm")

    Args:
        path: Bitext.
        source: Further keys of the source, such as ``columns`` and ``source_language``.

    All other fields are options of the aligner, as :func:`isoglot.align` names them: ``method``, ``symmetrisation``.
    """

    model_config = ConfigDict(extra="allow")
    doing: ClassVar[str] = "aligning"
    path: str
    source: dict[str, Any]

    def check(self) -> tuple[Source, AnyAligner]:
        """Check the source and the options of the aligner, and return both."""
        aligner = aligner_request(**(self.model_extra or {}))
        source = checked(Source, {"path": self.path, **self.source})
        return source, aligner

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Align."""
        from isoglot.aligners.align_file import align_file  # noqa: PLC0415

        source, aligner = self.check()
        form = LinkFormat(words="unicode", output="corpus")
        return {"pairs": align_file([source], folder / "aligned", aligner, form, progress=report)}


class WriteGold(Step):
    """Gold links from aligned corpora whose links are right by construction, such as derived ones.

    The first pairs of the corpus named ``en-de`` become ``en-de.jsonl``; all their links are sure.
    """

    # Aligned corpora by the names of the files to write.
    corpora: Annotated[dict[str, str], Field(min_length=1)]
    limit: Count = 400  # pairs of each corpus

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Write a file for each corpus."""
        from isoglot.corpus.manifest import load_corpus  # noqa: PLC0415 - loads the library

        for name, path in self.corpora.items():
            aligned = load_corpus(path)
            if not len(aligned):
                raise ConfigurationError(f"{path} holds no sentence pair; name another corpus")
            rows = aligned.select(range(min(self.limit, len(aligned))))
            lines = []
            for number, row in enumerate(rows, 1):
                gold = {
                    "id": str(number),
                    "src": row["source_words"],
                    "tgt": row["target_words"],
                    "sure": sorted(row["links"]),
                    "possible": [],
                }
                lines.append(f"{json.dumps(gold, ensure_ascii=False)}\n")
            write_text(folder / f"{name}.jsonl", "".join(lines))
        return {}


class _TextLines:
    """The lines of text files, which are read again for each iteration."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths

    def __iter__(self) -> Iterator[str]:
        from isoglot.formats.line_files import numbered_lines  # noqa: PLC0415 - loads the libraries

        for path in self.paths:
            for _, line in numbered_lines(path):
                yield line
