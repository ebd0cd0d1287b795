"""An encoder with a masked-LM head: from a folder, from the hub, or from scratch."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import (
    AutoConfig,
    AutoModelForMaskedLM,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

from isoglot.core.checks import did_you_mean
from isoglot.core.errors import ConfigurationError, Problem, reason
from isoglot.core.seeding import seed_for
from isoglot.modules.checkpoint import load_checkpoint, load_config, require_fitting, weight_names
from isoglot.modules.encoder import input_embeddings

ARCHITECTURES: dict[str, dict[str, Any]] = {
    "bert": {},
    "roberta": {"type_vocab_size": 1},
    "xlm-roberta": {"type_vocab_size": 1},
    "distilbert": {},
    "deberta-v2": {
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "relative_attention": True,
        "position_buckets": 256,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_biased_input": False,
        "type_vocab_size": 0,
        "legacy": False,
    },
    "modernbert": {},
    "eurobert": {"tie_word_embeddings": False},
}
"""Families to build from scratch, with what their published checkpoints set beside the library's defaults."""

_OPTIONS = ("path", "architecture", "revision", "attention", "seed", "resize_vocabulary", "new_head")
"""Keys of a specification that are isoglot's own; all others are settings of the library's configuration."""
_ALIASES = {"distilbert": {"intermediate_size": "hidden_dim", "hidden_act": "activation",
                           "hidden_dropout_prob": "dropout", "attention_probs_dropout_prob": "attention_dropout"},
            "modernbert": {"hidden_act": "hidden_activation", "hidden_dropout_prob": "mlp_dropout",
                           "attention_probs_dropout_prob": "attention_dropout"}}  # fmt: skip
"""BERT's names of settings, which a recipe may use for every family, and the names that a family gives them."""
_SPECIALS = ("pad", "bos", "eos", "cls", "sep")
"""Special tokens whose ids a configuration has."""
_COUNT_FROM_PADDING = ("camembert", "data2vec-text", "xmod", "longformer", "ibert", "mpnet", "luke")
"""Families that count positions from the padding's id + 1 as RoBERTa does, without `roberta` in their name."""


def load_masked_lm(
    spec: Mapping[str, Any] | str | Path,
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
    seed: int = 0,
) -> PreTrainedModel:
    """Load an encoder with its masked-LM head, or build one.

    Args:
        spec: a folder or hub name, or a mapping with either

            * ``path``: folder or hub name, and optionally ``revision``;
              ``new_head: true`` accepts a checkpoint without masked-LM head and starts a new one;
              ``resize_vocabulary: true`` grows the embeddings to the tokenizer; any further key overrides the
              checkpoint's configuration (``hidden_dropout_prob: 0``; the exported encoder gets the checkpoint's
              original dropout again);
            * ``architecture``: one of :data:`ARCHITECTURES`; further keys are the library's configuration
              arguments (``hidden_size``, ``num_hidden_layers``, …); weights are drawn from ``seed``.

            In both, ``attention`` chooses the kernel (``sdpa``, ``eager``, ``flash_attention_2``, …).
        tokenizer: gives a model from scratch its vocabulary size and special ids; must fit a model that is loaded.
        seed: seed of new weights, unless ``spec`` has one.

    Returns:
        The model in training mode, fp32, on the CPU. Weights are read from safetensors only and no remote
        code is run.

    Raises:
        ConfigurationError: unknown keys, a missing folder, an unreachable hub, weights that are not
            safetensors, a model that is not a masked-LM encoder, or a tokenizer with more entries than the
            embeddings have rows.

    Example:
        >>> model = load_masked_lm({"architecture": "bert", "vocab_size": 99, "hidden_size": 16,
        ...     "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32})
        >>> input_embeddings(model).num_embeddings
        99
    """
    settings = dict(spec) if isinstance(spec, Mapping) else {"path": str(spec)}
    if ("path" in settings) == ("architecture" in settings):
        raise ConfigurationError(
            f"model: exactly one of 'path' and 'architecture' is needed, got {sorted(settings)}; "
            "write `model: {path: FOLDER}` or `model: {architecture: bert, hidden_size: 256, ...}`"
        )
    kernel = settings.get("attention")
    # New weights depend on the seed alone, and the caller's random numbers not on this call.
    with torch.random.fork_rng(devices=[]):
        # torch.manual_seed would seed the generators of GPUs too, which this block does not restore.
        torch.default_generator.manual_seed(seed_for(int(settings.get("seed", seed)), "model"))
        if "architecture" in settings:
            model = _from_scratch(model_config(settings, tokenizer=tokenizer), kernel)
        else:
            model = _from_path(settings, kernel)
            _fit_vocabulary(model, settings, tokenizer)
    model.train()
    return model


