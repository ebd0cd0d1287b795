"""The one way a model is loaded: every weight from the file, finite, from safetensors only, without remote code."""

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

_BUILT = ("num_hidden_layers", "num_hidden_groups", "inner_group_num")
"""What a configuration may have any number of, and the library builds one by one."""
_MANY_LAYERS = 100
_SPARE, _SPARE_SHARE = 64, 0.02
"""Embeddings beyond the tokenizer's entries that a model may have, which published ones do for the sake of kernels."""
_NO_WEIGHTS = ("position_ids", "token_type_ids", "inv_freq")
"""Last names of tensors that old checkpoints hold and that are rebuilt from the configuration."""


def load_config(checkpoint: str | Path, **settings: Any) -> PreTrainedConfig:
    """A checkpoint's configuration; ``**settings`` but ``revision`` replace values of the file."""
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
    """A model in evaluation mode on the CPU whose every weight comes from the checkpoint's files.

    ``new_head``: start a new head, and a new pooler, where the checkpoint has none that fits (``AutoModel`` has no
    head, so that only a pooler may be new).
    ``keep_left_out``: keep the tensors that this class of model has no place for, see :func:`left_out`.

    Raises:
        ConfigurationError: files that cannot be read; weights that are missing, that the configuration has no place
            for, that have another shape than it says, or that are not finite.
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
    hint: str = "",
) -> None:
    """Refuse a tokenizer that is not the model's, as far as that can be seen; ``hint`` ends the error.

    Of one that was read from where the model was, only entries without an embedding are refused: there may be fewer.
    """
    rows, entries = input_embeddings(model).num_embeddings, len(tokenizer)
    if entries > rows:
        raise ConfigurationError(
            f"{source}: the model has {rows} word embeddings, the tokenizer has {entries} entries; use the "
            f"tokenizer that was saved with the model{hint}"
        )
    if tokenizer.name_or_path and tokenizer.name_or_path == model.name_or_path:
        return
    if why := _not_its_own(tokenizer, model, rows):
        raise ConfigurationError(
            f"{source}: the tokenizer is another model's ({why}); use the one that was saved with the model{hint}"
        )


def _not_its_own(tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, rows: int) -> str:
    """How it shows that a tokenizer is not the model's: its ids, its padding, its size."""
    beside, trained = Path(model.name_or_path or "", "tokenizer.json"), dict[str, int]()
    if model.name_or_path and beside.is_file():
        trained = Tokenizer.from_file(str(beside)).get_vocab()
    for piece, number in tokenizer.get_vocab().items():
        if trained.get(piece, number) != number:
            return f"{piece!r} is token {trained[piece]} in {beside} and {number} in the tokenizer"
    padding = getattr(model.config, "pad_token_id", None)
    if None not in (padding, tokenizer.pad_token_id) and padding != tokenizer.pad_token_id:
        return f"padding is token {padding} in the model and {tokenizer.pad_token_id} in the tokenizer"
    if rows > len(tokenizer) + max(_SPARE, _SPARE_SHARE * len(tokenizer)):
        return f"the model has {rows} word embeddings, the tokenizer {len(tokenizer)} entries"
    return ""


def _require_weights_for_layers(config: PreTrainedConfig, folder: str | Path, revision: str = "main") -> None:
    """Refuse more layers than there are tensors, before a model with all of them is built, which can take hours."""
    for name in _BUILT:
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
        names = [
            cached_file(folder, name, _raise_exceptions_for_missing_entries=False, revision=revision)
            for name in (SAFE_WEIGHTS_NAME, SAFE_WEIGHTS_INDEX_NAME)
        ]
        if names[0] is None and names[1] is not None:
            return [Path(file) for file in get_checkpoint_shard_files(folder, names[1], revision=revision)[0]]
    return [] if names[0] is None else [Path(names[0])]


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
    report = logging.getLogger("transformers")
    level, bars = report.level, is_progress_bar_enabled()
    report.setLevel(logging.ERROR)
    disable_progress_bar()

    def restore() -> None:
        report.setLevel(level)
        if bars:
            enable_progress_bar()

    return restore


quiet = ProcessWide(_silence).block
"""A block with neither the library's bars nor its report on weights, which are checked here."""


def few(names: Sequence[str]) -> str:
    """The first three names, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _read_left_out(
    model: PreTrainedModel, names: Iterable[str], folder: str | Path, revision: str
) -> dict[str, Tensor]:
    prefix = f"{model.base_model_prefix}."
    unread = {name for name in names if not name.endswith(_NO_WEIGHTS)}
    values: dict[str, Tensor] = {}
    for path in weight_files(folder, revision) if unread else ():
        with reading(folder, path.name), safe_open(path, framework="pt") as tensors:
            for name in unread & set(tensors.keys()):
                bare = _part(model, name) == "pooler" and not name.startswith(prefix)
                values[f"{prefix}{name}" if bare else name] = tensors.get_tensor(name)
    require_finite_weights(values.items(), folder)
    return values


def _require_complete(
    model: PreTrainedModel, report: Mapping[str, Any], folder: str | Path, *, without_head: str | None
) -> None:
    """``without_head`` is the error for a head that is missing; with ``None`` it may be new."""
    missing, unexpected = sorted(report["missing_keys"]), sorted(report["unexpected_keys"])
    wrong = [f"{name} is missing" for name in missing if _part(model, name) == "encoder"]
    wrong += [
        f"{name} has no place"
        for name in unexpected
        if _part(model, name) == "encoder" and not name.endswith(_NO_WEIGHTS)
    ]
    wrong += [
        f"{name} has shape {tuple(saved)} instead of {tuple(needed)}"
        for name, saved, needed in sorted(report["mismatched_keys"])
        if _part(model, name) == "encoder" or without_head is not None
    ]
    if wrong:
        raise ConfigurationError(
            f"{folder}: weights do not fit config.json ({few(wrong)}); give a complete checkpoint, with the "
            "configuration that it was saved with"
        )
    if missing and without_head is not None:
        raise ConfigurationError(f"{folder}: {without_head} (missing: {few(missing)})")


def _part(model: PreTrainedModel, name: str) -> Literal["encoder", "pooler", "head"]:
    """Which part of a model a tensor belongs to, whether its name has the encoder's prefix or not."""
    prefix = f"{model.base_model_prefix}."
    bare = name.removeprefix(prefix)
    top = bare.split(".")[0]
    if top.startswith("pooler"):
        return "pooler"
    base = _tops(model.base_model)
    if model.base_model is model:
        return "encoder" if top in base else "head"
    return "encoder" if name.startswith(prefix) or top in base - _tops(model) else "head"


def _tops(module: nn.Module) -> set[str]:
    """First parts of the names of a module's tensors."""
    return {name.split(".")[0] for name in module.state_dict()}
