"""The encoder compiled, with the uncompiled one kept for the forwards that need hooks."""

from __future__ import annotations

from typing import Any

import torch
from transformers import PreTrainedModel, TrainingArguments


def take_compile_options(args: TrainingArguments) -> dict[str, Any] | None:
    """``torch_compile*`` out of the training arguments, so that the library does not compile the whole model.

    Objectives branch on their data (how many links, how many masked tokens); the encoder does not.
    """
    if not args.torch_compile:
        return None
    options = {"backend": args.torch_compile_backend, "mode": args.torch_compile_mode}
    args.torch_compile, args.torch_compile_backend, args.torch_compile_mode = False, None, None
    return {key: value for key, value in options.items() if value is not None}


def compile_encoder(model: PreTrainedModel, **options: Any) -> None:
    """Compile the base model's forward in place; names of parameters stay as they are.

    A forward that reads inner layers or stops early hangs hooks on them. Compiled code would not see these, so such
    a forward runs uncompiled.
    """
    base = model.base_model
    plain = base.forward
    compiled = torch.compile(plain, **options)

    def forward(*args: Any, **kwargs: Any) -> Any:
        hooked = any(module._forward_pre_hooks for module in base.modules())
        return (plain if hooked else compiled)(*args, **kwargs)

    base.forward = forward
