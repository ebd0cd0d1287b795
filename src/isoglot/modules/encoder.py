"""One way to run any masked-LM encoder: chosen layers, early exit, packed rows, language embeddings.

The number of a layer is its place in Hugging Face's ``hidden_states``: of 12 layers, 0 is the output of the embeddings,
1 the output of the first layer (and the input of the second), 12 ``last_hidden_state``. So the hidden states of number
``l`` are the input of ``layer_modules(model)[l]``, where a hook reads them. Position ids count from 0 in isoglot,
whatever the family; RoBERTa's offset is added here.

Threads may share a model: a hook acts only in the thread that set it (``hooks.py``).
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from isoglot.core.errors import ConfigurationError, Problem
from isoglot.modules.document_mask import (
    attention_inputs,
    document_mask,
    require_packable,
    restarted_positions,
)
from isoglot.modules.hooks import before_forward, changed_attribute, registered_hook
from isoglot.modules.shared_table import SharedTable

# Only for types: a `PackedEncoder`, a quantised file, runs without transformers.
if TYPE_CHECKING:
    from transformers import PreTrainedModel


class _Stop(Exception):  # noqa: N818 - a signal, not an error
    """Raised by a hook to end a forward early."""


def unwrapped(model: Any) -> PreTrainedModel:
    """Take the ``transformers`` model out of a wrapper of peft; adapters inside the layers stay in place.

    Raises:
        ConfigurationError: ``model`` is another object, or peft trains prompts in front of its input.
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
    """The number of transformer layers of the encoder, which is also the number of its last hidden states."""
    return int(model.config.num_hidden_layers)


def layer_number(model: PreTrainedModel, layer: int, *, name: str = "layer") -> int:
    """Check the number of a layer, 0 for the embeddings; negative numbers count from the end, −1 for the last.

    ``name`` is the option that the message names.
    """
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
    """The encoder's transformer layers in order; ``None`` if they are not separate modules (ALBERT repeats one).

    No family names its layers alike, so they are found by their form: a ``ModuleList``

    1. of as many members as the encoder has layers,
    2. all of one class,
    3. that is not inside another such list.
    4. If several lists are left, those of the library's layer class count. There must be exactly one.
    """
    found: dict[str, nn.ModuleList] = {}
    for name, module in base_of(model).named_modules():  # outer modules come before those inside them
        if not isinstance(module, nn.ModuleList) or len(module) != num_layers(model):  # 1
            continue
        of_one_class = len({type(member) for member in module}) == 1  # 2
        inside_another = any(name.startswith(f"{outer}.") for outer in found)  # 3
        if of_one_class and not inside_another:
            found[name] = module
    lists = list(found.values())
    if len(lists) > 1:  # 4
        from transformers.modeling_layers import GradientCheckpointingLayer  # noqa: PLC0415 - loads transformers

        lists = [layers for layers in lists if isinstance(layers[0], GradientCheckpointingLayer)]
    return list(lists[0]) if len(lists) == 1 else None


def is_compiled(model: PreTrainedModel) -> bool:
    """Whether the base model is compiled, which hooks on its layers would undo."""
    return base_of(model)._compiled_call_impl is not None


