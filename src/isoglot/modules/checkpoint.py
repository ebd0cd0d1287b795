"""Load models, all in one way: every weight from the file and finite, safetensors only, no remote code."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import safe_open
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, SAFE_WEIGHTS_NAME
from transformers.utils.hub import cached_file, get_checkpoint_shard_files
from transformers.utils.logging import disable_progress_bar, enable_progress_bar, is_progress_bar_enabled

from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.checkpoints.reading import reading
from isoglot.core.errors import ConfigurationError
from isoglot.modules.encoder import input_embeddings
from isoglot.modules.finite import non_finite
from isoglot.runs.process_wide import ProcessWide, Restore

_LAYER_COUNTS = ("num_hidden_layers", "num_hidden_groups", "inner_group_num")
"""Settings of a configuration that count modules, which the library builds one by one."""
_MANY_LAYERS = 100
"""Up to this count, modules are built without a look at the number of weights."""
_SPARE, _SPARE_SHARE = 64, 0.02
"""A model may have this many embeddings more than its tokenizer has entries, or this share of them if that is more:
published models round the number up, for fast kernels."""
_NO_WEIGHTS = ("position_ids", "token_type_ids", "inv_freq")
"""Last names of tensors that old checkpoints hold and that are rebuilt from the configuration."""


def load_config(checkpoint: str | Path, **settings: Any) -> PreTrainedConfig:
    """Read a checkpoint's configuration.

    ``settings``: values in place of the file's, and ``revision``, the one to read from the hub.
    """
    folder = checkpoint_folder(checkpoint)
    with reading(folder, "config.json"), quiet():
        config: PreTrainedConfig = AutoConfig.from_pretrained(
            str(folder), trust_remote_code=False, **settings
        )
    if isinstance(folder, Path):
        _require_weights_for_layers(config, folder)
    return config


def load_checkpoint(
    auto: Any,
    checkpoint: str | Path,
    *,
    config: PreTrainedConfig | None = None,
    new_head: bool = False,
    keep_left_out: bool = False,
    without_head: str = "has no head; give a checkpoint saved with one",
    dtype: torch.dtype = torch.float32,
    revision: str = "main",
    **options: Any,
) -> PreTrainedModel:
    """Load a model in evaluation mode on the CPU, all of whose weights come from the checkpoint's files.

    ``auto``: a class of transformers with ``from_pretrained``, such as ``AutoModelForMaskedLM``.
    ``config``: the configuration to build; by default the checkpoint's.
    ``new_head``: start a new head, and a new pooler, where the checkpoint has none that fits (``AutoModel`` has no
    head, so that only a pooler may be new).
    ``keep_left_out``: keep the tensors that this class of model has no place for, see :func:`left_out`.
    ``without_head``: the message if the head is missing.
    ``options``: further arguments of ``from_pretrained``.

    Raises:
        ConfigurationError: files that cannot be read; weights that are missing, that the configuration has no place
            for, that have another shape than the configuration says, or that are not finite.
    """
    folder = checkpoint_folder(checkpoint)
    config = load_config(folder, revision=revision) if config is None else config
    _require_weights_for_layers(config, folder, revision)
    with reading(folder, SAFE_WEIGHTS_NAME), quiet():
        model, report = auto.from_pretrained(
            str(folder),
            config=config,
            dtype=dtype,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are reported below, by name
            revision=revision,
            **options,
        )
    _require_complete(model, report, folder, without_head=None if new_head else without_head)
    require_finite_weights(model.named_parameters(), folder)
    if new_head:
        model.new_weights = {*report["missing_keys"], *(name for name, *_ in report["mismatched_keys"])}
    if keep_left_out:
        model.left_out = _read_left_out(model, report["unexpected_keys"], folder, revision)
    return model  # type: ignore[no-any-return]


def require_finite_weights(weights: Iterable[tuple[str, Tensor]], source: str | Path) -> None:
    """Refuse weights that are NaN or infinite."""
    wrong = non_finite(weights)
    if wrong:
        raise ConfigurationError(
            f"{source}: NaN or infinite weights in {few(wrong)}; use a checkpoint of a run that did not diverge"
        )


def require_fitting(
    tokenizer: PreTrainedTokenizerBase,
    model: PreTrainedModel,
    source: str | Path = "model",
    *,
    may_grow: bool = False,
    hint: str = "",
) -> None:
    """Refuse a tokenizer that is recognisably not the model's.

    1. It has more entries than the model has word embeddings, unless the embeddings ``may_grow``.
    2. It was not read from the same place as the model, and differs from the model's: in the id of a piece, in the
       padding id, or because it has far fewer entries than there are embeddings (:func:`_difference`).

    ``source``, ``hint``: the beginning and the end of the message.
    """
    rows, entries = input_embeddings(model).num_embeddings, len(tokenizer)
    if entries > rows and not may_grow:
        raise ConfigurationError(
            f"{source}: the model has {rows} word embeddings, the tokenizer has {entries} entries; use the "
            f"tokenizer that was saved with the model{hint}"
        )
    if tokenizer.name_or_path and tokenizer.name_or_path == model.name_or_path:
        return
    if difference := _difference(tokenizer, model, rows):
        raise ConfigurationError(
            f"{source}: the tokenizer is another model's ({difference}); use the one that was saved with the "
            f"model{hint}"
        )


def _difference(tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, rows: int) -> str:
    """The first difference between a tokenizer and the model's own: in ids, padding or size; empty if there is none."""
    file = Path(model.name_or_path or "", "tokenizer.json")
    models_ids: dict[str, int] = {}
    if model.name_or_path and file.is_file():
        models_ids = Tokenizer.from_file(str(file)).get_vocab()
    for piece, number in tokenizer.get_vocab().items():
        if models_ids.get(piece, number) != number:
            return f"{piece!r} is token {models_ids[piece]} in {file} and {number} in the tokenizer"
    padding = getattr(model.config, "pad_token_id", None)
    if None not in (padding, tokenizer.pad_token_id) and padding != tokenizer.pad_token_id:
        return f"padding is token {padding} in the model and {tokenizer.pad_token_id} in the tokenizer"
    if rows > len(tokenizer) + max(_SPARE, _SPARE_SHARE * len(tokenizer)):
        return f"the model has {rows} word embeddings, the tokenizer {len(tokenizer)} entries"
    return ""


