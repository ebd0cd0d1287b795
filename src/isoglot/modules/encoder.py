"""One way to run any masked-LM encoder: chosen layers, early exit, packed rows, language embeddings.

A layer's number is that of Hugging Face's ``hidden_states``: 0 is the output of the embeddings, ``l`` the
input of layer ``l`` (0-based), the number of layers is ``last_hidden_state``. Position ids are 0-based in
isoglot, whatever the family; RoBERTa's offset is added here.

Threads may share a model: a hook acts only in the thread that set it, and what a block changes about the model is
changed back when no thread is inside such a block.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from isoglot.core.errors import ConfigurationError, Problem
from isoglot.modules.document_mask import (
    attention_inputs,
    document_mask,
    require_packable,
    restarted_positions,
)
from isoglot.modules.shared_table import SharedTable

if TYPE_CHECKING:  # an encoder that runs as it is packed does without
    from transformers import PreTrainedModel

_LOCK = threading.Lock()
_CHANGED: dict[tuple[nn.Module, str], tuple[int, Any]] = {}
"""Attributes that blocks have changed for a while: how many blocks, and the value to give back."""


class _Stop(Exception):  # noqa: N818 - a signal, not an error
    """Raised by a hook to end a forward early."""


def unwrapped(model: Any) -> PreTrainedModel:
    """The model of transformers inside what peft wraps around it; its adapters stand in its layers and stay.

    Raises:
        ConfigurationError: It is another object, or prompts are trained in front of its input.
    """
    if getattr(getattr(model, "active_peft_config", None), "is_prompt_learning", False):
        raise ConfigurationError(
            f"model: got {type(model).__name__} with prompts in front of the input, which are not read; give an "
            "adapter inside the layers, such as LoRA"
        )
    found = model.get_base_model() if hasattr(model, "get_base_model") else model
    if not hasattr(found, "base_model") or not hasattr(found, "config"):
        raise ConfigurationError(
            f"model: expected a folder, a hub name or a transformers model, got {type(model).__name__}; of a "
            "SentenceTransformer pass model[0].auto_model with tokenizer=model.tokenizer"
        )
    return cast("PreTrainedModel", found)


def base_of(model: PreTrainedModel) -> PreTrainedModel:
    """The encoder without its heads and without a wrapper."""
    return cast("PreTrainedModel", unwrapped(model).base_model)


def num_layers(model: PreTrainedModel) -> int:
    """The number of transformer layers of the encoder, which is the number of its last hidden state."""
    return int(model.config.num_hidden_layers)


def layer_number(model: PreTrainedModel, layer: int, *, name: str = "layer") -> int:
    """A layer counted from 0, the embeddings; negative ones count from the end. ``name`` is the option that gave it."""
    last = num_layers(model)
    number = layer + last + 1 if layer < 0 else layer
    if not 0 <= number <= last:
        text = f"got {layer}, but this encoder has layers 0 (embeddings) to {last}: {name}: {last}"
        raise ConfigurationError(Problem(text, (name,)))
    return number


def hidden_size(model: PreTrainedModel) -> int:
    """Width of the encoder's hidden states."""
    return int(model.config.hidden_size)


def input_embeddings(model: PreTrainedModel) -> nn.Embedding:
    """The encoder's word embedding table (V, embedding size)."""
    return cast(nn.Embedding, model.get_input_embeddings())


def max_length(model: PreTrainedModel) -> int | None:
    """The longest input that the position table allows; ``None`` where there is no table (RoPE, relative)."""
    table = _position_table(model)
    return None if table is None else int(table.num_embeddings) - _position_offset(table)


def layer_modules(model: PreTrainedModel) -> Sequence[nn.Module] | None:
    """The encoder's transformer layers in order; ``None`` where they cannot be separated (ALBERT shares its own).

    They are the one outermost ``ModuleList`` of as many members as the encoder has layers, all of one class.
    """
    found: list[tuple[str, nn.ModuleList]] = []
    for name, module in base_of(model).named_modules():
        if not isinstance(module, nn.ModuleList) or len(module) != num_layers(model):
            continue
        if len({type(m) for m in module}) != 1 or any(name.startswith(f"{outer}.") for outer, _ in found):
            continue
        found.append((name, module))
    if len(found) > 1:
        from transformers.modeling_layers import GradientCheckpointingLayer  # noqa: PLC0415 - loads transformers

        found = [(n, m) for n, m in found if isinstance(m[0], GradientCheckpointingLayer)]
    return list(found[0][1]) if len(found) == 1 else None


def is_compiled(model: PreTrainedModel) -> bool:
    """Whether the base model is compiled, which hooks on its layers would undo."""
    return base_of(model)._compiled_call_impl is not None


