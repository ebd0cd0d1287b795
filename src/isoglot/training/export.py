"""The encoder as a plain Hugging Face folder, with a card that says how it was trained."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from isoglot.align.embedding.choice import ALIGNER_FILE, keep_choice
from isoglot.errors import ConfigurationError, TrainingError
from isoglot.modules.checkpoint import few, left_out, quiet
from isoglot.modules.finite import non_finite
from isoglot.objectives.base import Objective
from isoglot.recipe.document import dump_yaml
from isoglot.runs.files import whole_folder
from isoglot.runs.folder import versions
from isoglot.training.model import AlignmentModel

_LOGGER = logging.getLogger(__name__)
_PREFIX = "model."


def save_encoder(
    model: PreTrainedModel,
    folder: str | Path,
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
    state: Mapping[str, Any] | None = None,
) -> None:
    """Write encoder and tokenizer so that ``AutoModelForMaskedLM.from_pretrained`` reads them.

    What the checkpoint that the encoder was loaded from held beside it (a pooler, another head) is written with it.

    ``state``: weights of the whole alignment model, gathered from shards; ``None``: the model's own.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    if state is None:
        own = model.state_dict()
    else:
        own = {name.removeprefix(_PREFIX): value for name, value in state.items() if name.startswith(_PREFIX)}
    if wrong := non_finite(own.items()):
        raise TrainingError(
            f"{few(wrong)} of the encoder became NaN or infinite; a checkpoint of finite numbers is needed. Lower "
            "train.learning_rate, raise train.warmup_steps or set train.max_grad_norm=1.0, then run again with --resume"
        )
    with quiet():
        model.save_pretrained(str(folder), state_dict={**own, **left_out(model)})
    if tokenizer is not None:
        tokenizer.save_pretrained(str(folder))


def export_encoder(
    trained: Any,
    out: str | Path,
    *,
    card: Mapping[str, Any],
    tokenizer: PreTrainedTokenizerBase | None = None,
    state: Mapping[str, Any] | None = None,
) -> Path:
    """Extract the encoder of a finished run: weights, tokenizer and a model card, nothing that needs isoglot.

    ``trained``: an :class:`~isoglot.training.trainer.AlignmentTrainer`, an
    :class:`~isoglot.training.model.AlignmentModel` or the encoder itself.
    ``card``: ``name``, and what else is known of the run: ``base_model``, ``languages`` (ISO codes), ``license``,
    ``data`` (stream name to a mapping), ``objectives`` (name to a mapping), ``recipe`` (the resolved recipe),
    ``steps``, ``seed``, ``results``. Any other key becomes a section of its own.
    ``tokenizer``: the trainer's by default.
    ``state``: weights of the whole alignment model, gathered from shards; ``None``: the model's own.
    """
    out = Path(out)
    if out.exists() and any(out.iterdir()):
        raise ConfigurationError(f"{out} is not empty, a new folder is needed; delete it or name another")
    accelerator = getattr(trained, "accelerator", None)
    if accelerator is not None:
        tokenizer = tokenizer or trained.processing_class
        trained = accelerator.unwrap_model(trained.model, keep_torch_compile=False)
    model = trained.model if isinstance(trained, AlignmentModel) else trained
    with whole_folder(out) as folder:
        save_encoder(model, folder, tokenizer=tokenizer, state=state)
        (folder / "README.md").write_text(model_card(card, model=model), encoding="utf-8")
        objectives = trained.objectives.values() if isinstance(trained, AlignmentModel) else ()
        choices = [o.aligner_options() for o in objectives if isinstance(o, Objective)]
        wanted = [dict(options) for options in choices if options is not None]
        if wanted and all(options == wanted[0] for options in wanted):
            keep_choice(folder, wanted[0])
        elif wanted:
            _LOGGER.warning(
                "%s: %d objectives were trained for different aligners, so no %s is written; choose one with "
                "`isoglot tune %s --gold FILE`", out, len(wanted), ALIGNER_FILE, out,
            )  # fmt: skip
    return out


def model_card(card: Mapping[str, Any], *, model: PreTrainedModel) -> str:
    """The model card of :func:`export_encoder` as Markdown with the Hub's YAML header."""
    rest = dict(card)
    name = str(rest.pop("name", "aligned encoder"))
    header = {
        "library_name": "transformers",
        "pipeline_tag": "fill-mask",
        "tags": ["isoglot", "cross-lingual", *sorted(str(o) for o in card.get("objectives", {}))],
        **{new: card[old] for old, new in _HEADER.items() if card.get(old)},
    }
    for key in ("languages", "license"):
        rest.pop(key, None)
    config = model.config
    size = sum(p.numel() for p in model.parameters())
    parts = [
        f"---\n{_yaml(header)}---\n\n# {name}\n",
        "A text encoder trained with [isoglot](https://pypi.org/project/isoglot/), which aligns languages: words and "
        "sentences get representations like their translations', so that what a model learns from labels in one "
        "language carries over to others. What this one was trained on is listed below. It predicts masked words as it "
        "is; fine-tune it for other tasks. Plain transformers loads it.\n",
        f"Architecture: `{config.model_type}`, {config.num_hidden_layers} layers, hidden size {config.hidden_size}, "
        f"{config.vocab_size:,} vocabulary entries, {size:,} parameters.\n",
        "```python\nfrom transformers import AutoModelForMaskedLM, AutoTokenizer\n\n"
        f'model = AutoModelForMaskedLM.from_pretrained("{name}")\n'
        f'tokenizer = AutoTokenizer.from_pretrained("{name}")\n```\n',
    ]
    parts += [_section(t, rest.pop(t)) for t in ("base_model", "objectives", "data") if t in rest]
    recipe = rest.pop("recipe", None)
    parts += [_section(title, value) for title, value in rest.items()]
    if recipe is not None:
        parts.append(f"## Recipe\n\n```yaml\n{_yaml(recipe)}```\n")
    parts.append(_section("versions", versions()))
    return "\n".join(parts)


_HEADER = {"languages": "language", "license": "license", "base_model": "base_model"}


def _section(title: str, value: Any) -> str:
    heading = f"## {title.replace('_', ' ').capitalize()}\n"
    if not isinstance(value, Mapping):
        return f"{heading}\n{value if isinstance(value, str) else json.dumps(value, default=str)}\n"
    rows = [f"| {k} | {_cell(v)} |" for k, v in value.items()]
    return "\n".join([heading, "| | |", "|---|---|", *rows, ""])


def _cell(value: Any) -> str:
    text = ", ".join(f"{k}: {v}" for k, v in value.items()) if isinstance(value, Mapping) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")


def _yaml(value: Any) -> str:
    return dump_yaml(json.loads(json.dumps(value, default=str)))
