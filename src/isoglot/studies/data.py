"""What a study can make before it trains: worlds, texts, tokenizers, derived languages, models of order, word links."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from isoglot.errors import ConfigurationError, InputError
from isoglot.recipe.source import did_you_mean
from isoglot.runs.reporter import Reporter

__all__ = ["MAKERS", "DataMaker", "build_maker"]

Facts = dict[str, Any]
_Share = Annotated[float, Field(gt=0, le=1)]


class DataMaker(BaseModel, ABC):
    """Something a study makes once, in a folder of its own; its fields are the entry's options.

    Write one of your own as a class with these two members and name it ``package.module:Name``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def write(self, folder: Path, report: Reporter) -> Facts:
        """Fill an empty folder.

        Returns:
            What ``<name.fact>`` may refer to.
        """


class WorldData(DataMaker):
    """``world``: the miniature world, as ``isoglot world`` writes it; same options and files."""

    model_config = ConfigDict(frozen=True, extra="allow")

    def write(self, folder: Path, report: Reporter) -> Facts:
        """Write the world's files."""
        from isoglot.synthetic.write_world import WorldRequest, write_world  # noqa: PLC0415

        options = dict(self.model_extra or {})
        try:
            request = WorldRequest(**options)
        except TypeError as error:
            raise ConfigurationError(
                f"make: world takes no such option ({error}); `isoglot world --help` shows them"
            ) from error
        summary = write_world(folder / "world", request, progress=report)
        for path in (folder / "world").iterdir():
            path.rename(folder / path.name)
        (folder / "world").rmdir()
        return {"rows": sum(summary.files.values())}


class TextData(DataMaker):
    """``text``: sentences of several sources as one file ``text.txt``, one a line.

    Args:
        sources: each a path with the keys of a recipe's source (``{path:, columns: {text: 0}}``), and of
            ``kind`` text (default) or treebank, whose words are joined by blanks.
        words: ``unicode`` cuts punctuation off words, so that a full stop is a word; ``keep``: as it is.
        drop_headings: leave out WikiText's `` = Heading = `` lines.
        min_words: shorter lines are left out.
        limit: take the first so many lines of each source.
    """

    sources: Annotated[list[dict[str, Any]], Field(min_length=1)]
    words: Literal["keep", "unicode"] = "keep"
    drop_headings: bool = False
    min_words: Annotated[int, Field(ge=1)] = 1
    limit: Annotated[int, Field(ge=1)] | None = None

    def write(self, folder: Path, report: Reporter) -> Facts:
        """Read, filter, write."""
        lines = 0
        with (folder / "text.txt").open("w", encoding="utf-8", newline="\n") as file:
            for source in self.sources:
                taken = 0
                for text in self._texts(source):
                    if self.limit is not None and taken >= self.limit:
                        break
                    file.write(f"{text}\n")
                    taken += 1
                lines += taken
                report.note(f"{source.get('path')}: {taken:,} lines")
        if not lines:
            raise ConfigurationError("make: text: no line is left; give other sources, or lower min_words")
        return {"lines": lines}

    def _texts(self, given: dict[str, Any]) -> Iterator[str]:
        from isoglot.corpus.encode.words import split_words  # noqa: PLC0415
        from isoglot.corpus.read.readers import read  # noqa: PLC0415
        from isoglot.corpus.read.sources import Source  # noqa: PLC0415

        kind = given.get("kind", "text")
        source = Source.model_validate({"language": "en", **{k: v for k, v in given.items() if k != "kind"}})
        for row in read(source, kind=kind):
            words = list(row["words"]) if "words" in row else row["text"].split()
            if self.drop_headings and words[:1] == ["="] and words[-1:] == ["="]:
                continue
            if self.words == "unicode":
                words = split_words(" ".join(words))
            if len(words) >= self.min_words:
                yield " ".join(words)


class TokenizerData(DataMaker):
    """``tokenizer``: trained on text files; the other keys are those of a recipe's ``tokenizer``.

    Fact ``size``: how many pieces it has.
    """

    model_config = ConfigDict(frozen=True, extra="allow")
    text: Annotated[list[str], Field(min_length=1)]

    def write(self, folder: Path, report: Reporter) -> Facts:
        """Train and save."""
        from isoglot.corpus.encode.tokenizer import TokenizerOptions, train_tokenizer  # noqa: PLC0415

        try:
            options = TokenizerOptions.model_validate(self.model_extra or {})
        except ValidationError as error:
            raise _mistakes("tokenizer", error, TokenizerOptions) from error

        tokenizer = train_tokenizer(_Lines(self.text), options)
        tokenizer.save_pretrained(str(folder))
        return {"size": len(tokenizer)}


