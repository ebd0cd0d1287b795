"""``isoglot inspect``: the training instances of a recipe as a person can read them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor
from transformers import PreTrainedTokenizerBase

from isoglot.core.errors import ConfigurationError
from isoglot.modules.load import longest_input
from isoglot.pretraining.build import batch_options, build_mixture, build_views, require_columns
from isoglot.pretraining.check import load_recipe
from isoglot.pretraining.recipe import Recipe
from isoglot.pretraining.streams import encoded, prepared, tokenizer_of_run
from isoglot.runs.cache import cache_folder
from isoglot.runs.reporter import AnyReporter, reporter_of
from isoglot.training.collate import Collator
from isoglot.views.base import IGNORE_INDEX


@dataclass(frozen=True)
class DescribedRow:
    """One piece of an encoder input; a value that the view does not make is ``None``."""

    input: str  # empty, or "query" or "key" for a view with two inputs
    position: int  # of the piece in the input, from 0 on
    piece: str  # the text's piece
    input_piece: str  # the piece that the encoder sees: `[MASK]`, say, for a masked one
    label: str | None  # the piece to predict
    position_id: int | None  # the number that the encoder gets as the position of the piece
    segment_id: int | None
    language_id: int | None
    side: int | None  # 1 for source, 2 for target, 0 for neither
    document: int | None  # number of the document in a packed block
    attended: bool
    links: tuple[int, ...]  # positions in the input of the linked pieces; with two inputs, in the other input

    @property
    def masked(self) -> bool:
        """Whether the piece is predicted, also where the encoder sees it unchanged."""
        return self.label is not None


@dataclass(frozen=True)
class InspectedInstance:
    """The input that one view makes of the example at one position of the run."""

    view: str
    type: str
    stream: str
    position: int  # of the run: the first example of a stream is at position 0
    coin: bool  # decides which side of a pair comes first, in views that draw the order
    rows: tuple[DescribedRow, ...]

    @property
    def masked(self) -> int:
        """Number of pieces to predict."""
        return sum(row.masked for row in self.rows)


def inspect_recipe(
    recipe: Recipe | str | Path | Mapping[str, Any],
    *,
    positions: int = 2,
    start: int = 0,
    progress: AnyReporter = True,
    cache: str | Path | None = None,
) -> list[InspectedInstance]:
    """Make the first instances of a run, one for each view and position, exactly as training on one device sees them.

    A run on several devices has other examples at the same positions: examples are sorted by length in windows, and the
    size of a window grows with the number of devices.

    Args:
        recipe: A recipe from :func:`isoglot.pretraining.check.load_recipe`, or a source that the function takes.
        positions: Number of positions.
        start: First position.
        progress: Bars in notebooks and on terminals (``True``), or none; a function such as ``print`` gets lines.
        cache: Folder of prepared corpora and streams, as in :func:`isoglot.pretrain`.
    """
    if not isinstance(recipe, Recipe):
        recipe = load_recipe(recipe)
    report, folder = reporter_of(progress), cache_folder() if cache is None else Path(cache)
    corpora = prepared(recipe, folder, report)
    tokenizer = tokenizer_of_run(recipe, corpora, folder, report)
    config = recipe.model.config(tokenizer)
    views = build_views(recipe, tokenizer, corpora, longest=None if config is None else longest_input(config))
    streams = encoded(recipe, corpora, tokenizer, folder, report)
    require_columns(views, streams)
    micro_batches = int(recipe.train.get("gradient_accumulation_steps", 1))
    mixture = build_mixture(
        recipe, streams, batch_options(recipe, views, streams), batches_per_step=micro_batches
    )
    collate = Collator(
        views,
        seed=recipe.seed,
        pad_token_id=int(tokenizer.pad_token_id or 0),
        samples=mixture.samples() if mixture.concatenate else None,
    )
    if mixture.length is not None and start >= mixture.length:
        raise ConfigurationError(f"start: got {start}, but the run has positions 0 to {mixture.length - 1}")
    stop = start + positions
    if mixture.length is not None:
        stop = min(stop, mixture.length)
    report.note("positions are those of a run on one device")
    instances = []
    for position in range(start, stop):
        item = mixture[position]
        for name, batch in collate([item]).items():
            stream = recipe.views[name].stream
            if stream not in item:
                continue  # of concatenated streams each position has an example of one stream
            tensors = {key: values[0] for key, values in batch.items()}  # the batch has one row
            instances.append(
                InspectedInstance(
                    view=name,
                    type=recipe.views[name].type,
                    stream=stream,
                    position=position,
                    coin=collate.coin(stream, position),
                    rows=tuple(describe(tensors, tokenizer)),
                )
            )
    return instances


def describe(tensors: Mapping[str, Tensor], tokenizer: PreTrainedTokenizerBase) -> list[DescribedRow]:
    """Describe the pieces of one example's input, or those of its query and then those of its key.

    An id that the tokenizer does not know is written ``<id>``.
    """
    rows = []
    for prefix in ("", "query_", "key_"):
        if f"{prefix}input_ids" not in tensors:
            continue
        links = _links_by_position(tensors, prefix)
        columns = {
            name: tensors[prefix + name].tolist() for name in _ONE_PER_PIECE if prefix + name in tensors
        }
        for position, input_id in enumerate(tensors[f"{prefix}input_ids"].tolist()):
            ids = {name: values[position] for name, values in columns.items()}
            label = ids.get("labels", IGNORE_INDEX)
            row = DescribedRow(
                input=prefix.rstrip("_"),
                position=position,
                piece=_piece(ids.get("original_ids", input_id), tokenizer),
                input_piece=_piece(input_id, tokenizer),
                label=None if label == IGNORE_INDEX else _piece(label, tokenizer),
                position_id=ids.get("position_ids"),
                segment_id=ids.get("token_type_ids"),
                language_id=ids.get("language_ids"),
                side=ids.get("side_ids"),
                document=ids.get("document_ids"),
                attended=bool(ids.get("attention_mask", True)),
                links=tuple(sorted(links.get(position, ()))),
            )
            rows.append(row)
    return rows


def _links_by_position(tensors: Mapping[str, Tensor], prefix: str) -> dict[int, list[int]]:
    """Return by position in an input the positions of the pieces that the piece there is linked to.

    Take the link (3, 7):

    1. An input with both sides (empty ``prefix``): position 3 is linked to 7, and 7 to 3.
    2. The query of two inputs: its position 3 is linked to the key's 7.
    3. The key of two inputs: its position 7 is linked to the query's 3.
    """
    links: dict[int, list[int]] = {}
    if "link_ids" not in tensors:
        return links
    for first, second in tensors["link_ids"].tolist():
        if first < 0:
            continue  # padding
        if prefix in ("", "query_"):
            links.setdefault(first, []).append(second)
        if prefix in ("", "key_"):
            links.setdefault(second, []).append(first)
    return links


def _piece(id_: int, tokenizer: PreTrainedTokenizerBase) -> str:
    """Return the piece of an id, ``<id>`` if there is none."""
    if not 0 <= id_ < len(tokenizer):
        return f"<{id_}>"
    piece = tokenizer.convert_ids_to_tokens(id_)
    return f"<{id_}>" if piece is None else str(piece)


_ONE_PER_PIECE = ("original_ids", "labels", "position_ids", "token_type_ids", "language_ids", "side_ids",
                  "document_ids", "attention_mask")  # fmt: skip
"""Tensors of an input that have one value for each piece, beside the ids of the pieces."""
_SIDES = {None: None, 0: "-", 1: "source", 2: "target"}
"""The values of ``side_ids`` as the table shows them; ``-`` for special tokens."""


def table(instance: InspectedInstance) -> tuple[list[str], list[list[str]]]:
    """Return an instance as headings and rows of cells; columns without any value are left out.

    The column ``#`` is the position in the input. The column ``position`` has the position ids; most views make none,
    because the model counts by itself, and then there is no such column.
    """
    rows_of_cells: list[dict[str, str]] = []
    for row in instance.rows:
        ids = {
            "position": row.position_id,
            "segment": row.segment_id,
            "language": row.language_id,
            "side": _SIDES.get(row.side),
            "document": row.document,
        }
        rows_of_cells.append(
            {
                "input of": row.input,
                "#": str(row.position),
                "piece": row.piece,
                "input": "=" if row.input_piece == row.piece else row.input_piece,
                "predict": row.label or "",
                **{heading: "" if value is None else str(value) for heading, value in ids.items()},
                "attended": "" if row.attended else "no",
                "links": " ".join(map(str, row.links)),
            }
        )
    headings = [heading for heading in rows_of_cells[0] if any(cells[heading] for cells in rows_of_cells)]
    return headings, [[cells[heading] for heading in headings] for cells in rows_of_cells]