def masked_lm_config(path: str | Path, *, revision: str = "main") -> PreTrainedConfig:
    """Read a checkpoint's configuration; refuse a family that has no masked-LM head.

    The checkpoint itself may be one without head.
    """
    config = load_config(path, revision=revision)
    kind = config.model_type
    if kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES or getattr(config, "is_encoder_decoder", False):
        raise ConfigurationError(
            f"{path}: is a {kind!r} model, but an encoder with a masked-LM head is needed; use one of the BERT, "
            "RoBERTa/XLM-R, DistilBERT, DeBERTa-v2, ModernBERT or EuroBERT families"
        )
    if kind == "deberta-v2" and any(n.startswith("lm_predictions.") for n in weight_names(path, revision)):
        config.legacy = False  # the head of mDeBERTa-v3, whose published configuration lacks the flag
    return config


def longest_input(config: PreTrainedConfig) -> int | None:
    """The number of tokens that an encoder has positions for; ``None`` if it has no limit."""
    limit = getattr(config, "max_position_embeddings", None)
    if not limit or (
        config.model_type == "deberta-v2" and not getattr(config, "position_biased_input", True)
    ):
        return None
    offset = (config.pad_token_id or 0) + 1 if _counts_from_padding(config.model_type) else 0
    return int(limit) - offset


def model_config(
    settings: Mapping[str, Any], *, tokenizer: PreTrainedTokenizerBase | None = None
) -> PreTrainedConfig:
    """Make the configuration of an encoder from scratch; vocabulary size and special ids come from the tokenizer.

    Of several values of a setting the last counts: the family's published one (:data:`ARCHITECTURES`), the tokenizer's,
    that of ``settings``.
    """
    name = str(settings["architecture"])
    if name not in ARCHITECTURES:
        text = f"unknown architecture {name!r}; {did_you_mean(name, ARCHITECTURES)}"
        raise ConfigurationError(Problem(text, ("model", "architecture")))
    config_class = type(AutoConfig.for_model(name))
    aliases = _ALIASES.get(name, {})
    config_settings = {aliases.get(k, k): v for k, v in settings.items() if k not in _OPTIONS}
    problems = _unknown_settings(config_settings, config_class, name)
    if tokenizer is None and "vocab_size" not in config_settings:
        text = "a tokenizer or a vocab_size is needed, got neither; add `vocab_size: 32000`"
        problems.append(Problem(text, ("model",)))
    if tokenizer is not None and config_settings.get("vocab_size", len(tokenizer)) < len(tokenizer):
        text = f"got {config_settings['vocab_size']}, but the tokenizer has {len(tokenizer)} entries; leave it out"
        problems.append(Problem(text, ("model", "vocab_size")))
    if _counts_from_padding(name) and config_settings.get("pad_token_id", 0) is None:
        text = f"got null, but a {name} counts positions from the padding's id + 1; leave it out"
        problems.append(Problem(text, ("model", "pad_token_id")))
    if problems:
        raise ConfigurationError(problems, heading=None if len(problems) == 1 else "model:")

    # Without a tokenizer no special id but padding is set: the library's defaults may exceed a small vocabulary.
    ids = {f"{special}_token_id": getattr(tokenizer, f"{special}_token_id", None) for special in _SPECIALS}
    usual_padding = 1 if tokenizer is None and "roberta" in name else 0
    ids["pad_token_id"] = ids["pad_token_id"] or usual_padding
    values = {**ARCHITECTURES[name], **ids, **config_settings}
    if tokenizer is not None:
        values.setdefault("vocab_size", len(tokenizer))
    if hasattr(config_class, "mask_token_id"):  # EuroBERT's
        values.setdefault("mask_token_id", getattr(tokenizer, "mask_token_id", None))
    if _counts_from_padding(name):
        # 512 positions can be used: those up to the padding's id cannot.
        values.setdefault("max_position_embeddings", 512 + int(values["pad_token_id"]) + 1)
    try:
        return config_class(**_with_floats(values, config_class()))
    except (TypeError, ValueError, StrictDataclassError) as error:
        text = f"{name} does not take these settings: {reason(error)}; change them"
        raise ConfigurationError(Problem(text, ("model",))) from error


def _counts_from_padding(family: str) -> bool:
    """Whether a family counts positions from the padding's id + 1, as RoBERTa does, and not from 0."""
    return "roberta" in family or family in _COUNT_FROM_PADDING


def empty_masked_lm(config: PreTrainedConfig, kernel: str | None = None) -> PreTrainedModel:
    """Build an encoder with masked-LM head whose weights take no memory and have no values, to check options with."""
    with torch.device("meta"):
        return _from_scratch(config, kernel)


