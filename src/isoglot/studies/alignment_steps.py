"""Alignment error rates that a study measures: of statistical aligners, and of encoders at a chosen layer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar

from isoglot.errors import ConfigurationError
from isoglot.runs.reporter import Reporter
from isoglot.studies.calls import Input, Step, outside

if TYPE_CHECKING:
    from isoglot.align.embedding.layer_error import GoldPairs

__all__ = ["BestLinks", "StatisticalAlignment"]

Facts = Mapping[str, Any]
Options = dict[str, Any]
_MEASURED = ("aer", "precision", "recall", "f1")


class StatisticalAlignment(Step):
    """AER of a statistical aligner on gold links, trained on their sentences and on more bitext, in per cent.

    Args:
        gold: gold links with words.
        method: of alignment.
        train: more bitext: a recipe's source.
        reverse: Exchange the sides of ``train``, where the gold links' source is its target.
    """

    kind: ClassVar[str] = "analyse"
    gold: str
    method: str = "fast_align"
    train: Options | None = None
    reverse: bool = False

    def run(self, folder: Path, report: Reporter) -> Facts:
        """Train, align, score."""
        from isoglot.align.files.pairs import read_pairs  # noqa: PLC0415
        from isoglot.align.scoring import score  # noqa: PLC0415
        from isoglot.align.statistical.model import StatisticalAligner  # noqa: PLC0415
        from isoglot.corpus.read.sources import Source  # noqa: PLC0415

        found = _gold_pairs(self.gold)
        pairs = [(list(s), list(t)) for s, t in found.words]
        if self.train is not None:
            more = read_pairs([Source.model_validate(self.train)], mode="unicode", warn=lambda *_: None)
            sides = (1, 0) if self.reverse else (0, 1)
            pairs += [(list(pair.words[sides[0]]), list(pair.words[sides[1]])) for pair in more]
        links = (
            StatisticalAligner(self.method)
            .fit_align_words([s for s, _ in pairs], [t for _, t in pairs])
            .links
        )
        total = score(links.alignments()[: len(found.gold)], list(found.gold))
        return {"values": {name: 100 * getattr(total, name) for name in _MEASURED}}


class BestLinks(Step):
    """AER of an encoder on gold links, at the layer and by the method of its least mean AER on development links.

    Values: each test set's name, ``dev`` (the least mean) and ``layer``, in per cent; facts: ``method``, ``layer``.

    Args:
        checkpoint: The encoder.
        dev: Name -> gold links to choose by.
        test: Name -> gold links to measure on.
        methods: To choose from, of ``isoglot align``.
        layers: To choose from; by default all.
    """

    kind: ClassVar[str] = "analyse"
    checkpoint: str
    dev: dict[str, str]
    test: dict[str, str]
    methods: list[str]
    layers: list[int] | None = None

    def files(self) -> list[Input]:
        """The encoder and the gold links."""
        return outside([self.checkpoint, *self.dev.values(), *self.test.values()])

    def run(self, folder: Path, report: Reporter) -> Facts:
        """Choose, then measure."""
        from isoglot.align.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads the libraries
        from isoglot.align.embedding.layer_error import layer_error  # noqa: PLC0415
        from isoglot.align.embedding.options import EmbeddingOptions  # noqa: PLC0415

        dev = [_gold_pairs(path) for path in self.dev.values()]
        aligner = EmbeddingAligner(self.checkpoint)
        errors: dict[tuple[str, int], float] = {}
        for method in self.methods:
            aligner = aligner.with_options(EmbeddingOptions.build(method=method))
            report.note(f"{method}: {', '.join(self.dev)}")
            found = [layer_error(aligner, pairs, layers=self.layers) for pairs in dev]
            errors |= {
                (method, layer): fmean(100 * scores[layer].aer for scores in found) for layer in found[0]
            }
        method, layer = min(errors, key=errors.__getitem__)
        report.note(f"chosen: {method} at layer {layer}")
        aligner = aligner.with_options(EmbeddingOptions.build(method=method))
        values: dict[str, float] = {"dev": errors[method, layer], "layer": layer}
        for name, path in self.test.items():
            values[name] = 100 * layer_error(aligner, _gold_pairs(path), layers=[layer])[layer].aer
        tried = {f"{method} {layer}": error for (method, layer), error in errors.items()}
        return {"values": values, "method": method, "layer": layer, "tried": tried}


def _gold_pairs(path: str) -> GoldPairs:
    from isoglot.align.embedding.layer_error import GoldPairs  # noqa: PLC0415 - loads the libraries
    from isoglot.align.files.formats import read_links  # noqa: PLC0415

    found = read_links(path)
    if found.words is None:
        raise ConfigurationError(f"{path}: has no words; JSON lines with src and tgt are needed")
    return GoldPairs(found.words, found.gold)
