"""Language embeddings beyond pre-training: an encoder that learned with them is fine-tuned and evaluated with them.

XLM and DICT-MLM add a vector of the language to every input position; ALIGN-MLM's authors pass the language ids in
fine-tuning and evaluation too (Tang et al. 2022). They stand in files of their own beside the encoder.
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
_UNKNOWN = -1


@dataclass(frozen=True)
class LanguageVectors:
    """The language embeddings of a checkpoint."""

    ids: Mapping[str, int]  # language code to row of the table
    weight: Tensor  # the table. Shape: (languages, embedding size)


def read_vectors(checkpoint: Path | str) -> LanguageVectors | None:
    """The language embeddings of a checkpoint, fine-tuned or of a pre-training run; ``None`` without any."""
    if isinstance(checkpoint, str):
        return None
    table = read_table(checkpoint / _TABLE_FILE)
    if table is not None:
        weight, metadata = table
        return LanguageVectors(json.loads(metadata["ids"]), weight)
    recipe, trained = checkpoint.parent / _RECIPE, read_table(checkpoint / _OBJECTIVES)
    if trained is None or not recipe.is_file():
        return None
    ids: dict[str, int] = {}
    for mapping in _named(read_document(recipe, variables=False).values, "language_ids"):
        ids |= {str(code): int(number) for code, number in mapping.items()}
    return LanguageVectors(ids, trained[0]) if ids else None


def chosen_vectors(checkpoint: Path | str, ids: Mapping[str, int] | None) -> LanguageVectors | None:
    """A checkpoint's language embeddings with the ids that are asked for, by default its own; empty ones mean none."""
    vectors = None if ids == {} else read_vectors(checkpoint)
    if not ids:
        return vectors
    if vectors is None:
        raise ConfigurationError(
            f"got language_ids {dict(ids)}, but {checkpoint} has no language embeddings; leave them out"
        )
    last = len(vectors.weight) - 1
    if wrong := {code: number for code, number in ids.items() if not 0 <= number <= last}:
        raise ConfigurationError(
            f"language_ids: got {wrong}, but the checkpoint's language embeddings have ids 0 to {last}; use one of them"
        )
    return LanguageVectors(dict(ids), vectors.weight)


def write_vectors(vectors: LanguageVectors, checkpoint: Path) -> None:
    """Put the language embeddings beside a model."""
    table = {_WEIGHT: vectors.weight.detach().float().cpu().contiguous()}
    save_file(table, checkpoint / _TABLE_FILE, metadata={"ids": json.dumps(dict(vectors.ids))})


def attach(model: PreTrainedModel, vectors: LanguageVectors) -> None:
    """Have a model take ``language_ids`` (batch, length) and add each language's vector to the word embeddings.

    The vectors are trained with the model. A position in a language that has none (−1) gets the mean of the others.
    """
    table = nn.Embedding.from_pretrained(vectors.weight.clone().float(), freeze=False)
    model.add_module(_TABLE, table)
    known = torch.tensor(sorted(set(vectors.ids.values())))
    ids = dict(vectors.ids)

    def add(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        numbers = kwargs.pop("language_ids", None)
        if numbers is None:
            return args, kwargs
        embedded = input_embeddings(model)(kwargs.pop("input_ids"))
        added = add_language_embeddings(embedded, numbers.clamp(min=0), table)
        mean = table(known.to(numbers.device)).mean(0).to(embedded.dtype)
        kwargs["inputs_embeds"] = torch.where((numbers < 0)[..., None], embedded + mean, added)
        return args, kwargs

    model.register_forward_pre_hook(add, with_kwargs=True)
    setattr(model, _IDS, ids)


def attach_chosen(model: PreTrainedModel, checkpoint: Path | str, ids: Mapping[str, int] | None) -> None:
    """Give a model the :func:`chosen_vectors` of a checkpoint, if it has any; frozen vectors are made without them."""
    if isinstance(model, VectorClassifier):
        return
    vectors = chosen_vectors(checkpoint, ids)
    if vectors is not None:
        attach(model, vectors)


def attached(model: nn.Module) -> LanguageVectors | None:
    """What :func:`attach` gave a model, as it is after training; ``None`` without."""
    ids, table = getattr(model, _IDS, None), getattr(model, _TABLE, None)
    return LanguageVectors(ids, table.weight) if ids is not None and isinstance(table, nn.Embedding) else None


def number_rows(rows: Sequence[EncodedRow], dataset: Dataset, vectors: LanguageVectors | None) -> set[str]:
    """Give each position of a row the id of its text's language.

    A row is in its example's ``language``. Where the examples have a :data:`FIRST_LANGUAGE`, it holds up to the second
    of two texts: code-switched pairs, and questions in another language than their contexts.

    Returns the languages without an id; their positions get −1.
    """
    if vectors is None:
        return set()
    second = list(dataset["language"])
    first = list(dataset[FIRST_LANGUAGE]) if FIRST_LANGUAGE in dataset.column_names else second
    for row in rows:
        begin = 0 if first is second else row.second
        ids = [vectors.ids.get(languages[row.example], _UNKNOWN) for languages in (first, second)]
        lengths = (begin, len(row.inputs["input_ids"]) - begin)
        row.inputs["language_ids"] = np.repeat(np.array(ids, np.int16), lengths)
    used = {languages[row.example] for languages in (first, second) for row in rows}
    return used - set(vectors.ids)


def read_table(path: Path) -> tuple[Tensor, dict[str, str]] | None:
    """The language embeddings in a file of tensors, and what else it says; ``None`` without any."""
    if not path.is_file():
        return None
    try:
        with safe_open(path, "pt") as file:
            if _WEIGHT not in file.keys():  # noqa: SIM118 - no mapping
                return None
            return file.get_tensor(_WEIGHT), file.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise InputError(f"cannot be read ({error}); copy the checkpoint again", path=path) from error


def _named(values: Any, name: str) -> Iterator[Mapping[str, Any]]:
    """All mappings of this name, however deep."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            if key == name and isinstance(value, Mapping):
                yield value
            else:
                yield from _named(value, name)