def encode(
    model: PreTrainedModel,
    inputs: Mapping[str, Tensor],
    *,
    layers: tuple[int, ...],
    language_embeddings: nn.Embedding | None = None,
    word_table: SharedTable | None = None,
) -> dict[int, Tensor]:
    """Run one forward pass up to the highest layer asked for; return the hidden states of ``layers``, with gradient.

    ``inputs``: ``input_ids``, ``attention_mask`` and, where there are any, ``token_type_ids``, ``position_ids``
    (from 0), ``language_ids``, ``document_ids`` (from 1, 0 padding: several sequences in a row, attention confined to
    each). Inputs that the family does not take are left out. A batch without rows gives states without rows, which are
    connected to the parameters all the same.
    ``layers``: numbers of layers, 0 for the embeddings; they are also the keys of the result.
    ``language_embeddings``: table that is added to the input embeddings, where there are ``language_ids``.
    ``word_table``: the word embeddings as a table that other readers of this step share, so that there is one gradient.

    **Shape**: inputs (batch, length); results (batch, length, hidden).

    Raises:
        ConfigurationError: no such layer, an input longer than the encoder's positions, or packed rows that
            the family cannot keep apart.
    """
    if not len(inputs["input_ids"]):
        row = _one_row(inputs)
        of_row = encode(
            model, row, layers=layers, language_embeddings=language_embeddings, word_table=word_table
        )
        return {layer: tensor[:0] for layer, tensor in of_row.items()}
    if not layers:
        return {}
    last = num_layers(model)
    number_of = {layer: layer_number(model, layer) for layer in layers}  # of 12 layers: {-1: 12, 8: 8}
    wanted = set(number_of.values())
    inner = sorted(wanted - {last})  # read by hooks; the last states are the output of the model
    # A list of modules, None if the layers are not separate modules, or [] if no inner layer is read.
    modules = layer_modules(model) if inner else []
    states: dict[int, Tensor] = {}
    with ExitStack() as stack:  # the hooks below are removed at its end
        stack.enter_context(_looking_words_up_in(model, word_table))
        arguments = _forward_arguments(model, inputs, language_embeddings, stack)
        # 1. The layers are not separate modules (ALBERT): the library keeps the states of all of them.
        if modules is None:
            output = base_of(model)(**arguments, output_hidden_states=True)
            states = dict(enumerate(output.hidden_states))
            states[last] = output[0]
            return {layer: states[number] for layer, number in number_of.items()}
        # 2. Otherwise hooks keep the inputs of layers. If the last states are not wanted, one more hook stops the
        #    forward at the highest layer.
        if inner:
            stack.enter_context(_uncompiled(model))
        for number in inner:
            keep = partial(states.__setitem__, number)
            stack.enter_context(_calling_with_input(modules[number], keep))
        if last not in wanted:
            # PyTorch calls the hooks of a module in the order of registration, so `keep` runs before `_stop`.
            stack.enter_context(_calling_with_input(modules[inner[-1]], _stop))
        with suppress(_Stop):
            states[last] = base_of(model)(**arguments)[0]
    return {layer: states[number] for layer, number in number_of.items()}


def add_language_embeddings(embedded: Tensor, language_ids: Tensor, table: nn.Embedding) -> Tensor:
    """Add to each input embedding the vector of its language: E[x] + L[language(x)] (Conneau and Lample 2019, XLM).

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
    """The hidden states of one layer by :func:`encode`, without gradient; with dropout only in ``training``.

    **Shape**: (batch, length, hidden).
    """
    with torch.no_grad(), nullcontext() if training else dropout_off(base_of(model)):
        return encode(model, inputs, layers=(layer,), language_embeddings=language_embeddings)[layer]


@contextmanager
def dropout_off(module: nn.Module) -> Iterator[None]:
    """Put a module in evaluation mode for the time of a block; then every submodule gets its own mode back."""
    with changed_attribute(module.modules(), "training", value=False):
        yield


def _one_row(inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Inputs of one row in place of none.

    Not every kernel takes an empty batch, and DDP and FSDP want every rank to run the model. The row is all zeros, but
    its tokens are real ones: ones in ``attention_mask`` and ``document_ids``.
    """
    row = {}
    for name, values in inputs.items():
        fill = 1 if name in ("attention_mask", "document_ids") else 0
        row[name] = values.new_full((1, *values.shape[1:]), fill)
    return row


def _stop(_: Tensor) -> None:
    """End the forward in whose hook this is called."""
    raise _Stop


@contextmanager
def _uncompiled(model: PreTrainedModel) -> Iterator[None]:
    """Run a compiled encoder as plain code for the time of a block: compiled code does not call new hooks."""
    with changed_attribute([base_of(model)], "_compiled_call_impl", value=None):
        yield


def _calling_with_input(layer: nn.Module, function: Callable[[Tensor], None]) -> AbstractContextManager[None]:
    """Call ``function`` with a layer's input, the hidden states of its number, for the time of a block."""
    # Families pass the states as the first argument or by name.
    return before_forward(layer, lambda args, kwargs: function(args[0] if args else kwargs["hidden_states"]))


