"""The base of objectives: a loss over the encodings of one batch. An objective never owns the encoder."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, MutableMapping
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Any, ClassVar, Literal

from torch import Tensor
from transformers import PreTrainedModel

from isoglot.core.errors import ConfigurationError
from isoglot.losses.base import LossOutput, OptionsModule
from isoglot.modules.contrast import pool
from isoglot.modules.encoder import layer_number, num_layers
from isoglot.modules.encodings import Encodings

Batch = Mapping[str, Mapping[str, Tensor]]
"""The collated tensors of each view, by the name of the view."""
OpenBatch = Mapping[str, MutableMapping[str, Tensor]]
"""A batch to whose views tensors may be added (:meth:`Objective.look_ahead`)."""


class Objective(OptionsModule, ABC):
    """A loss over the encodings of one batch.

    The shared encoder comes in through the :class:`~isoglot.modules.encodings.Encodings`; an objective holds only
    its own parameters and buffers (heads, momentum copies, queues, dictionaries), which are saved in
    ``objectives.safetensors``.

    **Constructor**. Its signature is the schema of the objective's section in a recipe: name, default and type of each
    option, with choices (``Literal``) and bounds (``Annotated``). The encoder is the first argument. Filled in by
    name, where the constructor has them:

    * ``tokenizer``: the run's tokenizer; not an option of the recipe.
    * ``seed``: unless the recipe gives one, a number that depends on the run's seed and the objective's name.
    * ``view`` and names that end in ``_view``: names of views, checked; each view of a recipe has to be read.
    * A parameter annotated :class:`datasets.Dataset`: the corpus of the stream that the recipe names.

    An option is kept as an attribute of the same name, so that ``isoglot pretrain --check`` can show the value in use.
    A dataclass (``eq=False, repr=False``) names each option once; its ``__post_init__`` begins with :meth:`settle`.
    An objective that inherits from a loss of :mod:`isoglot.losses` has that loss's options too, and its
    :meth:`forward` passes tensors of the batch to the loss's ``measure``. Options that exclude each other are refused
    by a method ``check_options``, which reads options alone.

    Attributes:
        top_layer: the highest layer that the objective reads with gradient; ``None``: the last. Layers that no
            objective of a run reads are neither computed nor trained.
    """

    top_layer: int | None = None

    @abstractmethod
    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """The loss of one batch."""

    def count(self, batch: Batch) -> Tensor | None:
        """The count of :meth:`forward`'s result, if it is known before the forward pass; else ``None``.

        A known count lets the trainer divide by the number of items of the whole optimiser step (all ranks, all
        accumulated batches), which makes the gradient independent of how the step is split. Masked tokens, for
        example, can be counted in the labels; links that the encoder itself finds cannot.
        """
        return None

    def look_ahead(self, encodings: Encodings, batch: OpenBatch) -> None:
        """Find the items of a batch with the encoder, so that :meth:`count` knows them.

        The trainer calls this where :meth:`count` is ``None`` and an optimiser step has several micro-batches: for
        each of them, before the first loss. An objective may read the encoder here, without gradient, and add tensors
        to its view of ``batch``, where :meth:`count` and :meth:`forward` find them. ``batch`` may still be on another
        device than the encoder; ``encodings`` were made from a copy of ``batch`` on the encoder's device.
        """

    def after_step(self, encoder: PreTrainedModel) -> None:
        """Called once after each optimiser step (momentum updates, schedules), even if the objective's weight is 0.

        An objective with the buffer ``step`` adds 1 to it here, itself or with its loss's ``advance``: ``step`` counts
        all optimiser steps, also those at which the objective was not run.
        """

    def aligner_options(self) -> Mapping[str, Any] | None:
        """Options of ``isoglot align`` that suit the trained encoder; ``None``: no recommendation.

        The options are written to ``aligner.json`` beside the exported encoder, where ``isoglot align --model`` finds
        them. If two objectives of one model recommend different options, no file is written.
        """
        return None


def require_objective(kind: type, name: str) -> None:
    """Refuse a class that is not an objective; the message begins with ``name``, where a recipe names the class."""
    if not issubclass(kind, Objective):
        raise ConfigurationError(
            f"{name}: {kind.__name__} is not an objective, which inherits from isoglot.Objective"
        )


@dataclass(eq=False, repr=False)
class LayerObjective(Objective):
    """An objective that reads one layer of a view with gradient.

    A class that inherits from it and from a loss names it first, ``class X(LayerObjective, WordContrast)``. Then Python
    calls ``LayerObjective.__post_init__(model)``, which calls the ``__post_init__()`` that ``WordContrast`` inherits: a
    loss's method has no parameter for the model. Plain :class:`Objective` has none and may stand at any place.

    Args:
        model: encoder with its masked-LM head; it is looked at, not kept.
        view: a ``sentence_pair`` view.
        layer: layer whose states are read, 0 the embeddings; the last by default.
    """

    model: InitVar[PreTrainedModel]
    _: KW_ONLY
    view: str = "sentences"
    layer: int | None = None
    top_layer: int = field(init=False)

    usual_depth: ClassVar[float] = 1.0
    """The default of ``layer`` as a share of the encoder's layers: 2/3 of 12 layers is layer 8."""

    def __post_init__(self, model: PreTrainedModel) -> None:
        super().__post_init__()
        # `layer` is the option that is shown, and its type allows None. `top_layer` is the highest layer that the
        # objective reads, always an int. In this class both are the same number.
        #
        # A class that also reads a higher layer keeps this number of its lower layer under a name of its own, then
        # sets `top_layer` to the higher one. It overrides `states`, from which all subclasses take their states with
        # gradient. States without gradient, such as those of momentum keys, do not come from there.
        self.layer = self.top_layer = chosen_layer(model, self.layer, share=self.usual_depth)

    def states(self, encodings: Encodings, side: str | None = None) -> Tensor:
        """The hidden states of the layer; ``side`` where the view has two: (batch, length, hidden)."""
        return encodings.hidden(self.view, self.top_layer, side)

    def pooled(self, encodings: Encodings, side: str, pooling: Literal["cls", "mean"]) -> Tensor:
        """One vector of each sentence of a side: (batch, hidden)."""
        mask = encodings.inputs(self.view, side)["attention_mask"]
        return pool(self.states(encodings, side), mask, pooling)


