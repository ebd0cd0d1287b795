"""Write the encoder as a plain Hugging Face folder, with a card that says how it was trained."""

import copy
import json
import logging
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from isoglot.aligners.embedding.choice import keep_choice
from isoglot.checkpoints.reading import ALIGNER_FILE
from isoglot.core.errors import TrainingError
from isoglot.modules.adapter import own_size, plain_state, save_plain
from isoglot.modules.checkpoint import few, left_out
from isoglot.modules.finite import non_finite
from isoglot.modules.load import original_dropout
from isoglot.objectives.base import Objective
from isoglot.recipe.document import dump_yaml
from isoglot.runs.listed import whole_folder
from isoglot.runs.record import versions
from isoglot.training.model import AlignmentModel

_LOGGER = logging.getLogger(__name__)
_PREFIX = "model."
"""Prefix of the encoder's weights in the state of an alignment model."""


def save_encoder(
    model: PreTrainedModel,
    folder: str | Path,
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
    state: Mapping[str, Any] | None = None,
) -> None:
    """Write encoder and tokenizer so that ``AutoModelForMaskedLM.from_pretrained`` reads them.

    1. An adapter is merged into the weights.
    2. Weights that the encoder's checkpoint held, but that the encoder does not use (a pooler, another head), are
       written with it.
    3. Dropout rates that were changed for training have their original values again.

    ``state``: The gathered state of the whole alignment model, in a run that shards; otherwise the encoder's own
    weights are written.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    if state is None:
        weights = plain_state(model)  # 1
    else:
        # A run that shards has no adapter.
        weights = {
            name.removeprefix(_PREFIX): value for name, value in state.items() if name.startswith(_PREFIX)
        }
    wrong = non_finite(weights.items())
    if wrong:
        raise TrainingError(
            f"{few(wrong)} of the encoder became NaN or infinite; a checkpoint of finite numbers is needed. Lower "
            "train.learning_rate, raise train.warmup_steps or set train.max_grad_norm=1.0, then run again with "
            "[[resume=True]]"
        )
    save_plain(model, Path(folder), {**weights, **left_out(model)})  # 2
    rates = original_dropout(model)
    if rates:  # 3
        config = copy.deepcopy(model.config)
        config.update(rates)
        config.save_pretrained(str(folder))
    if tokenizer is not None:
        tokenizer.save_pretrained(str(folder))


def export_encoder(
    trained: AlignmentModel,
    out: str | Path,
    *,
    card: Mapping[str, Any],
    tokenizer: PreTrainedTokenizerBase | None = None,
    state: Mapping[str, Any] | None = None,
) -> Path:
    """Write the encoder of a finished run: weights, tokenizer and a model card, nothing that needs isoglot.

    An objective may have trained the encoder for an aligner: a layer and a method of reading word links from it. This
    choice is written beside the weights, so that ``isoglot align`` uses it.

    Args:
        trained: The trained model.
        out: The folder to write.
        card: The facts of the model card: ``name``, ``languages`` (ISO codes), and sections: ``base_model``,
            ``objectives``, ``data``, ``steps``, ``seed``, ``recipe``.
        tokenizer: Written beside the weights.
        state: As in :func:`save_encoder`.
    """
    out = Path(out)
    with whole_folder(out) as folder:
        save_encoder(trained.model, folder, tokenizer=tokenizer, state=state)
        (folder / "README.md").write_text(model_card(card, model=trained.model), encoding="utf-8")
        choices: list[dict[str, Any]] = []
        for objective in trained.objectives.values():
            options = objective.aligner_options() if isinstance(objective, Objective) else None
            if options is not None:
                choices.append(dict(options))
        if choices and all(choice == choices[0] for choice in choices):
            keep_choice(folder, choices[0])
        elif choices:
            _LOGGER.warning(
                "%s: %d objectives were trained for different aligners, so no %s is written; choose one with "
                "`isoglot tune %s --gold FILE`", out, len(choices), ALIGNER_FILE, out,
            )  # fmt: skip
    return out


def model_card(card: Mapping[str, Any], *, model: PreTrainedModel) -> str:
    """Write the model card of :func:`export_encoder` as Markdown with the Hub's YAML header."""
    header = {
        "library_name": "transformers",
        "pipeline_tag": "fill-mask",
        "tags": ["isoglot", "cross-lingual", *sorted(card.get("objectives", {}))],
        "language": card.get("languages"),
        "base_model": card.get("base_model"),
    }
    sections = {title: card[title] for title in _SECTIONS if title in card}
    sections["versions"] = versions()
    environment = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)  # noqa: S701 - no HTML
    template = environment.from_string(files("isoglot.training").joinpath("model_card.md").read_text("utf-8"))
    return template.render(
        header={name: value for name, value in header.items() if value},
        name=card.get("name", "aligned encoder"),
        config=model.config,
        size=own_size(model),
        sections=sections,
        yaml=_yaml,
        cell_text=_cell,
    )


_SECTIONS = ("base_model", "objectives", "data", "steps", "seed", "recipe")
"""Sections of a model card in their order."""


def _yaml(value: Any) -> str:
    """Write a value of the card as YAML; values that neither JSON nor YAML knows, such as paths, become texts."""
    return dump_yaml(json.loads(json.dumps(value, default=str)))


def _cell(value: Any) -> str:
    """Write a value as a cell of a Markdown table: ``{"kind": "text", "rows": 5}`` is ``kind: text, rows: 5``."""
    text = str(value)
    if isinstance(value, Mapping):
        text = ", ".join(f"{name}: {inner}" for name, inner in value.items())
    return text.replace("|", "\\|").replace("\n", " ")
