"""The encoder's outputs for one batch of views, computed when first read and kept for all other readers."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from isoglot.modules.encoder import (
    encode,
    encode_to_layer,
    input_embeddings,
    is_compiled,
    layer_modules,
    layer_number,
    num_layers,
)
from isoglot.modules.shared_table import SharedTable


class Encodings:
    """Lazily computed hidden states of one batch.

    :meth:`last` and :meth:`hidden` give states with gradient, of the last layer or of any other. :meth:`layer` gives
    states without gradient, masked or unmasked, and runs the encoder up to the layer alone.

    Args:
        model: the encoder with its masked-LM head (``AutoModelForMaskedLM``); only its base model is run
            here.
        batch: view name to collated tensors. A view's input is ``input_ids``, ``attention_mask`` and, where
            the view makes them, ``token_type_ids``, ``position_ids``, ``language_ids``, ``document_ids``; a
            view with two inputs prefixes them with its side (``query_input_ids``). ``original_ids`` are the
            unmasked ids.
        language_embeddings: table added to the input embeddings where the view has ``language_ids``.
        top: the highest layer that will be read with gradient; the layers above it are not run. By default the last.

    Attributes:
        forwards: how many encoder forwards were run, full and partial, for tests and logs.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        batch: Mapping[str, Mapping[str, Tensor]],
        *,
        language_embeddings: nn.Embedding | None = None,
        top: int | None = None,
    ) -> None:
        self.model = model
        self.batch = batch
        self.top = num_layers(model) if top is None else top
        self.language_embeddings = language_embeddings
        self.forwards = 0
        # The states that `hidden` returns, by view, side and layer.
        self._cache: dict[tuple[str, str | None, int], Tensor] = {}
        # The states that `layer` returns, by view, side, layer and `clean`.
        self._detached: dict[tuple[str, str | None, int, bool], Tensor] = {}
        self._tables: dict[int, SharedTable] = {}

    def last(self, view: str, side: str | None = None) -> Tensor:
        """Last hidden states of a view's (masked) input, with gradient.

        **Shape**: (batch, length, hidden).
        """
        return self.hidden(view, num_layers(self.model), side)

    def hidden(self, view: str, layer: int, side: str | None = None) -> Tensor:
        """Hidden states of any layer of a view's (masked) input, with gradient (without: :meth:`layer`).

        One forward usually serves :meth:`last` and every inner layer. Another one, with other dropout, is run for a
        layer that the first did not keep: a layer above ``top``, or an inner layer where the first ran without gradient
        or compiled, or where layers are not separate modules (ALBERT).
        Of two layers read the lower one first: its forward also keeps the states of ``top``.

        **Shape**: (batch, length, hidden).
        """
        # Refuses a missing layer before a forward is run, and gives −1 the key of the last layer.
        layer = layer_number(self.model, layer)
        if (view, side, layer) not in self._cache:
            for number, states in self._encode(view, side, layer).items():
                self._cache[view, side, number] = states
        return self._cache[view, side, layer]

    def layer(self, view: str, layer: int, *, clean: bool, side: str | None = None) -> Tensor:
        """Hidden states of a layer (0: the embeddings) to look at, such as for labels: they have no gradient.

        States to train on come from :meth:`hidden`. The encoder stops at this layer.

        With ``clean`` the unmasked ids are encoded with dropout off (self-labelling). Without, the masked ids are
        encoded as in training; if the view's forward has been run already, its states are used.

        **Shape**: (batch, length, hidden).
        """
        layer = layer_number(self.model, layer)
        if not clean and (view, side, layer) in self._cache:
            return self._cache[view, side, layer].detach()
        key = (view, side, layer, clean)
        if key not in self._detached:
            self.forwards += 1
            inputs = self.inputs(view, side)
            if clean:  # a view that masks nothing has no original ids
                prefix = "" if side is None else f"{side}_"
                inputs["input_ids"] = self.batch[view].get(f"{prefix}original_ids", inputs["input_ids"])
            self._detached[key] = encode_to_layer(
                self.model, inputs, layer, training=not clean, language_embeddings=self.language_embeddings
            )
        return self._detached[key]

    def table(self, weight: Tensor) -> SharedTable:
        """A parameter that several objectives read row by row or as output layer, with one gradient for all of them.

        Args:
            weight: the parameter itself (V, h); the same object gives the same table.
        """
        return self._tables.setdefault(id(weight), SharedTable(weight))

    def inputs(self, view: str, side: str | None = None) -> dict[str, Tensor]:
        """The encoder inputs of a view, or of one side of it, without the side's prefix."""
        tensors = self.batch[view]
        prefix = "" if side is None else f"{side}_"
        names = (
            "input_ids",
            "attention_mask",
            "token_type_ids",
            "position_ids",
            "language_ids",
            "document_ids",
        )
        found = {n: tensors[prefix + n] for n in names if prefix + n in tensors}
        if "input_ids" not in found:
            raise KeyError(f"view {view!r} has no {prefix}input_ids; it has {sorted(tensors)}")
        return found

    def _encode(self, view: str, side: str | None, layer: int) -> dict[int, Tensor]:
        """Run the view's forward; return the states of ``layer`` and of further layers that cost nothing."""
        self.forwards += 1
        # The forward of a lower layer goes on to `top`, whose states are read too: one forward serves both.
        top = max(layer, self.top)
        layers: tuple[int, ...] = (layer, top)
        # With gradient, the graph keeps the inputs of all layers anyway, so all are kept for later readers. The one
        # exception: inner layers are read by hooks, and with hooks a compiled encoder runs uncompiled. So of a compiled
        # encoder only the last states are kept if they are what is asked for. Asked for an inner layer, it keeps all.
        only_last = layer == top == num_layers(self.model)
        keep_all = torch.is_grad_enabled() and not (only_last and is_compiled(self.model))
        if keep_all and layer_modules(self.model) is not None:
            layers = tuple(range(top + 1))
        return encode(
            self.model,
            self.inputs(view, side),
            layers=layers,
            language_embeddings=self.language_embeddings,
            word_table=self.table(input_embeddings(self.model).weight),
        )