def chosen_layer(
    model: PreTrainedModel, layer: int | None, *, share: float = 1.0, name: str = "layer"
) -> int:
    """Check a layer, or choose the one at a ``share`` of the encoder's depth where ``layer`` is ``None``.

    ``name`` is the option that a message about a missing layer names.
    """
    if layer is None:
        layer = round(share * num_layers(model))
    return layer_number(model, layer, name=name)


def tensor_of(batch: Batch, view: str, key: str) -> Tensor:
    """A tensor of a view.

    Raises:
        ConfigurationError: the view does not make this tensor; the message names a view that does.
    """
    tensors = batch.get(view, {})
    if key in tensors:
        return tensors[key]
    if key == "link_ids":
        raise ConfigurationError(
            f"view {view!r} has no word links; it needs a stream of word-aligned bitext. Align one with "
            "`isoglot align BITEXT --method fast_align --format corpus --out ALIGNED` and give the stream "
            "`kind: aligned` and that path"
        )
    names = ", ".join(sorted(tensors)) or "nothing"
    if key.endswith("_word_ids") and key.replace("word_ids", "input_ids") in tensors:
        raise ConfigurationError(
            f"view {view!r} has {names}, {key} is needed; encode its stream again with word maps, the columns "
            "source_word_ids and target_word_ids"
        )
    makers = {"labels": "masked_text or masked_pair", "side_ids": "masked_pair"}.get(key, "sentence_pair")
    raise ConfigurationError(
        f"view {view!r} has {names}, {key} is needed; point `view:` at a view of type {makers}"
    )