class DeriveData(DataMaker):
    """``derive``: corpora and task data in one derived language, as ``isoglot derive`` makes each of them.

    ``INPUTS`` are derived in their order, each into ``<folder>/LANGUAGE/NAME/``: the first one draws the copy of the
    vocabulary that the others share (``<folder>/LANGUAGE/FIRST/tokenizer``). An input of text or of a treebank leaves
    ``original.txt`` and ``derived.txt``, words separated by blanks, and ``aligned``.

    Args:
        inputs: name -> ``{path:, kind:, parses:, split_sentences:, limit:}``.
        transform: ``trans+inv``.
        tokenizer: whose pieces trans copies; without one, letters change.
        source_language: of the inputs.
        language: tag of the derived language.
        options: of :class:`isoglot.derive.spec.TransformOptions` (``overlap``, ``syntax``, ``models``, ``rate``, …).
        labels: of :class:`isoglot.derive.rows.DeriverOptions` (``repair``, ``labels``).

    Facts: ``copied_vocabulary`` (V), ``rows``.
    """

    inputs: Annotated[dict[str, dict[str, Any]], Field(min_length=1)]
    transform: str
    tokenizer: str | None = None
    source_language: str = "en"
    language: str = "xx"
    options: dict[str, Any] = {}
    labels: dict[str, Any] = {}

    def write(self, folder: Path, report: Reporter) -> Facts:
        """Derive every input."""
        tokenizer, rows, size = self.tokenizer, 0, None
        for name, given in self.inputs.items():
            place = folder / self.language / name
            rows += self._derive(place, given, tokenizer, report)
            if (place / "tokenizer").is_dir():
                tokenizer = str(place / "tokenizer")
        if tokenizer is not None and "trans" in self.transform:
            from isoglot.derive.vocabulary import VocabularyCopy  # noqa: PLC0415

            size = VocabularyCopy.load(tokenizer).size
        return {"rows": rows} | ({} if size is None else {"copied_vocabulary": size})

    def _derive(self, place: Path, given: dict[str, Any], tokenizer: str | None, report: Reporter) -> int:
        from isoglot.derive.derive_corpus import DeriveRequest, derive_corpus  # noqa: PLC0415
        from isoglot.derive.rows import DeriverOptions  # noqa: PLC0415
        from isoglot.derive.spec import TransformOptions  # noqa: PLC0415

        known = ("path", "kind", "parses", "split_sentences", "limit")
        if wrong := sorted(set(given) - set(known)):
            raise ConfigurationError(
                f"make: derive: an input has no key {wrong[0]!r}; {did_you_mean(wrong[0], known)}"
            )
        try:
            request = DeriveRequest(
                transform=self.transform,
                kind=given.get("kind"),
                languages=(self.source_language,),
                derived_language=self.language,
                tokenizer=tokenizer,
                options=TransformOptions(**self.options),
                rows=DeriverOptions(split=bool(given.get("split_sentences", False)), **self.labels),
                parses=given.get("parses"),
                limit=given.get("limit"),
            )
        except TypeError as error:
            raise ConfigurationError(
                f"make: derive: {error}; `isoglot derive --help` shows the options"
            ) from error
        summary = derive_corpus([given["path"]], place, request, progress=report)
        dropped = {k: n for k, n in summary.counts.items() if k != "derived"}
        report.note(f"{place.name}: {summary.rows:,} rows" + (f" (left out: {dropped})" if dropped else ""))
        _sides(place)
        return summary.rows


class PairsData(DataMaker):
    """``pairs``: a part of two parallel files of lines as ``pairs.tsv`` (source, tab, target), drawn by a seed.

    Args:
        source: file of lines.
        target: its translation, line by line.
        share: of the pairs; the draw of a smaller share is part of that of a larger one.
        seed: of the draw.
    """

    source: str
    target: str
    share: _Share = 1.0
    seed: int = 0

    def write(self, folder: Path, report: Reporter) -> Facts:
        """Draw and write, in the files' order."""
        import torch  # noqa: PLC0415

        from isoglot.seeding import generator_for  # noqa: PLC0415

        sides = [list(_Lines([path])) for path in (self.source, self.target)]
        if len(sides[0]) != len(sides[1]):
            raise ConfigurationError(
                f"{self.source} has {len(sides[0]):,} lines and {self.target} {len(sides[1]):,}; "
                "parallel files are needed"
            )
        pairs = list(zip(*sides, strict=True))
        order = torch.randperm(len(pairs), generator=generator_for(self.seed, "pairs")).tolist()
        drawn = sorted(order[: max(1, round(self.share * len(pairs)))])
        text = "".join(f"{pairs[i][0]}\t{pairs[i][1]}\n" for i in drawn)
        (folder / "pairs.tsv").write_text(text, encoding="utf-8")
        return {"pairs": len(drawn)}