def _require_weights_for_layers(config: PreTrainedConfig, folder: str | Path, revision: str = "main") -> None:
    """Refuse a configuration with more layers than the file has tensors: to build them could take hours."""
    for name in _LAYER_COUNTS:
        count = getattr(config, name, 0)
        if not isinstance(count, int) or count <= _MANY_LAYERS:
            continue
        weights = len(weight_names(folder, revision))
        if count > weights:
            raise ConfigurationError(
                f"{folder}: config.json has {name}: {count:,}, but the weights are {weights:,} tensors; restore the "
                "configuration that they were saved with"
            )


def weight_files(checkpoint: str | Path, revision: str = "main") -> list[Path]:
    """The safetensors files of a checkpoint; none where the library converts other formats."""
    folder = str(checkpoint_folder(checkpoint))
    with reading(folder, SAFE_WEIGHTS_NAME), quiet():
        # One file with all weights, or an index of several.
        whole, shards_index = (
            cached_file(folder, name, _raise_exceptions_for_missing_entries=False, revision=revision)
            for name in (SAFE_WEIGHTS_NAME, SAFE_WEIGHTS_INDEX_NAME)
        )
        if whole is None and shards_index is not None:
            shards, _ = get_checkpoint_shard_files(folder, shards_index, revision=revision)
            return [Path(shard) for shard in shards]
    return [] if whole is None else [Path(whole)]


def weight_names(checkpoint: str | Path, revision: str = "main") -> set[str]:
    """The names of the tensors in a checkpoint's safetensors files."""
    names: set[str] = set()
    for path in weight_files(checkpoint, revision):
        with reading(path.parent, path.name), safe_open(path, framework="pt") as tensors:
            names.update(tensors.keys())
    return names


def left_out(model: PreTrainedModel) -> dict[str, Tensor]:
    """The tensors of a checkpoint that the model has no place for: a pooler, another head."""
    tensors: dict[str, Tensor] = vars(model).get("left_out", {})
    return tensors


def new_weights(model: PreTrainedModel) -> set[str]:
    """The names of the weights that were drawn because the checkpoint had none that fit (``new_head``)."""
    names: set[str] = vars(model).get("new_weights", set())
    return names


