"""The base of views: one example in, one encoder input out, everything random drawn from one generator."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from isoglot.core.errors import ConfigurationError

IGNORE_INDEX = -100
"""Label of a position that carries no loss."""


@runtime_checkable
class View(Protocol):
    """Make one encoder input from one example of a stream.

    **Columns**: ``columns`` names the stream columns that :meth:`build` cannot do without, as a class attribute, or as
    a property where the options decide. Further columns (``links``, ``document_ids``, ``position_ids``) are read where
    the stream has them.

    **Batch keys** of the result end in ``_ids``, ``_mask`` or ``labels``; :func:`padding_value` reads the suffix. A
    view with two inputs prefixes the batch keys of each with its side: ``query_input_ids`` and ``key_input_ids``.

    **Constructor**. Its signature is the schema of the view's section in a recipe: name, default and type of each
    option, with choices (``Literal``) and bounds (``Annotated``). The tokenizer is the first argument; the options of a
    dataclass come after ``_: KW_ONLY``, which a subclass of another view has to repeat. Filled in by name, where the
    constructor has them:

    * ``max_length``: unless the recipe gives it, the number of tokens that the encoder has positions for.
    * A parameter annotated :class:`datasets.Dataset`: the corpus of the stream that the recipe names.

    **Optional attributes**, by which a run plans its batches and checks its streams:

    * ``inputs``: the number of encoder inputs of an example, each limited by ``max_length``; 1 if missing.
    * ``special_tokens``: the number of special tokens of an example, over all its inputs; 3 if missing.
    * ``side``: set where the view reads one side of a pair alone.
    * ``packed_columns``: the columns that :meth:`build` needs of a packed stream, instead of ``columns``.

    An option is kept as an attribute of the same name, so that ``isoglot pretrain --check`` can show the value in use.
    Options that exclude each other are refused by a method ``check_options``, which reads options alone. It is called
    for the options of a recipe, before there is a view, and at the beginning of a constructor
    (:func:`isoglot.recipe.spec.require_options`).
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The stream columns that :meth:`build` needs."""
        ...

    def build(
        self, example: Mapping[str, Any], *, coin: bool, generator: torch.Generator
    ) -> dict[str, Tensor]:
        """Make the tensors of one example, not padded, without a batch axis.

        ``coin`` is tossed once per stream and position: all views of an example get the same coin, so that they can
        put the same side first.

        ``generator`` is for this example of this view alone. However much a view draws, the other views and the next
        examples stay the same.
        """
        ...


def require_view(kind: type, name: str) -> None:
    """Refuse a class that is not a view; the message begins with ``name``, where a recipe names the class."""
    if not callable(getattr(kind, "build", None)):
        raise ConfigurationError(f"{name}: {kind.__name__} is not a view, which has `columns` and `build`")


def padding_value(batch_key: str, *, pad_token_id: int) -> int:
    """The value that pads the tensors of a batch key, by its suffix alone; a ValueError for another suffix."""
    if batch_key.endswith("labels"):
        return IGNORE_INDEX
    if batch_key.endswith("_mask"):
        return 0
    if batch_key.endswith("link_ids"):  # positions, of which 0 is one
        return -1
    if batch_key.endswith(("input_ids", "original_ids")):
        return pad_token_id
    if batch_key.endswith("_ids"):
        return 0
    raise ValueError(f"batch key {batch_key!r}: keys end in '_ids', '_mask' or 'labels'; rename it")
