"""Steps before training: worlds, texts, tokenizers, derived languages, pairs, word links, labels."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from isoglot.aligners.load_aligner import aligner_request
from isoglot.aligners.options import AnyAligner, LinkFormat
from isoglot.core.checks import checked
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Count, PositiveShare, Precision
from isoglot.corpus.options import PrepareOptions
from isoglot.derivation.options import DeriveRequest
from isoglot.formats.sources import Source
from isoglot.projection.options import ProjectOptions, project_options
from isoglot.runs.files import write_text
from isoglot.runs.reporter import Reporter
from isoglot.studies.step import Step
from isoglot.synthetic.options import WorldRequest

if TYPE_CHECKING:  # it loads the libraries
    from isoglot.evaluation.head import FinetunedModel


class MakeWorld(Step):
    """The miniature world; options and files are those of ``isoglot world``."""

    doing: ClassVar[str] = "generating"
    options: WorldRequest

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Write the world's files."""
        from isoglot.synthetic.write_world import write_world  # noqa: PLC0415

        write_world(folder / "world", self.options, progress=report)
        for path in (folder / "world").iterdir():
            path.rename(folder / path.name)
        (folder / "world").rmdir()
        return {}


class TextSource(Source):
    """A recipe's source of text, or of a treebank, whose words are joined."""

    kind: Literal["text", "treebank"] = "text"
    language: str | None = "en"


class CollectText(Step):
    """Sentences of several sources as one file ``text.txt``, one a line."""

    doing: ClassVar[str] = "collecting"
    sources: Annotated[list[TextSource], Field(min_length=1)]
    words: Literal["keep", "unicode"] = "keep"  # unicode: punctuation apart from words
    drop_headings: bool = False  # WikiText's ` = Heading = ` lines
    min_words: Count = 1  # shorter lines are left out

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
        from isoglot.formats.readers import read  # noqa: PLC0415
        from isoglot.formats.words import split_words  # noqa: PLC0415

        for row in read(source, kind=source.kind):
            words = list(row["words"]) if "words" in row else split_words(row["text"], mode="whitespace")
            if self.drop_headings and words[:1] == ["="] and words[-1:] == ["="]:
                continue
            if self.words == "unicode":
                words = split_words(" ".join(words))
            if len(words) >= self.min_words:
                yield " ".join(words)


class TrainTokenizer(Step):
    """A tokenizer trained on text files."""

    doing: ClassVar[str] = "training"
    text: Annotated[list[str], Field(min_length=1)]
    options: dict[str, Any]

    def check(self) -> Any:
        """The options."""
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

    Inputs are derived in their order, each into ``LANGUAGE/NAME/``. The first one draws the copy of the vocabulary that
    the others share (``LANGUAGE/FIRST/tokenizer``). Text and treebanks leave ``original.txt``, ``derived.txt`` (words
    separated by blanks) and ``aligned``. Fact ``copied_vocabulary``: V.

    An input has a ``path`` and keys of :class:`isoglot.derivation.options.DeriveRequest` (``kind``, ``parses``,
    ``first_parse_only``, ``limit``), with ``options`` and ``rows`` laid over those of all inputs.
    """

    doing: ClassVar[str] = "deriving"
    inputs: Annotated[dict[str, dict[str, Any]], Field(min_length=1)]
    transform: str
    tokenizer: str | None = None  # whose pieces trans copies; without one, letters change
    language: str
    options: dict[str, Any] = Field(default={})
    rows: dict[str, Any] = Field(default={})

    def check(self) -> Any:
        """The options of ``isoglot derive`` for each input."""
        return [self._request(fields, None) for fields in self.inputs.values()]

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Derive every input."""
        from isoglot.derivation.derive_corpus import derive_corpus  # noqa: PLC0415
        from isoglot.derivation.vocabulary import VocabularyCopy  # noqa: PLC0415

        tokenizer = self.tokenizer
        for name, fields in self.inputs.items():
            out = folder / self.language / name
            summary = derive_corpus([fields["path"]], out, self._request(fields, tokenizer), progress=report)
            dropped = {k: n for k, n in summary.counts.items() if k != "derived"}
            report.note(f"{name}: {summary.rows:,} rows" + (f" (left out: {dropped})" if dropped else ""))
            if (out / "tokenizer").is_dir():
                tokenizer = str(out / "tokenizer")
        if tokenizer is None or "trans" not in self.transform:
            return {}
        return {"copied_vocabulary": VocabularyCopy.load(tokenizer).size}

    def _request(self, fields: dict[str, Any], tokenizer: str | None) -> DeriveRequest:
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
    """A part of two parallel files of lines as ``pairs.tsv``; a smaller share is a part of a larger one."""

    doing: ClassVar[str] = "drawing"
    source: str
    target: str
    share: PositiveShare = 1.0

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Draw and write, in the files' order."""
        import torch  # noqa: PLC0415

        from isoglot.core.seeding import generator_for  # noqa: PLC0415

        sides = [list(_TextLines([path])) for path in (self.source, self.target)]
        if len(sides[0]) != len(sides[1]):
            raise ConfigurationError(
                f"{self.source} has {len(sides[0]):,} lines and {self.target} {len(sides[1]):,}; "
                "parallel files are needed"
            )
        pairs = list(zip(*sides, strict=True))
        order = torch.randperm(len(pairs), generator=generator_for(0, "pairs")).tolist()
        drawn = sorted(order[: max(1, round(self.share * len(pairs)))])
        text = "".join(f"{pairs[i][0]}\t{pairs[i][1]}\n" for i in drawn)
        (folder / "pairs.tsv").write_text(text, encoding="utf-8")
        return {"pairs": len(drawn)}