def encode(
    model: PreTrainedModel,
    inputs: Mapping[str, Tensor],
    *,
    layers: tuple[int, ...],
    language_embeddings: nn.Embedding | None = None,
    words: SharedTable | None = None,
) -> dict[int, Tensor]:
    """Hidden states of the layers asked for, from one forward up to the highest of them, with its gradient graph.

    ``inputs``: ``input_ids``, ``attention_mask`` and, where there are any, ``token_type_ids``, ``position_ids``
    (0-based), ``language_ids``, ``document_ids`` (1-based, 0 padding: several sequences in a row, attention confined to
    each). What the family does not take is left out. No rows give no rows, connected to the parameters all the same.
    ``words``: the word embeddings as other readers of this step share them, for one gradient of all.

    **Shape**: inputs (batch, length); results (batch, length, hidden).

    Raises:
        ConfigurationError: no such layer, an input longer than the encoder's positions, or packed rows that
            the family cannot keep apart.
    """
    if not len(inputs["input_ids"]):
        row = _one_row(inputs)
        states = encode(model, row, layers=layers, language_embeddings=language_embeddings, words=words)
        return {layer: tensor[:0] for layer, tensor in states.items()}
    last = num_layers(model)
    asked = {layer: layer_number(model, layer) for layer in layers}
    inner = sorted(set(asked.values()) - {last})
    modules = layer_modules(model) if inner else []
    states = {}
    with ExitStack() as stack:
        stack.enter_context(_words_from(model, words))
        arguments = _forward_arguments(model, inputs, language_embeddings, stack)
        if modules is None:
            output = base_of(model)(**arguments, output_hidden_states=True)
            return {
                n: output.hidden_states[layer] if layer != last else output[0] for n, layer in asked.items()
            }
        if inner:
            stack.enter_context(_uncompiled(model))
        for layer in inner:
            stack.enter_context(_shown(modules[layer], partial(states.__setitem__, layer)))
        if last not in asked.values():
            stack.enter_context(_shown(modules[inner[-1]], _stop))
        with suppress(_Stop):
            states[last] = base_of(model)(**arguments)[0]
    return {n: states[layer] for n, layer in asked.items()}


def add_language_embeddings(embedded: Tensor, language_ids: Tensor, table: nn.Embedding) -> Tensor:
    """Input embeddings plus the vector of each position's language: E[x] + L[language(x)] (Conneau and Lample 2019).

    **Shape**: embedded (batch, length, size); language_ids (batch, length); result as embedded.
    """
    vectors: Tensor = table(language_ids)
    return embedded + vectors.to(embedded.dtype)


def encode_to_layer(
    model: PreTrainedModel,
    inputs: Mapping[str, Tensor],
    layer: int,
    *,
    training: bool,
    language_embeddings: nn.Embedding | None = None,
) -> Tensor:
    """Hidden states of one layer as :func:`encode` gives them, without gradient; with dropout only in ``training``.

    **Shape**: (batch, length, hidden).
    """
    with torch.no_grad(), nullcontext() if training else dropout_off(base_of(model)):
        return encode(model, inputs, layers=(layer,), language_embeddings=language_embeddings)[layer]


@contextmanager
def dropout_off(module: nn.Module) -> Iterator[None]:
    """Evaluation mode inside the block; afterwards every submodule has the mode it had."""
    with _changed(module.modules(), "training", value=False):
        yield


