"""Adapters (peft) inside an encoder: put in place, merged into plain weights, written and read by themselves.

The layers are replaced where they stand, so the model keeps its class, its layers and the hooks on them. A model with
an adapter is saved as if it had been trained whole: the update is merged into copies of the weights.
"""

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import PreTrainedModel

from isoglot.core.checks import missing_package
from isoglot.core.errors import ConfigurationError, Problem
from isoglot.modules.adapter_options import AdapterOptions
from isoglot.modules.checkpoint import quiet
from isoglot.modules.encoder import base_of, input_embeddings, layer_modules

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"
_NAME = "default"
_PREFIX = "base_model.model."
"""What peft puts before the names of an adapter's tensors in its files."""


def add_adapter(model: PreTrainedModel, options: AdapterOptions, *, seed: int = 0) -> None:
    """Put an adapter into a model, in place; of the encoder nothing else is trained any more.

    Heads stay as they are. New weights depend on the seed alone.

    Raises:
        ConfigurationError: peft is not installed, or no linear layer has such a name.
    """
    try:
        from peft import inject_adapter_in_model  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise missing_package("adapter", "peft") from error
    config = _config(options, _targets(model, options))
    outside = {id(p): p.requires_grad for p in model.parameters()}
    for parameter in base_of(model).parameters():
        outside.pop(id(parameter), None)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        inject_adapter_in_model(config, model, adapter_name=_NAME)
    for parameter in model.parameters():  # peft froze the heads as well
        if id(parameter) in outside:
            parameter.requires_grad_(outside[id(parameter)])
    if options.embeddings:
        input_embeddings(model).requires_grad_(True)
    vars(model)["adapter"] = options


def adapter_of(model: nn.Module) -> AdapterOptions | None:
    """The options of the adapter that :func:`add_adapter` put into a model; ``None`` for any other model."""
    options: AdapterOptions | None = vars(model).get("adapter")
    return options


def has_adapter(model: nn.Module) -> bool:
    """Whether layers of a model hold an adapter, whoever put it there."""
    return bool(_adapted(model))


def plain_state(model: PreTrainedModel) -> dict[str, Any]:
    """A model's tensors as they are without adapter: its update merged into copies of the weights, which stay exact."""
    state = dict(model.state_dict())
    for name, layer in _adapted(model).items():
        merged: Any = copy.deepcopy(layer)
        if hasattr(layer, "base_layer"):
            merged.merge()
            plain = merged.get_base_layer()
        else:
            plain = merged.modules_to_save[merged.active_adapter]
        for part in [key for key in state if key.startswith(f"{name}.")]:
            del state[part]
        state |= {f"{name}.{key}": value for key, value in plain.state_dict().items()}
    return state


def save_plain(model: PreTrainedModel, folder: Path, state: Mapping[str, Any]) -> None:
    """Write a model with the tensors of ``state`` as if it had been trained whole, whatever adapter it has."""
    plain = copy.copy(model)
    vars(plain)["_hf_peft_config_loaded"] = False  # else the library would write the adapter alone
    with quiet():
        plain.save_pretrained(str(folder), state_dict=dict(state))


def load_plain_state(model: PreTrainedModel, state: dict[str, Tensor], folder: Path) -> None:
    """Read into a model what :func:`plain_state` and :func:`write_adapter` gave; what the adapter froze stays as it is.

    Raises:
        RuntimeError: The tensors are not those of this model and its adapter.
        FileNotFoundError: There is no adapter in the folder.
    """
    if not has_adapter(model):
        model.load_state_dict(state)
        return
    from peft import set_peft_model_state_dict  # noqa: PLC0415 - an extra

    inside = tuple(f"{name}." for name in _adapted(model))
    rest = {name: value for name, value in state.items() if not name.startswith(inside)}
    rest_keys = model.load_state_dict(rest, strict=False)
    missing = [name for name in rest_keys.missing_keys if not name.startswith(inside)]
    if not (folder / WEIGHTS).is_file():
        raise FileNotFoundError(f"no {folder / WEIGHTS}")
    adapter = {name.removeprefix(_PREFIX): value for name, value in load_file(folder / WEIGHTS).items()}
    read: Any = set_peft_model_state_dict(model, adapter, adapter_name=_name(model))
    adapted = {name for name in model.state_dict() if name.startswith(inside) and not _is_plain(name)}
    missing += sorted(adapted & set(read.missing_keys))
    unknown = [*rest_keys.unexpected_keys, *read.unexpected_keys]
    if missing or unknown:
        raise RuntimeError(f"the adapter lacks {missing[:3]}, and has no place for {unknown[:3]}")


