"""Language embeddings after pre-training: an encoder that learned with them is fine-tuned and evaluated with them.

XLM and DICT-MLM add a vector of the language to every input position; ALIGN-MLM's authors pass the language ids in
fine-tuning and evaluation too (Tang et al. 2022). transformers' encoders have no place for such a table, so it stands
in a file beside the encoder: ``objectives.safetensors`` of a pre-training run, whose ids are in the run's
``recipe.yaml``, and ``language_embeddings.safetensors`` of a fine-tuned model, with the ids inside.

- *table*: the matrix of language embeddings, with one row per language.
- *ids*: language code to row of the table: ``{"en": 0, "de": 1}``.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import PreTrainedModel

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.modules.encoder import add_language_embeddings, input_embeddings
from isoglot.recipe.source import read_document
from isoglot.tasks.features import FIRST_LANGUAGE, EncodedRow
from isoglot.tasks.vector_classifier import VectorClassifier

_TABLE = "language_embeddings"
_WEIGHT = f"{_TABLE}.weight"
_TABLE_FILE = "language_embeddings.safetensors"
_OBJECTIVES = "objectives.safetensors"
_RECIPE = "recipe.yaml"
_IDS = "isoglot_language_ids"
"""Attribute of a model that holds the ids of its table."""
_UNKNOWN = -1
"""Id of positions whose language has no embedding."""


@dataclass(frozen=True)
class LanguageVectors:
    """The language embeddings of a checkpoint."""

    ids: Mapping[str, int]
    """Language code to row of the table."""
    weight: Tensor
    """The table. Shape: (languages, embedding size)."""


def read_vectors(checkpoint: Path | str) -> LanguageVectors | None:
    """Read the language embeddings of a checkpoint, fine-tuned or of a pre-training run; ``None`` if it has none."""
    if isinstance(checkpoint, str):  # a name on the hub
        return None
    fine_tuned = read_table(checkpoint / _TABLE_FILE)
    if fine_tuned is not None:
        weight, metadata = fine_tuned
        return LanguageVectors(json.loads(metadata["ids"]), weight)
    pretrained = read_table(checkpoint / _OBJECTIVES)
    recipe = checkpoint.parent / _RECIPE
    if pretrained is None or not recipe.is_file():
        return None
    # Several objectives of a recipe may name ids; they share the table.
    ids: dict[str, int] = {}
    for mapping in _mappings_called("language_ids", read_document(recipe, variables=False).values):
        ids |= {str(code): int(number) for code, number in mapping.items()}
    weight, _ = pretrained
    return LanguageVectors(ids, weight) if ids else None


def chosen_vectors(checkpoint: Path | str, ids: Mapping[str, int] | None) -> LanguageVectors | None:
    """Read the language embeddings of a checkpoint, with the ids that the user chose.

    1. ``None``: the checkpoint's own ids, if it has language embeddings.
    2. ``{}``: no language embeddings, even if the checkpoint has them.
    3. ``{"de": 1}``: these ids in place of the checkpoint's own.

    Raises:
        ConfigurationError: Ids for a checkpoint without language embeddings, or beyond its table.
    """
    if ids is None:  # 1
        return read_vectors(checkpoint)
    if not ids:  # 2
        return None
    vectors = read_vectors(checkpoint)  # 3
    if vectors is None:
        raise ConfigurationError(
            f"got language_ids {dict(ids)}, but {checkpoint} has no language embeddings; leave them out"
        )
    last = len(vectors.weight) - 1
    wrong = {code: number for code, number in ids.items() if not 0 <= number <= last}
    if wrong:
        raise ConfigurationError(
            f"language_ids: got {wrong}, but the checkpoint's language embeddings have ids 0 to {last}; use one of them"
        )
    return LanguageVectors(dict(ids), vectors.weight)


def write_vectors(vectors: LanguageVectors, checkpoint: Path) -> None:
    """Write language embeddings and their ids into a file beside a model."""
    table = {_WEIGHT: vectors.weight.detach().float().cpu().contiguous()}
    save_file(table, checkpoint / _TABLE_FILE, metadata={"ids": json.dumps(dict(vectors.ids))})


def attach(model: PreTrainedModel, vectors: LanguageVectors) -> None:
    """Make a model take ``language_ids`` (batch, length), and add the vector of each id to the word embedding.

    The vectors are trained with the model. A position whose language has no id (−1) gets the mean of the vectors that
    have one, so a language that was never seen is not read as any one of the others.
    """
    table = nn.Embedding.from_pretrained(vectors.weight.clone().float(), freeze=False)
    model.add_module(_TABLE, table)
    known_ids = torch.tensor(sorted(set(vectors.ids.values())))

    def add_vectors(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        ids = kwargs.pop("language_ids", None)
        if ids is None:
            return args, kwargs
        # The encoder then gets sums of embeddings in place of token ids.
        embedded = input_embeddings(model)(kwargs.pop("input_ids"))
        # Row 0 stands in for −1, which the table does not have; its sum is replaced in the last step.
        with_own = add_language_embeddings(embedded, ids.clamp(min=0), table)
        mean = table(known_ids.to(ids.device)).mean(0).to(embedded.dtype)
        kwargs["inputs_embeds"] = torch.where((ids < 0)[..., None], embedded + mean, with_own)
        return args, kwargs

    model.register_forward_pre_hook(add_vectors, with_kwargs=True)
    setattr(model, _IDS, dict(vectors.ids))


def attach_chosen(model: PreTrainedModel, checkpoint: Path | str, ids: Mapping[str, int] | None) -> None:
    """Attach the :func:`chosen_vectors` of a checkpoint to a model, if there are any.

    A classifier of frozen sentence vectors gets none: its encoder runs without language embeddings.
    """
    if isinstance(model, VectorClassifier):
        return
    vectors = chosen_vectors(checkpoint, ids)
    if vectors is not None:
        attach(model, vectors)


def attached(model: nn.Module) -> LanguageVectors | None:
    """Return the language embeddings that :func:`attach` gave a model, as trained since; ``None`` if it has none."""
    ids, table = getattr(model, _IDS, None), getattr(model, _TABLE, None)
    if ids is None or not isinstance(table, nn.Embedding):
        return None
    return LanguageVectors(ids, table.weight)


def add_language_ids(
    rows: Sequence[EncodedRow], dataset: Dataset, vectors: LanguageVectors | None
) -> set[str]:
    """Give each position of each row the id of its language, in ``row.inputs["language_ids"]``.

    1. A row is in the ``language`` of its example.
    2. If examples have a :data:`FIRST_LANGUAGE`, as code-switched pairs and questions in another language than their
       contexts have, then positions before the second text are in that one. A German question (3 tokens) about an
       English context (4) has the ids ``[1, 1, 1, 0, 0, 0, 0]``.
    3. A position whose language has no id gets −1.

    Returns:
        The languages without an id. Without ``vectors`` nothing is done.
    """
    if vectors is None:
        return set()
    languages = list(dataset["language"])
    has_first = FIRST_LANGUAGE in dataset.column_names
    first_languages = list(dataset[FIRST_LANGUAGE]) if has_first else languages
    unknown: set[str] = set()
    for row in rows:
        first, second = first_languages[row.example], languages[row.example]
        unknown |= {first, second} - vectors.ids.keys()  # 3
        ids = [vectors.ids.get(first, _UNKNOWN), vectors.ids.get(second, _UNKNOWN)]
        begin_of_second = row.second if has_first else 0  # 2, 1
        lengths = (begin_of_second, len(row.inputs["input_ids"]) - begin_of_second)
        row.inputs["language_ids"] = np.repeat(np.array(ids, np.int16), lengths)
    return unknown


def read_table(path: Path) -> tuple[Tensor, dict[str, str]] | None:
    """Read the table of language embeddings in a file of tensors, and the file's metadata; ``None`` without a table."""
    if not path.is_file():
        return None
    try:
        with safe_open(path, "pt") as file:
            if _WEIGHT not in file.keys():  # noqa: SIM118 - no mapping
                return None
            return file.get_tensor(_WEIGHT), file.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise InputError(f"cannot be read ({error}); copy the checkpoint again", path=path) from error


def _mappings_called(name: str, values: Any) -> Iterator[Mapping[str, Any]]:
    """Yield all mappings under a key of this name, at any depth of mappings."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            if key == name and isinstance(value, Mapping):
                yield value
            else:
                yield from _mappings_called(name, value)
