"""``isoglot tune``: choose the layer and method of an encoder that link words best on development links.

``best_choice`` in ``embedding/score_layers.py`` tries them; here gold links are read, and the result is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.aligners.embedding.choice import ATTACHED, Choice, RatedChoice, keep_choice
from isoglot.aligners.gold import gold_pairs, require_usable, side_length
from isoglot.aligners.options import layer_numbers
from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError
from isoglot.core.frames import Tabular
from isoglot.formats.sentence_pair import SentencePair
from isoglot.runs.reporter import AnyReporter, reporter_of

if TYPE_CHECKING:
    import pandas as pd
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

GoldSet = str | Path | Sequence[SentencePair]
"""A file or folder of development links, or sentence pairs with gold links."""


@dataclass(frozen=True, repr=False)
class TuningResult(Tabular):
    """The choices that :func:`tune` tried, with their scores.

    Args:
        model: The encoder.
        table: Every method and layer with its mean alignment error rate (%) and its scores, the best first.
        density: Links per word that the best choice gave on each development set.
    """

    model: str | Path | PreTrainedModel
    table: list[RatedChoice]
    density: dict[str, float]

    def __repr__(self) -> str:
        choice = ", ".join(f"{name}={value!r}" for name, value in self.choice.items())
        return f"TuningResult(aer={self.best.aer:.2f}, {choice}, tried={len(self.table)})"

    def to_frame(self) -> pd.DataFrame:
        """Every choice with its mean alignment error rate in %, and that of each set, the best first."""
        import pandas as pd  # noqa: PLC0415 - only for those who want a frame

        rows = []
        for tried in self.table:
            aer_of_sets = {name: score.aer for name, score in tried.scores.items()}
            rows.append({**tried.choice, "aer": tried.aer, **aer_of_sets})
        return pd.DataFrame(rows)

    @property
    def best(self) -> RatedChoice:
        """The first row of the table."""
        return self.table[0]

    @property
    def choice(self) -> Choice:
        """The best options by name; ``isoglot.align(..., model=model, **choice)`` takes them."""
        return self.best.choice

    def keep(self) -> Path:
        """Write the choice into ``aligner.json`` beside the encoder's weights, where every aligner finds it."""
        if not isinstance(self.model, str | Path):
            raise ConfigurationError(
                "a model object has no folder to save the choice in; pass the choice on:  align(..., **found.choice)"
            )
        return keep_choice(self.model, self.choice, density=min(self.density.values()) or None)


def tune(
    model: str | Path | PreTrainedModel,
    gold: GoldSet | Sequence[GoldSet] | Mapping[str, GoldSet],
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
    layers: Sequence[int] | str | None = None,
    weights: Mapping[str, float] | None = None,
    progress: AnyReporter = True,
    **options: Any,
) -> TuningResult:
    """Choose an encoder's layer and method for word alignment.

    Tries argmax, itermax and softmax with several thresholds at each layer, and with the best of them whether unlinked
    words go with a neighbour (:func:`~isoglot.aligners.embedding.attach.attach`). Nothing is written until
    :meth:`TuningResult.keep`.

    Args:
        model: Folder or hub name of an encoder, or a loaded one.
        gold: Development links, one set or several (by name): a file of JSON lines with ``src``, ``tgt``, ``sure`` and
            ``possible``, a folder of ``isoglot align --format corpus``, whose first 500 pairs are taken, or
            :class:`~isoglot.formats.sentence_pair.SentencePair` objects with gold links.
        tokenizer: Tokenizer of a loaded encoder.
        layers: Numbers of the layers to try, as a list or text (``"6,7"``); by default all.
        weights: Weight of each set in the mean, by name; 1 by default.
        progress: Bars in notebooks and on terminals (``True``), or none; a function such as ``print`` gets lines.
        **options: Options of all methods that are tried, such as ``level="word"``.

    Raises:
        ConfigurationError: No set, a set given twice or without a sure link, a layer or an option that does not exist.

    Example:
        >>> from isoglot.testing import tiny_model, tiny_tokenizer
        >>> gold = [SentencePair.of(["the", "river"], ["ta", "potamo"], sure=[(0, 0), (1, 1)])]
        >>> found = tune(tiny_model("bert"), gold, tokenizer=tiny_tokenizer("bert"), layers=[1, 2])
        >>> found.choice["layer"] in (1, 2), found.best.aer == min(tried.aer for tried in found.table)
        (True, True)
    """
    sets = _named(gold)
    if unknown := [name for name in weights or {} if name not in sets]:
        raise ConfigurationError(
            f"weights: {unknown[0]!r} is not a set of gold links; there are {', '.join(sets)}"
        )
    for name, weight in (weights or {}).items():
        if not isinstance(weight, int | float) or not 0 < weight < float("inf"):
            raise ConfigurationError(f"weights: {name!r} must be a number above 0, got {weight!r}")
    if "with_best" in options:  # an argument of `best_choice`, not an option of aligners
        raise ConfigurationError(
            "with_best: this command tries links of neighbours with the best candidate itself; leave it out"
        )
    from isoglot.aligners.embedding.score_layers import best_choice  # noqa: PLC0415 - loads torch

    table = best_choice(
        model,
        sets,
        tokenizer=tokenizer,
        layers=layer_numbers(layers) if isinstance(layers, str) else layers,
        weights=weights,
        with_best=ATTACHED,
        progress=reporter_of(progress).progress,
        **options,
    )
    density = {}
    for name, score in table[0].scores.items():
        density[name] = score.links / max(1, side_length(sets[name]))
    return TuningResult(model, table, density)


def _named(gold: GoldSet | Sequence[GoldSet] | Mapping[str, GoldSet]) -> dict[str, Sequence[SentencePair]]:
    """Read each set of gold links, and name it: by its key, its path, or as ``gold 1``, ``gold 2`` in the order given.

    ``"dev.jsonl"`` becomes ``{"dev.jsonl": [pairs]}``, and a list of two lists of pairs ``{"gold 1": ..., "gold 2":
    ...}``.
    """
    named: list[tuple[str, Any]] = []
    if isinstance(gold, Mapping):
        named += gold.items()
    else:
        # One set, or several: a text is a path, and a sequence that begins with a pair is one set.
        several: list[Any] = [gold]
        if isinstance(gold, Iterable) and not isinstance(gold, str) and not _has_pairs(gold):
            several = list(gold)
        for number, one in enumerate(several, 1):
            named.append((str(one) if isinstance(one, str | Path) else f"gold {number}", one))
    if not named:
        raise ConfigurationError("no gold links; name a file of development links")
    require_different(one for _, one in named if isinstance(one, str | Path))
    sets: dict[str, Sequence[SentencePair]] = {}
    for name, one in named:
        if isinstance(one, str | Path):
            sets[name] = gold_pairs(one)
        elif _has_pairs(one):
            sets[name] = require_usable(one, name)
        else:
            raise ConfigurationError(
                f"gold: expected a file, a folder or sentence pairs, got {shortened(one)}"
            )
    return sets


def _has_pairs(gold: Any) -> bool:
    """Test whether a value is a sequence that begins with a sentence pair."""
    return isinstance(gold, Sequence) and len(gold) > 0 and isinstance(gold[0], SentencePair)


def require_different(files: Iterable[str | Path]) -> None:
    """Refuse a development set that is given twice, whose weight would not be clear."""
    seen = set[Path]()
    for file in files:
        path = Path(file).resolve()
        if path in seen:
            raise ConfigurationError(
                f"{file}: got this development set twice; give each set once, with its weight"
            )
        seen.add(path)