class OrderData(DataMaker):
    """``fit_order``: models of word order from treebanks, as ``isoglot fit-order`` fits them."""

    treebanks: Annotated[list[str], Field(min_length=1)]
    language: str
    l2: float = 1.0
    labels: Literal["ud2", "literal"] = "ud2"

    def write(self, folder: Path, report: Reporter) -> Facts:
        """Fit both models."""
        from isoglot.derive.fit_order import OrderFitRequest, fit_order_models  # noqa: PLC0415

        request = OrderFitRequest(self.language, l2=self.l2, labels=self.labels)
        for path, found in fit_order_models(self.treebanks, folder, request):
            report.note(f"{path.name}: {found.groups:,} groups")
        return {}


class AlignData(DataMaker):
    """``align``: a bitext with word links (``<name>/aligned``), as ``isoglot align`` makes it.

    Args:
        sources: as a recipe's sources.
        method: statistical, or with ``model`` an embedding method.
        model: encoder of an embedding method.
        words: how text is cut: ``unicode`` or ``whitespace``.
        symmetrisation: of the two directions.
        options: of the method.
    """

    sources: Annotated[list[dict[str, Any]], Field(min_length=1)]
    method: str = "fast_align"
    model: str | None = None
    words: Literal["unicode", "whitespace"] = "unicode"
    symmetrisation: str | None = None
    options: dict[str, Any] = {}

    def write(self, folder: Path, report: Reporter) -> Facts:
        """Align."""
        from isoglot.align.align_file import AlignRequest, align_file  # noqa: PLC0415
        from isoglot.corpus.read.sources import Source  # noqa: PLC0415

        request = AlignRequest(
            method=self.method, model=self.model, options=dict(self.options), words=self.words,
            symmetrisation=self.symmetrisation, output="corpus",
        )  # fmt: skip
        sources = [Source.model_validate(source) for source in self.sources]
        return {"pairs": align_file(sources, folder / "aligned", request, progress=report)}


MAKERS: dict[str, type[DataMaker]] = {
    "world": WorldData,
    "text": TextData,
    "tokenizer": TokenizerData,
    "derive": DeriveData,
    "pairs": PairsData,
    "fit_order": OrderData,
    "align": AlignData,
}
"""``make:`` -> what makes it."""


def build_maker(entry: dict[str, Any], *, place: str) -> DataMaker:
    """The maker of an entry of ``data``.

    Raises:
        ConfigurationError: no such maker, or options that it does not take.
    """
    name = str(entry.get("make"))
    options = {k: v for k, v in entry.items() if k != "make"}
    if ":" in name:
        module, _, attribute = name.partition(":")
        try:
            kind = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise ConfigurationError(f"{place}.make: {name!r} cannot be imported ({error})") from error
    elif name in MAKERS:
        kind = MAKERS[name]
    else:
        raise ConfigurationError(
            f"{place}.make: {name!r} given; {did_you_mean(name, MAKERS)} (or package.module:Name for your own)"
        )
    try:
        maker: DataMaker = kind.model_validate(options)
    except ValidationError as error:
        raise _mistakes(place, error, kind) from error
    return maker


def _mistakes(place: str, error: ValidationError, kind: type[BaseModel]) -> ConfigurationError:
    found = []
    for one in error.errors():
        key = ".".join(map(str, one["loc"]))
        hint = f"; {did_you_mean(key, kind.model_fields)}" if one["type"] == "extra_forbidden" else ""
        found.append(f"{place}.{key}: {one['msg']}{hint}")
    return ConfigurationError(found)


class _Lines:
    """The lines of text files, read anew each time.

    Raises:
        InputError: while reading, where one cannot be read.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths

    def __iter__(self) -> Iterator[str]:
        for path in self.paths:
            try:
                with Path(path).open(encoding="utf-8") as file:
                    yield from (line.rstrip("\n") for line in file)
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(f"cannot be read ({error}); name a text file in UTF-8", path=path) from error


def _sides(place: Path) -> None:
    """Both sides of a derived text or treebank as lines of words."""
    if (place / "derived.txt").exists() or not (place / "derived.conllu").exists():
        return
    from isoglot.corpus.manifest import load_corpus  # noqa: PLC0415

    corpus = load_corpus(place / "aligned")
    for column, name in (("source_words", "original.txt"), ("target_words", "derived.txt")):
        text = "".join(f"{' '.join(words)}\n" for words in corpus[column])
        (place / name).write_text(text, encoding="utf-8")