def write_adapter(model: PreTrainedModel, folder: Path, *, base: str | None = None) -> None:
    """Write an adapter as peft reads it (``PeftModel.from_pretrained(MODEL, FOLDER)``); ``base`` names its model."""
    from peft import get_peft_model_state_dict  # noqa: PLC0415 - an extra

    folder.mkdir(parents=True, exist_ok=True)
    name = _name(model)
    state = get_peft_model_state_dict(model, adapter_name=name, save_embedding_layers=False)
    save_file({f"{_PREFIX}{key}": value.contiguous() for key, value in state.items()}, folder / WEIGHTS)
    config = {
        **vars(model)["peft_config"][name].to_dict(),
        "base_model_name_or_path": base,
        "inference_mode": True,
    }
    text = json.dumps(config, indent=1, sort_keys=True, default=sorted)
    (folder / CONFIG).write_text(f"{text}\n", encoding="utf-8")


def own_size(model: PreTrainedModel) -> int:
    """How many parameters a model has without its adapter."""
    inside = tuple(f"{name}." for name in _adapted(model))
    return sum(
        p.numel() for name, p in model.named_parameters() if not name.startswith(inside) or _is_plain(name)
    )


def _adapted(model: nn.Module) -> dict[str, nn.Module]:
    """The layers that hold an adapter, and those that peft trains whole (``modules_to_save``), by name."""
    kinds = ("base_layer", "modules_to_save")
    return {n: module for n, module in model.named_modules() if any(hasattr(module, kind) for kind in kinds)}


def _is_plain(name: str) -> bool:
    """Whether a tensor of a layer in :func:`_adapted` is one that the model had before."""
    return ".base_layer." in name or ".original_module." in name


def _name(model: PreTrainedModel) -> str:
    """What peft calls the adapter."""
    return str(next(iter(vars(model)["peft_config"])))


def _targets(model: PreTrainedModel, options: AdapterOptions) -> list[str]:
    """Full names of the linear layers that are adapted."""
    stacks = layer_modules(model) or [base_of(model)]
    inside = {id(module) for stack in stacks for module in stack.modules() if isinstance(module, nn.Linear)}
    names = [name for name, module in model.named_modules() if id(module) in inside]
    suffixes = options.modules
    targets = [n for n in names if suffixes is None or n.rpartition(".")[2] in suffixes]
    unknown = sorted(set(suffixes or ()) - {name.rpartition(".")[2] for name in names})
    if unknown or not targets:
        known = ", ".join(sorted({name.rpartition(".")[2] for name in names}))
        text = f"no linear layer is named {', '.join(unknown)}; this {model.config.model_type} has {known}"
        raise ConfigurationError(Problem(text, ("modules",)))
    return targets


def _config(options: AdapterOptions, targets: list[str]) -> Any:
    import peft  # noqa: PLC0415 - an extra

    alpha = 2 * options.rank if options.alpha is None else options.alpha
    settings: dict[str, Any] = {"target_modules": targets}
    if options.type == "ia3":
        return peft.IA3Config(**settings, feedforward_modules=[])
    if options.type in ("loha", "lokr"):
        kind = peft.LoHaConfig if options.type == "loha" else peft.LoKrConfig
        return kind(**settings, r=options.rank, alpha=alpha, module_dropout=options.dropout)
    return peft.LoraConfig(
        **settings,
        r=options.rank,
        lora_alpha=alpha,
        lora_dropout=options.dropout,
        use_dora=options.type == "dora",
        use_rslora=options.type == "rslora",
    )