class Prepare(Step):
    """A corpus in ``corpus``, as ``isoglot prepare`` makes it."""

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

    All fields but these two are options of the aligner, under the names of :func:`isoglot.align`: ``method="hmm"``,
    ``symmetrisation="intersect"``.
    """

    model_config = ConfigDict(extra="allow")
    doing: ClassVar[str] = "aligning"
    path: str
    source: dict[str, Any]  # further keys of the source (`columns`, `source_language`, …)

    def check(self) -> tuple[Source, AnyAligner]:
        """The source, and the aligner."""
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
    """Gold links by construction: the first pairs of ALIGNED corpora as ``NAME.jsonl``, all links sure."""

    corpora: Annotated[dict[str, str], Field(min_length=1)]  # name of the file -> ALIGNED corpus
    limit: Count = 400

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Write a file each."""
        from isoglot.corpus.manifest import load_corpus  # noqa: PLC0415 - loads the library

        for name, path in self.corpora.items():
            aligned = load_corpus(path)
            if not len(aligned):
                raise ConfigurationError(f"{path} holds no sentence pair; name another corpus")
            rows = aligned.select(range(min(self.limit, len(aligned))))
            lines = [
                {"id": str(number), "src": row["source_words"], "tgt": row["target_words"],
                 "sure": sorted(row["links"]), "possible": []}
                for number, row in enumerate(rows, 1)
            ]  # fmt: skip
            text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
            write_text(folder / f"{name}.jsonl", text)
        return {}


class TagPairs(Step):
    """Sentence pairs drawn from a corpus, with the tags that a fine-tuned tagger gives the words of both sides.

    ``source.tsv`` and ``LANGUAGE.tsv`` hold words and tags, ``target.txt`` the translations as text.
    """

    checkpoint: str
    task: str
    corpus: str  # BITEXT, as `isoglot prepare` writes it
    language: str  # of the translations
    count: int
    seed: int
    precision: Precision

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Draw pairs, tag both sides, write."""
        import torch  # noqa: PLC0415 - loads the libraries

        from isoglot.core.seeding import generator_for  # noqa: PLC0415
        from isoglot.corpus.manifest import load_corpus  # noqa: PLC0415
        from isoglot.evaluation.head import FinetunedModel  # noqa: PLC0415
        from isoglot.evaluation.options import EvaluateOptions  # noqa: PLC0415
        from isoglot.tasks import build_task  # noqa: PLC0415
        from isoglot.tasks.cards import origin  # noqa: PLC0415

        pairs = load_corpus(self.corpus)
        order = torch.randperm(len(pairs), generator=generator_for(self.seed, "pairs", self.language))
        drawn = pairs.select(sorted(order[: self.count].tolist()))
        checkpoint, options = Path(self.checkpoint), EvaluateOptions(precision=self.precision)
        model = FinetunedModel(checkpoint, build_task(self.task, []), origin(checkpoint), options, report)
        write_text(folder / "source.tsv", _tagged(model, drawn["source"], "en"))
        write_text(folder / f"{self.language}.tsv", _tagged(model, drawn["target"], self.language))
        write_text(folder / "target.txt", "".join(f"{text}\n" for text in drawn["target"]))
        return {"pairs": len(drawn)}


def _tagged(model: "FinetunedModel", texts: Sequence[str], language: str) -> str:
    """The words of texts, each with its tag on a line."""
    from datasets import Dataset  # noqa: PLC0415 - loads the libraries

    from isoglot.formats.labelled.tags import UNLABELLED  # noqa: PLC0415
    from isoglot.formats.schema import TAGGED  # noqa: PLC0415
    from isoglot.formats.words import split_words  # noqa: PLC0415

    words = [split_words(text) for text in texts]
    rows = {"words": words, "tags": [[UNLABELLED] * len(sentence) for sentence in words]}
    dataset = Dataset.from_dict({**rows, "language": [language] * len(words)}, features=TAGGED)
    predictions = model.predict(dataset, progress=lambda done, total: None)
    pairs = (zip(sentence, tags, strict=True) for sentence, tags in zip(words, predictions, strict=True))
    return "\n".join("".join(f"{word}\t{tag}\n" for word, tag in pair) for pair in pairs)


class ProjectLabels(Step):
    """Labels carried to a translation in ``LANGUAGE.tsv`` (tags) or ``LANGUAGE.jsonl``, as `isoglot project` does."""

    labels: str
    translation: str
    language: str  # of the translation
    options: dict[str, Any] = {}  # noqa: RUF012 - of `isoglot project`; the model copies it

    def check(self) -> ProjectOptions:
        """The options of ``isoglot project``."""
        return project_options(self.labels, target_language=self.language, **self.options)

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Project."""
        from isoglot.projection.project import project  # noqa: PLC0415 - loads the libraries

        out = folder / f"{self.language}.{'jsonl' if self.check().kind == 'questions' else 'tsv'}"
        how = {"target_language": self.language, **self.options}
        counts = project(self.labels, self.translation, out, progress=report, **how)
        report.note(counts.summary())
        return {"projected": counts.summary()}


class _TextLines:
    """The lines of text files, read anew each time."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths

    def __iter__(self) -> Iterator[str]:
        from isoglot.formats.line_files import numbered_lines  # noqa: PLC0415 - loads the libraries

        return (line for path in self.paths for _, line in numbered_lines(path))