def _from_scratch(config: PreTrainedConfig, kernel: str | None) -> PreTrainedModel:
    """Build an encoder with masked-LM head and new weights; ``kernel`` is that of the attention."""
    arguments = {} if kernel is None else {"attn_implementation": kernel}
    try:
        return AutoModelForMaskedLM.from_config(config, **arguments)  # type: ignore[no-any-return]
    except (TypeError, ValueError, LookupError, ArithmeticError, RuntimeError, ImportError) as error:
        attention = "" if kernel is None else f" with attention {kernel!r}"
        text = (
            f"a {config.model_type} of these sizes{attention} cannot be built ({reason(error)}); change them"
        )
        raise ConfigurationError(Problem(text, ("model",))) from error


def _unknown_settings(
    settings: Mapping[str, Any], config_class: type[PreTrainedConfig], name: str
) -> list[Problem]:
    """A problem for each key of ``settings`` that the configuration of the family ``name`` does not have."""
    known = set(inspect.signature(config_class).parameters) - {"self", "kwargs"}
    known |= set(vars(config_class()))
    known |= set(config_class.attribute_map)  # the family's names of common settings
    known |= set(ARCHITECTURES.get(name, ()))
    known |= set(_ALIASES.get(name, ()))
    known |= set(_OPTIONS)
    known = {key for key in known if not key.startswith("_")}
    return [
        Problem(f"{name} does not have this setting; {did_you_mean(key, known)}", ("model", key))
        for key in settings
        if key not in known
    ]


def _with_floats(values: Mapping[str, Any], usual: PreTrainedConfig) -> dict[str, Any]:
    """Turn whole numbers (``hidden_dropout_prob: 0``) into floats where the usual value is one.

    Some releases of the library refuse an integer there.
    """
    converted = {}
    for key, value in values.items():
        wants_float = type(value) is int and type(getattr(usual, key, None)) is float
        converted[key] = float(value) if wants_float else value
    return converted


def _from_path(settings: Mapping[str, Any], kernel: str | None) -> PreTrainedModel:
    """Load a checkpoint with the settings that override its configuration."""
    path, revision = str(settings["path"]), settings.get("revision", "main")
    config = masked_lm_config(path, revision=revision)
    changes = {key: value for key, value in settings.items() if key not in _OPTIONS}
    problems = _unknown_settings(changes, type(config), config.model_type)
    if problems:
        raise ConfigurationError(problems)
    aliases = _ALIASES.get(config.model_type, {})
    changes = _with_floats({aliases.get(key, key): value for key, value in changes.items()}, config)
    overridden_dropout = {key: getattr(config, key) for key in changes if "dropout" in key}
    for key, value in changes.items():
        try:
            setattr(config, key, value)
        except (TypeError, ValueError, StrictDataclassError) as error:
            raise ConfigurationError(Problem(f"{reason(error)}; change it", ("model", key))) from error
    chosen: dict[str, Any] = {} if kernel is None else {"attn_implementation": kernel}
    model = load_checkpoint(
        AutoModelForMaskedLM,
        path,
        config=config,
        new_head=bool(settings.get("new_head", False)),
        keep_left_out=True,
        without_head="has no masked-LM head; give a checkpoint saved with one, or `new_head: true` to start a new one",
        revision=revision,
        **chosen,
    )
    vars(model)["original_dropout"] = overridden_dropout
    return model


def original_dropout(model: PreTrainedModel) -> dict[str, Any]:
    """The checkpoint's original dropout rates that this training overrides, restored on export."""
    dropout: dict[str, Any] = vars(model).get("original_dropout", {})
    return dropout


def _fit_vocabulary(
    model: PreTrainedModel, settings: Mapping[str, Any], tokenizer: PreTrainedTokenizerBase | None
) -> None:
    """Check that a tokenizer fits a loaded model; with ``resize_vocabulary`` add embeddings for its further entries."""
    if tokenizer is None:
        return
    path = settings["path"]
    may_grow = bool(settings.get("resize_vocabulary", False))
    hint = "" if may_grow else ", or set `resize_vocabulary: true` to add rows"
    require_fitting(tokenizer, model, path, may_grow=may_grow, hint=hint)
    if len(tokenizer) <= input_embeddings(model).num_embeddings:
        return
    if model.config.model_type == "deberta-v2" and not getattr(model.config, "legacy", True):
        raise ConfigurationError(
            f"model.path: {path!r} is a DeBERTa with the original head, which the library cannot resize; use the "
            "tokenizer saved with the model"
        )
    model.resize_token_embeddings(len(tokenizer))