def _one_row(inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A row in place of none: not every kernel takes an empty batch, and DDP and FSDP want every rank to run."""
    filled = ("attention_mask", "document_ids")
    return {
        name: values.new_full((1, *values.shape[1:]), int(name in filled)) for name, values in inputs.items()
    }


def _stop(_: Tensor) -> None:
    raise _Stop


@contextmanager
def _uncompiled(model: PreTrainedModel) -> Iterator[None]:
    """Run an encoder compiled by ``compile()`` as plain code inside the block: compiled code sees no new hooks."""
    with _changed([base_of(model)], "_compiled_call_impl", value=None):
        yield


@contextmanager
def _changed(modules: Iterable[nn.Module], name: str, *, value: Any) -> Iterator[None]:
    """Another value of an attribute inside the block; where blocks overlap, the last to end gives the old one back."""
    modules = list(modules)
    with _LOCK:
        for module in modules:
            blocks, old = _CHANGED.get((module, name), (0, getattr(module, name)))
            _CHANGED[module, name] = blocks + 1, old
            vars(module)[name] = value  # past a module's own __setattr__, which takes 20 times as long
    try:
        yield
    finally:
        with _LOCK:
            for module in modules:
                blocks, old = _CHANGED.pop((module, name))
                if blocks > 1:
                    _CHANGED[module, name] = blocks - 1, old
                else:
                    vars(module)[name] = old


@contextmanager
def _before(module: nn.Module, act: Callable[[tuple[Any, ...], dict[str, Any]], Any]) -> Iterator[None]:
    """Call ``act`` with a module's arguments inside the block, when this thread runs it; it may return others."""
    thread = threading.get_ident()

    # A hook that another thread is setting or removing may be called without keyword arguments.
    def hook(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        return act(args, kwargs or {}) if threading.get_ident() == thread else None

    with _registered(lambda: module.register_forward_pre_hook(hook, with_kwargs=True)):
        yield


@contextmanager
def _registered(register: Callable[[], RemovableHandle]) -> Iterator[None]:
    """Register a hook for the time of a block."""
    with _LOCK:  # two hooks registered at once could get one number
        handle = register()
    try:
        yield
    finally:
        with _LOCK:
            handle.remove()


def _shown(layer: nn.Module, read: Callable[[Tensor], None]) -> AbstractContextManager[None]:
    """Show a layer's input (= the hidden states of its number) to ``read`` for the time of a block."""
    return _before(layer, lambda args, kwargs: read(args[0] if args else kwargs["hidden_states"]))


@contextmanager
def _words_from(model: PreTrainedModel, table: SharedTable | None) -> Iterator[None]:
    """Look word embeddings up in a shared table inside the block, when this thread runs the model.

    A module that does more than look up is left alone, and so is a compiled encoder, which hooks would undo.
    """
    if table is None or not table.trained or is_compiled(model):
        yield
        return
    module, thread = input_embeddings(model), threading.get_ident()
    if type(module) is not nn.Embedding or module.max_norm is not None or module.scale_grad_by_freq:
        yield
        return

    def hook(_: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        if threading.get_ident() != thread:
            return None
        return table.rows(args[0].flatten(), module.padding_idx).view_as(output)

    with _registered(lambda: module.register_forward_hook(hook, prepend=True)):
        yield


def _forward_arguments(
    model: PreTrainedModel, inputs: Mapping[str, Tensor], languages: nn.Embedding | None, stack: ExitStack
) -> dict[str, Any]:
    """The base model's keyword arguments; packed DeBERTa gets its mask by a hook that the stack ends."""
    accepted = _parameters(type(base_of(model)).forward)
    input_ids = inputs["input_ids"]
    attention_mask = inputs.get("attention_mask")
    arguments: dict[str, Any] = {"input_ids": input_ids, "attention_mask": attention_mask}
    if (
        "token_type_ids" in inputs
        and "token_type_ids" in accepted
        and getattr(model.config, "type_vocab_size", 2) > 1
    ):
        arguments["token_type_ids"] = inputs["token_type_ids"]
    documents = inputs.get("document_ids")
    positions = inputs.get("position_ids")
    if documents is not None and positions is None:
        positions = restarted_positions(documents)
    if "language_ids" not in inputs:
        languages = None
    if "position_ids" in accepted:
        positions = _positions(model, inputs, positions, explicit=languages is not None)
        if positions is not None:
            arguments["position_ids"] = positions
    longest = max_length(model)
    if longest is not None and input_ids.shape[1] > longest:
        raise ConfigurationError(
            f"an input has {input_ids.shape[1]} tokens, but the encoder has {longest} positions; "
            f"set `encode: {{max_length: {longest}}}` (specials included) for the stream"
        )
    if languages is not None:
        embedded = input_embeddings(model)(input_ids)
        arguments["inputs_embeds"] = add_language_embeddings(embedded, inputs["language_ids"], languages)
        arguments["input_ids"] = None
    if documents is None:
        return arguments
    require_packable(model)
    mask = document_mask(documents, attention_mask)
    if model.config.model_type == "deberta-v2":  # its embeddings keep the plain mask, which they multiply by
        arguments["attention_mask"] = documents > 0 if attention_mask is None else attention_mask
        stack.enter_context(_uncompiled(model))
        layers = cast(nn.Module, base_of(model).encoder)
        stack.enter_context(_before(layers, lambda args, kwargs: ((args[0], mask, *args[2:]), kwargs)))
    else:
        arguments["attention_mask"] = attention_inputs(model, mask, model.dtype)
    return arguments


def _positions(
    model: PreTrainedModel, inputs: Mapping[str, Tensor], positions: Tensor | None, *, explicit: bool
) -> Tensor | None:
    """Position ids as the family counts them; ``None`` leaves them to the library."""
    table = _position_table(model)
    offset = 0 if table is None else _position_offset(table)
    if offset == 0:
        return positions
    padding = offset - 1
    if positions is not None:
        real = (
            inputs["attention_mask"].bool() if "attention_mask" in inputs else inputs["input_ids"] != padding
        )
        return torch.where(real, positions + offset, padding)
    if explicit:  # given embeddings instead of ids, the library could not see the padding
        real = inputs["input_ids"] != padding
        return torch.where(real, real.cumsum(dim=1) + padding, padding)
    return None


def _position_table(model: PreTrainedModel) -> nn.Embedding | None:
    base = base_of(model)
    for owner in (getattr(base, "embeddings", None), base):  # XLM has it beside the word embeddings
        for name in ("position_embeddings", "embed_positions"):  # the second is BART's
            table = getattr(owner, name, None)
            if isinstance(table, nn.Embedding):
                return table
    return None


def _position_offset(table: nn.Embedding) -> int:
    """RoBERTa and its kin count positions from padding id + 1; their table has a padding row. BART's counts from 2."""
    own = getattr(table, "offset", None)
    if isinstance(own, int):
        return own
    return 0 if table.padding_idx is None else table.padding_idx + 1


@lru_cache(maxsize=64)
def _parameters(forward: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(forward).parameters)