@contextmanager
def _looking_words_up_in(model: PreTrainedModel, table: SharedTable | None) -> Iterator[None]:
    """Let the model of this thread look its word embeddings up in a shared table, for the time of a block.

    Two kinds of models keep their own look-up: a compiled encoder, which hooks would undo, and an embedding module that
    does more than look up rows.
    """
    if table is None or not table.trained or is_compiled(model):
        yield
        return
    module, thread = input_embeddings(model), threading.get_ident()
    if type(module) is not nn.Embedding or module.max_norm is not None or module.scale_grad_by_freq:
        yield
        return

    def hook(_: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        if threading.get_ident() != thread:  # another thread's forward keeps its output
            return None
        return table.rows(args[0].flatten(), module.padding_idx).view_as(output)

    with registered_hook(lambda: module.register_forward_hook(hook, prepend=True)):
        yield


def _forward_arguments(
    model: PreTrainedModel,
    inputs: Mapping[str, Tensor],
    language_embeddings: nn.Embedding | None,
    stack: ExitStack,
) -> dict[str, Any]:
    """The keyword arguments of the base model.

    ``stack``: context managers that end with the forward; the hook that gives a packed DeBERTa its mask is added.
    """
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

    # Positions
    documents = inputs.get("document_ids")
    positions = inputs.get("position_ids")
    if documents is not None and positions is None:
        positions = restarted_positions(documents)
    if "language_ids" not in inputs:
        language_embeddings = None
    if "position_ids" in accepted:
        positions = _positions(model, inputs, positions, gets_embeddings=language_embeddings is not None)
        if positions is not None:
            arguments["position_ids"] = positions
    longest = max_length(model)
    if longest is not None and input_ids.shape[1] > longest:
        raise ConfigurationError(
            f"an input has {input_ids.shape[1]} tokens, but the encoder has {longest} positions; "
            f"set `encode: {{max_length: {longest}}}` (specials included) for the stream"
        )

    # Language embeddings: the model gets embeddings instead of ids.
    if language_embeddings is not None:
        embedded = input_embeddings(model)(input_ids)
        embedded = add_language_embeddings(embedded, inputs["language_ids"], language_embeddings)
        arguments["inputs_embeds"] = embedded
        arguments["input_ids"] = None

    # Packed rows: attention confined to documents.
    if documents is None:
        return arguments
    require_packable(model)
    mask = document_mask(documents, attention_mask)
    if model.config.model_type == "deberta-v2":
        # DeBERTa's embeddings are multiplied by the mask, so they need the plain one; its layers get that of documents.
        arguments["attention_mask"] = documents > 0 if attention_mask is None else attention_mask
        stack.enter_context(_uncompiled(model))
        layers = cast(nn.Module, base_of(model).encoder)
        stack.enter_context(before_forward(layers, lambda args, kwargs: ((args[0], mask, *args[2:]), kwargs)))
    else:
        arguments["attention_mask"] = attention_inputs(model, mask, model.dtype)
    return arguments


def _positions(
    model: PreTrainedModel, inputs: Mapping[str, Tensor], positions: Tensor | None, *, gets_embeddings: bool
) -> Tensor | None:
    """Position ids as the family counts them; ``None`` leaves them to the library.

    1. BERT and others that count from 0: ``positions`` unchanged.
    2. RoBERTa and others that count from padding id + 1: that is added, and padding has the padding id.
    3. Without ``positions``, such a family counts the tokens that are not padding. The library does so itself from the
       ids. If it gets embeddings instead (``gets_embeddings``), it cannot see the padding, and the same is done here.
    """
    table = _position_table(model)
    offset = 0 if table is None else _position_offset(table)
    if offset == 0:  # 1
        return positions
    padding = offset - 1
    if positions is not None:  # 2
        has_mask = "attention_mask" in inputs
        real = inputs["attention_mask"].bool() if has_mask else inputs["input_ids"] != padding
        return torch.where(real, positions + offset, padding)
    if gets_embeddings:  # 3
        real = inputs["input_ids"] != padding
        return torch.where(real, real.cumsum(dim=1) + padding, padding)
    return None


def _position_table(model: PreTrainedModel) -> nn.Embedding | None:
    """The table of position embeddings, under the names that the families give it; ``None`` if there is none."""
    base = base_of(model)
    for owner in (getattr(base, "embeddings", None), base):  # XLM has it beside the word embeddings
        for name in ("position_embeddings", "embed_positions"):  # the second is BART's
            table = getattr(owner, name, None)
            if isinstance(table, nn.Embedding):
                return table
    return None


def _position_offset(table: nn.Embedding) -> int:
    """The number of the first position: 0 (BERT), padding id + 1 (RoBERTa, whose table has a padding row), 2 (BART)."""
    own = getattr(table, "offset", None)  # BART's
    if isinstance(own, int):
        return own
    return 0 if table.padding_idx is None else table.padding_idx + 1


@lru_cache(maxsize=64)
def _parameters(forward: Callable[..., Any]) -> frozenset[str]:
    """The names of a forward's parameters."""
    return frozenset(inspect.signature(forward).parameters)