def _silence() -> Restore:
    """Turn the library's messages and progress bars off; return the function that restores them."""
    logger = logging.getLogger("transformers")
    level, bars = logger.level, is_progress_bar_enabled()
    logger.setLevel(logging.ERROR)
    disable_progress_bar()

    def restore() -> None:
        logger.setLevel(level)
        if bars:
            enable_progress_bar()

    return restore


quiet = ProcessWide(_silence).block
"""A block with neither the library's bars nor its report on weights, which are checked here."""


def few(names: Sequence[str]) -> str:
    """The first three names, and the number of the others: ``a, b, c and 4 more``."""
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown


def _read_left_out(
    model: PreTrainedModel, names: Iterable[str], folder: str | Path, revision: str
) -> dict[str, Tensor]:
    """Read the tensors of these names, which the library did not; a pooler gets the encoder's prefix."""
    prefix = f"{model.base_model_prefix}."
    unread = {name for name in names if not name.endswith(_NO_WEIGHTS)}
    values: dict[str, Tensor] = {}
    for path in weight_files(folder, revision) if unread else ():
        with reading(folder, path.name), safe_open(path, framework="pt") as tensors:
            for name in unread & set(tensors.keys()):
                lacks_prefix = _part(model, name) == "pooler" and not name.startswith(prefix)
                values[f"{prefix}{name}" if lacks_prefix else name] = tensors.get_tensor(name)
    require_finite_weights(values.items(), folder)
    return values


def _require_complete(
    model: PreTrainedModel, report: Mapping[str, Any], folder: str | Path, *, without_head: str | None
) -> None:
    """Refuse a model of which the library's loading report says that weights do not fit.

    1. The encoder has to be complete: no weight missing, none without a place in the model, none of another shape.
    2. A head, and a pooler, may be missing or of another shape only where a new one is allowed.
    3. Weights of another head or of a pooler may be without a place: they are left out (:func:`left_out`).

    ``without_head``: the message for a missing head; ``None`` allows a new one.
    """
    missing, unexpected = sorted(report["missing_keys"]), sorted(report["unexpected_keys"])
    new_allowed = without_head is None
    wrong = [f"{name} is missing" for name in missing if _part(model, name) == "encoder"]
    without_place = [name for name in unexpected if not name.endswith(_NO_WEIGHTS)]
    wrong += [f"{name} has no place" for name in without_place if _part(model, name) == "encoder"]
    for name, saved, needed in sorted(report["mismatched_keys"]):
        if _part(model, name) == "encoder" or not new_allowed:
            wrong.append(f"{name} has shape {tuple(saved)} instead of {tuple(needed)}")
    if wrong:
        raise ConfigurationError(
            f"{folder}: weights do not fit config.json ({few(wrong)}); give a complete checkpoint, with the "
            "configuration that it was saved with"
        )
    if missing and without_head is not None:
        raise ConfigurationError(f"{folder}: {without_head} (missing: {few(missing)})")


def _part(model: PreTrainedModel, name: str) -> Literal["encoder", "pooler", "head"]:
    """The part of a model that a tensor belongs to, by its name in the file.

    A file may name the tensors of BERT's encoder ``bert.encoder.…`` or, if it was saved without head, ``encoder.…``.

    1. ``pooler…``, with or without the prefix ``bert.``: the pooler.
    2. A model without head: the encoder, if the encoder has such a name, else another model's head.
    3. A model with head: the encoder, if the name has the prefix, or is one of the encoder and not of the head.
    """
    prefix = f"{model.base_model_prefix}."
    first_name = name.removeprefix(prefix).split(".")[0]
    if first_name.startswith("pooler"):  # 1
        return "pooler"
    names_in_encoder = _first_names(model.base_model)
    if model.base_model is model:  # 2
        return "encoder" if first_name in names_in_encoder else "head"
    # 3. Without the prefix, a name that both have is the head's.
    names_in_encoder_alone = names_in_encoder - _first_names(model)
    if name.startswith(prefix) or first_name in names_in_encoder_alone:
        return "encoder"
    return "head"


def _first_names(module: nn.Module) -> set[str]:
    """The names of a module's tensors up to the first dot: ``encoder`` of ``encoder.layer.0.output.dense.weight``."""
    return {name.split(".")[0] for name in module.state_dict()}
