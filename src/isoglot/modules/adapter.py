"""Adapters (peft) inside an encoder: added, merged into plain weights, written and read by themselves.

Linear layers are replaced in place by peft's layers around them, so the model keeps its class and its structure. A
model with an adapter is saved as if it had been trained whole: the update is merged into copies of the weights.

A *plain* tensor or model is one as it would be without the adapter's layers.
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
"""The beginning of the names of tensors in peft's files."""


def add_adapter(model: PreTrainedModel, options: AdapterOptions, *, seed: int = 0) -> None:
    """Put an adapter into a model, in place; of the encoder, only the adapter is trained after that.

    Heads stay as they are, trained or frozen. New weights depend on the seed alone.

    Raises:
        ConfigurationError: peft is not installed, or no linear layer has such a name.
    """
    try:
        from peft import inject_adapter_in_model  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise missing_package("adapter", "peft") from error
    config = _config(options, _targets(model, options))
    in_encoder = {id(parameter) for parameter in base_of(model).parameters()}
    trained_in_heads = {
        id(parameter): parameter.requires_grad
        for parameter in model.parameters()
        if id(parameter) not in in_encoder
    }
    with torch.random.fork_rng(devices=[]):
        # torch.manual_seed would seed the generators of GPUs too, which this block does not restore.
        torch.default_generator.manual_seed(seed)
        inject_adapter_in_model(config, model, adapter_name=_NAME)
    # peft froze everything but the adapter, the heads too.
    for parameter in model.parameters():
        if id(parameter) in trained_in_heads:
            parameter.requires_grad_(trained_in_heads[id(parameter)])
    if options.embeddings:
        input_embeddings(model).requires_grad_(True)
    vars(model)["adapter"] = options


def adapter_of(model: nn.Module) -> AdapterOptions | None:
    """The options of the adapter that :func:`add_adapter` put into a model; ``None`` for any other model."""
    options: AdapterOptions | None = vars(model).get("adapter")
    return options


def has_adapter(model: nn.Module) -> bool:
    """Whether layers of a model hold an adapter, added by :func:`add_adapter` or by the user."""
    return bool(_adapted(model))


def plain_state(model: PreTrainedModel) -> dict[str, Any]:
    """The tensors of a model under its plain names, with the update of its adapter merged into copies of the weights.

    The model itself is not merged: to merge and to undo it would round its weights.
    """
    state = dict(model.state_dict())
    for name, layer in _adapted(model).items():
        merged: Any = copy.deepcopy(layer)
        if hasattr(layer, "base_layer"):
            merged.merge()
            plain = merged.get_base_layer()
        else:  # a layer that peft trains whole
            plain = merged.modules_to_save[merged.active_adapter]
        for key in list(state):
            if key.startswith(f"{name}."):
                del state[key]
        state |= {f"{name}.{key}": value for key, value in plain.state_dict().items()}
    return state


def save_plain(model: PreTrainedModel, folder: Path, state: Mapping[str, Any]) -> None:
    """Write a model with the tensors of ``state`` as if it had been trained whole, whatever adapter it has."""
    plain = copy.copy(model)
    vars(plain)["_hf_peft_config_loaded"] = False  # with True the library would write the adapter alone
    with quiet():
        plain.save_pretrained(str(folder), state_dict=dict(state))


def load_plain_state(model: PreTrainedModel, state: dict[str, Tensor], folder: Path) -> None:
    """Restore the tensors of a model from :func:`plain_state` and, if it has an adapter, from :func:`write_adapter`.

    The frozen weights inside adapted layers stay unchanged: the state has them with the update merged in.

    ``state``: tensors by their plain names.
    ``folder``: the folder with the adapter.

    Raises:
        RuntimeError: the tensors are not those of this model and its adapter.
        FileNotFoundError: there is no adapter in the folder.
    """
    if not has_adapter(model):
        model.load_state_dict(state)
        return
    from peft import set_peft_model_state_dict  # noqa: PLC0415 - an extra

    # Everything outside of adapted layers comes from the state.
    adapted_layers = tuple(f"{name}." for name in _adapted(model))
    outside = {name: value for name, value in state.items() if not name.startswith(adapted_layers)}
    report_outside = model.load_state_dict(outside, strict=False)
    missing = [name for name in report_outside.missing_keys if not name.startswith(adapted_layers)]

    # The adapter comes from its own file.
    if not (folder / WEIGHTS).is_file():
        raise FileNotFoundError(f"no {folder / WEIGHTS}")
    adapter = {name.removeprefix(_PREFIX): value for name, value in load_file(folder / WEIGHTS).items()}
    report: Any = set_peft_model_state_dict(model, adapter, adapter_name=_name(model))
    # peft reports every tensor of the model that the file does not have, the plain ones too.
    in_adapter = {
        name for name in model.state_dict() if name.startswith(adapted_layers) and not _is_plain(name)
    }
    missing += sorted(in_adapter & set(report.missing_keys))
    unknown = [*report_outside.unexpected_keys, *report.unexpected_keys]
    if missing or unknown:
        raise RuntimeError(f"the adapter lacks {missing[:3]}, and has no place for {unknown[:3]}")


def write_adapter(model: PreTrainedModel, folder: Path, *, base: str | None = None) -> None:
    """Write an adapter for ``PeftModel.from_pretrained(MODEL, FOLDER)`` of peft; ``base`` is the name of MODEL."""
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
    """The number of parameters that a model has without its adapter."""
    adapted_layers = tuple(f"{name}." for name in _adapted(model))
    size = 0
    for name, parameter in model.named_parameters():
        if not name.startswith(adapted_layers) or _is_plain(name):
            size += parameter.numel()
    return size


def _adapted(model: nn.Module) -> dict[str, nn.Module]:
    """The layers that hold an adapter (``base_layer``) or that peft trains whole (``modules_to_save``), by name."""
    return {
        name: module
        for name, module in model.named_modules()
        if hasattr(module, "base_layer") or hasattr(module, "modules_to_save")
    }


def _is_plain(name: str) -> bool:
    """Whether a tensor of a layer in :func:`_adapted` is one that the model had before."""
    return ".base_layer." in name or ".original_module." in name


def _name(model: PreTrainedModel) -> str:
    """The name that peft has for the adapter."""
    return str(next(iter(vars(model)["peft_config"])))


def _targets(model: PreTrainedModel, options: AdapterOptions) -> list[str]:
    """Full names of the linear layers to adapt: all in the transformer layers, or those whose last name is chosen.

    ``modules: query`` chooses ``bert.encoder.layer.0.attention.self.query`` and its like in the other layers.
    """
    linear = set()
    for layer in layer_modules(model) or [base_of(model)]:
        linear |= {id(module) for module in layer.modules() if isinstance(module, nn.Linear)}
    last_names = {
        name: name.rpartition(".")[2] for name, module in model.named_modules() if id(module) in linear
    }
    chosen = options.modules
    targets = [name for name, last in last_names.items() if chosen is None or last in chosen]
    unknown = sorted(set(chosen or ()) - set(last_names.values()))
    if unknown or not targets:
        known = ", ".join(sorted(set(last_names.values())))
        text = f"no linear layer is named {', '.join(unknown)}; this {model.config.model_type} has {known}"
        raise ConfigurationError(Problem(text, ("modules",)))
    return targets


def _config(options: AdapterOptions, targets: list[str]) -> Any:
    """The configuration of peft for an adapter in the layers ``targets``."""
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
