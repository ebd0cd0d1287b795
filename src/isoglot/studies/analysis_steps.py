"""Analyses that a study makes of encoders and aligners: alignment scores, alignment error rates, figures."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from isoglot.aligners.embedding.options import MEASURED, EmbeddingOptions
from isoglot.analysis.options import AlignmentsRequest, LayersRequest, MapRequest, ScoreOptions
from isoglot.core.checks import validated
from isoglot.formats.sources import Source
from isoglot.runs.reporter import Reporter
from isoglot.studies.step import Step

if TYPE_CHECKING:  # it loads the libraries
    from isoglot.aligners.statistical.model import StatisticalAligner

_MEASURED = ("aer", "precision", "recall", "f1")


class StatisticalAlignment(Step):
    """AER of a statistical aligner on gold links, trained on their sentences and on more bitext, in %."""

    kind: ClassVar[str] = "analyse"
    doing: ClassVar[str] = "measuring"
    gold: str
    method: str = "fast_align"
    train: Source | None = None  # more bitext
    reverse: bool = False  # Exchange the sides of `train`, where the gold links' source is its target

    def check(self) -> "StatisticalAligner":
        """The aligner, of a method that learns from bitext."""
        from isoglot.aligners.statistical.model import StatisticalAligner  # noqa: PLC0415 - loads the libraries

        return StatisticalAligner(self.method)

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Train, align, score."""
        from isoglot.aligners.gold import gold_pairs  # noqa: PLC0415 - loads the libraries
        from isoglot.aligners.pairs_in_files import read_pairs  # noqa: PLC0415
        from isoglot.aligners.scoring import score  # noqa: PLC0415
        from isoglot.corpus.open_corpus import open_corpus  # noqa: PLC0415

        gold = gold_pairs(self.gold)
        pairs: list[Any] = [tuple(map(list, pair.words)) for pair in gold]
        if self.train is not None:
            more = read_pairs(open_corpus([self.train], "bitext"), mode="unicode")
            turn = -1 if self.reverse else 1
            pairs += [tuple(list(words) for words in pair.words[::turn]) for pair in more]
        sources, targets = map(list, zip(*pairs, strict=True))
        links = self.check().fit_words(sources, targets).tables(sources, targets).links
        total = score(links.alignments()[: len(gold)], gold)
        values = {name: getattr(total, name) for name in _MEASURED}
        return {"values": values, "examples": dict.fromkeys(values, len(gold))}


class BestLinks(Step):
    """AER of an encoder on gold links, at the layer and by the method of its least mean AER on development links.

    Values: each test set's name, ``dev`` (the least mean) and ``layer``, in %; facts: ``method``, ``layer``.
    """

    kind: ClassVar[str] = "analyse"
    doing: ClassVar[str] = "measuring"
    checkpoint: str
    dev: dict[str, str]  # Name -> gold links to choose by
    test: dict[str, str]  # Name -> gold links to measure on
    methods: list[str]

    def check(self) -> None:
        """Refuse methods that an embedding aligner does not have."""
        for method in self.methods:
            EmbeddingOptions.check(method=method)

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Choose, then measure."""
        from isoglot.aligners.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads the libraries
        from isoglot.aligners.embedding.layer_error import best_choice, layer_error  # noqa: PLC0415
        from isoglot.aligners.gold import gold_pairs  # noqa: PLC0415

        tried = best_choice(
            self.checkpoint,
            {name: gold_pairs(path) for name, path in self.dev.items()},
            candidates=[{"method": method} for method in self.methods],
            progress=report.progress,
        )
        method, layer = tried[0].choice["method"], tried[0].choice["layer"]
        report.note(f"chosen: {method} at layer {layer}")
        means = {(error.choice["method"], error.choice["layer"]): error.aer for error in tried}
        values: dict[str, float] = {"dev": means[method, layer], "layer": layer}
        aligner = EmbeddingAligner(self.checkpoint, method=method, **MEASURED)
        examples = {}
        for name, path in self.test.items():
            gold = gold_pairs(path)
            values[name] = layer_error(aligner, gold, layers=[layer])[layer].aer
            examples[name] = len(gold)
        each = {f"{method} {layer}": error for (method, layer), error in means.items()}
        return {"values": values, "examples": examples, "method": method, "layer": layer, "tried": each}


class ScoreEmbeddings(Step):
    """ALIGN-MLM's alignment score of an encoder, in %."""

    kind: ClassVar[str] = "analyse"
    doing: ClassVar[str] = "measuring"
    checkpoint: str
    vocabulary: str
    options: ScoreOptions = ScoreOptions()

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Measure."""
        from isoglot.analysis.checkpoint_score import checkpoint_alignment_score  # noqa: PLC0415

        scores = checkpoint_alignment_score(self.checkpoint, vocabulary=self.vocabulary, options=self.options)
        name = "alignment_score"
        return {"values": {name: scores.total.score}, "examples": {name: scores.total.tokens}}


class DrawFigure(Step):
    """A figure drawn from checkpoints as ``isoglot analyse`` draws it, into ``figures``.

    A ``map`` of frequent aligned words, links by ``layers``, or ``alignments`` to look at.
    """

    kind: ClassVar[str] = "figure"
    doing: ClassVar[str] = "drawing"
    type: Literal["map", "layers", "alignments"]
    name: str
    panels: dict[str, str]
    options: dict[str, Any]

    def check(self) -> tuple[Any, Any]:
        """The analysis that draws, and its options."""
        from isoglot.analysis import analyse_links as links  # noqa: PLC0415 - loads the libraries
        from isoglot.analysis.analyse_map import analyse_map  # noqa: PLC0415

        kinds: dict[str, tuple[Any, Any]] = {
            "map": (analyse_map, MapRequest),
            "layers": (links.analyse_layers, LayersRequest),
            "alignments": (links.analyse_alignments, AlignmentsRequest),
        }
        draw, request = kinds[self.type]
        return draw, validated(request, {**self.options, "name": self.name}, owner=f"figure {self.name}")

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Draw."""
        from isoglot.analysis.analyse import Job  # noqa: PLC0415 - loads the libraries

        draw, request = self.check()
        job = Job(list(self.panels.values()), out=folder, labels=list(self.panels), progress=report)
        return {"files": [path.name for path in draw(job, request)]}
