"""Options of adapters: small layers that are trained in place of an encoder's own weights."""

from __future__ import annotations

from typing import Literal

from isoglot.core.options import Count, Options, option


class AdapterOptions(Options):
    """An adapter in every linear layer of the encoder; the encoder's own weights stay as they are."""

    type: Literal["lora", "rslora", "dora", "loha", "lokr", "ia3"] = option(
        "lora", "Kind of adapter, as peft names it; rslora and dora are variants of LoRA."
    )
    rank: Count = option(8, "Rank of the update of a weight matrix; ia3 has none.")
    alpha: Count | None = option(None, "Scale of the update: alpha / rank; by default twice the rank.")
    dropout: float = option(0.0, "Dropout before the adapter.", ge=0, lt=1)
    modules: tuple[str, ...] | None = option(
        None,
        "Names of linear layers, for example query,value; by default all of the transformer layers.",
        min_length=1,
    )
    embeddings: bool = option(False, "Train the embeddings too, whole.")
    keep: bool = option(False, "Write the adapter beside the checkpoint, in peft's format.")
