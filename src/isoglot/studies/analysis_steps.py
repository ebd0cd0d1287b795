"""Steps that analyse encoders and aligners: alignment scores, alignment error rates (AER), figures."""

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

_METRICS = ("aer", "precision", "recall", "f1")


class StatisticalAlignment(Step):
    """AER of a statistical aligner on gold links, in %.

    The aligner learns from the sentences of the gold links, and from more bitext if there is any.

    Args:
        gold: File of gold links.
        method: Statistical method, such as ``fast_align`` or ``hmm``.
        train: More bitext to learn from.
        reverse: Swap the sides of ``train``: for gold links from German to English and bitext from English to German.
    """

    kind: ClassVar[str] = "analyse"
    doing: ClassVar[str] = "measuring"
    gold: str
    method: str = "fast_align"
    train: Source | None = None
    reverse: bool = False

    def check(self) -> "StatisticalAligner":
        """Return the aligner; refuse a method that does not learn from bitext."""
        from isoglot.aligners.statistical.model import StatisticalAligner  # noqa: PLC0415 - loads the libraries

        return StatisticalAligner(self.method)

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Train, align, score."""
        from isoglot.aligners.gold import gold_pairs  # noqa: PLC0415 - loads the libraries
        from isoglot.aligners.pairs_in_files import read_pairs  # noqa: PLC0415
        from isoglot.aligners.scoring import score  # noqa: PLC0415
        from isoglot.corpus.open_corpus import open_corpus  # noqa: PLC0415

        # The words of all pairs: those with gold links come first.
        gold = gold_pairs(self.gold)
        sources: list[list[str]] = []
        targets: list[list[str]] = []
        for pair in gold:
            source, target = pair.words
            sources.append(list(source))
            targets.append(list(target))
        if self.train is not None:
            for more in read_pairs(open_corpus([self.train], "bitext"), mode="unicode"):
                first, second = more.words
                sources.append(list(second if self.reverse else first))
                targets.append(list(first if self.reverse else second))

        # Learn from all pairs, and score those with gold links.
        aligner = self.check().fit_words(sources, targets)
        alignments = aligner.tables(sources, targets).links.alignments()
        total = score(alignments[: len(gold)], gold)
        values = {name: getattr(total, name) for name in _METRICS}
        return {"values": values, "examples": dict.fromkeys(values, len(gold))}


class BestLinks(Step):
    """AER of an encoder on gold links, with the layer and the method that are best on development links.

    The best choice is the one with the least mean AER over the sets of development links.

    Values: ``dev`` (that mean, in %), ``layer``, and the AER on each test set by its name, in %. Facts: ``method`` and
    ``layer`` of the best choice, and ``tried``, the mean AER of every choice.
    """

    kind: ClassVar[str] = "analyse"
    doing: ClassVar[str] = "measuring"
    checkpoint: str
    dev: dict[str, str]  # files of gold links to choose by, by name
    test: dict[str, str]  # files of gold links to measure on, by name
    methods: list[str]

    def check(self) -> None:
        """Refuse methods that an embedding aligner does not have."""
        for method in self.methods:
            EmbeddingOptions.check(method=method)

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Choose, then measure."""
        from isoglot.aligners.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads the libraries
        from isoglot.aligners.embedding.score_layers import best_choice, layer_error  # noqa: PLC0415
        from isoglot.aligners.gold import gold_pairs  # noqa: PLC0415

        # Every method at every layer on the development links; the best choice is the first.
        tried = best_choice(
            self.checkpoint,
            {name: gold_pairs(path) for name, path in self.dev.items()},
            candidates=[{"method": method} for method in self.methods],
            progress=report.progress,
        )
        best = tried[0]
        method, layer = best.choice["method"], best.choice["layer"]
        report.note(f"chosen: {method} at layer {layer}")
        mean_errors = {f"{e.choice['method']} {e.choice['layer']}": e.aer for e in tried}

        # The best choice on the test links.
        values: dict[str, float] = {"dev": mean_errors[f"{method} {layer}"], "layer": layer}
        aligner = EmbeddingAligner(self.checkpoint, method=method, **MEASURED)
        examples = {}
        for name, path in self.test.items():
            gold = gold_pairs(path)
            values[name] = layer_error(aligner, gold, layers=[layer])[layer].aer
            examples[name] = len(gold)
        facts = {"method": method, "layer": layer, "tried": mean_errors}
        return {"values": values, "examples": examples, **facts}


class ScoreEmbeddings(Step):
    """ALIGN-MLM's alignment score of an encoder's word embeddings, in %."""

    kind: ClassVar[str] = "analyse"
    doing: ClassVar[str] = "measuring"
    checkpoint: str
    vocabulary: str  # folder of a tokenizer with the copies of its pieces, as Derive leaves it
    options: ScoreOptions = ScoreOptions()

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Measure."""
        from isoglot.analysis.checkpoint_score import checkpoint_alignment_score  # noqa: PLC0415

        scores = checkpoint_alignment_score(self.checkpoint, vocabulary=self.vocabulary, options=self.options)
        name = "alignment_score"
        return {"values": {name: scores.total.score}, "examples": {name: scores.total.asked_sources}}


class DrawFigure(Step):
    """A figure of checkpoints, drawn into ``figures`` as ``isoglot analyse`` draws it.

    Args:
        type: ``map`` draws frequent aligned words as points, ``layers`` the AER by layer, ``alignments`` sentence pairs
            with their links.
        name: Name of the figure.
        panels: Checkpoints by the titles of their panels.
        options: Options of the analysis, such as ``{"methods": ["argmax"], "gold": ["en-de.jsonl"]}``.
    """

    kind: ClassVar[str] = "figure"
    doing: ClassVar[str] = "drawing"
    type: Literal["map", "layers", "alignments"]
    name: str
    panels: dict[str, str]
    options: dict[str, Any]

    def check(self) -> tuple[Any, Any]:
        """Return the analysis that draws the figure, and its options."""
        from isoglot.analysis import analyse_links as links  # noqa: PLC0415 - loads the libraries
        from isoglot.analysis.analyse_map import analyse_map  # noqa: PLC0415

        analyses: dict[str, tuple[Any, Any]] = {
            "map": (analyse_map, MapRequest),
            "layers": (links.analyse_layers, LayersRequest),
            "alignments": (links.analyse_alignments, AlignmentsRequest),
        }
        draw, request_model = analyses[self.type]
        given = {**self.options, "name": self.name}
        return draw, validated(request_model, given, owner=f"figure {self.name}")

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Draw."""
        from isoglot.analysis.analyse import Job  # noqa: PLC0415 - loads the libraries

        draw, request = self.check()
        job = Job(list(self.panels.values()), out=folder, labels=list(self.panels), progress=report)
        return {"files": [path.name for path in draw(job, request)]}
