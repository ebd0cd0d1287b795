"""What a statistical aligner has learned, in memory, on disk, and as a lexicon in the format of MUSE dictionaries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from isoglot.align.statistical.methods import METHODS, Direction
from isoglot.errors import ConfigurationError, InputError
from isoglot.runs.files import read_json, whole_folder, write_json, write_text

FORMAT = 2


@dataclass(frozen=True)
class TranslationModel:
    """Vocabularies, translation tables and whatever else a method has learned, both directions."""

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    forward: Direction
    reverse: Direction

    @cached_property
    def types(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Source and target word of each pair in the translation tables, sorted by source, then target word."""
        source, target, _ = self.forward.table.pairs()
        return source, target

    def digest(self) -> str:
        """A hash of all that the model has learned."""
        state = hashlib.blake2b(digest_size=16)
        state.update(json.dumps([self.source_words, self.target_words]).encode())
        for name, array in sorted(self._arrays().items()):
            state.update(name.encode())
            state.update(np.ascontiguousarray(array).data)
        return state.hexdigest()

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        source, target = self.types
        return {
            "types.source": source,
            "types.target": target,
            **{f"forward.{name}": array for name, array in self.forward.arrays(source, target).items()},
            **{f"reverse.{name}": array for name, array in self.reverse.arrays(target, source).items()},
        }

    def save(self, path: str | Path, *, about: Mapping[str, Any]) -> None:
        """Write ``tables.safetensors``, ``vocabulary.json`` and ``model.json`` as a folder.

        ``about`` is what the aligner was made with: ``method``, ``options``, ``lowercase`` and any more.
        """
        held = Path(path)
        if held.is_dir() and any(held.iterdir()) and not (held / "model.json").is_file():
            raise ConfigurationError(
                f"{path}: is not empty and holds no alignment model; choose another folder to save it in"
            )
        with whole_folder(held) as folder:
            arrays = {name: np.ascontiguousarray(a) for name, a in self._arrays().items()}
            save_file(arrays, folder / "tables.safetensors")
            vocabulary = {"source": self.source_words, "target": self.target_words}
            write_text(folder / "vocabulary.json", json.dumps(vocabulary, ensure_ascii=False))
            write_json(folder / "model.json", {"format": FORMAT, **about})

    def write_lexicon(self, path: str | Path, *, minimum: float = 0.05) -> None:
        """Write lines of source, tab, target, tab, probability, the best translations of a word first.

        A probability is √(p(target | source) · p(source | target)), which keeps frequent words from being everything's
        translation; each direction's sum to one over the translations of a word (variational Bayes leaves them a
        little short of it).

        Args:
            path: The file.
            minimum: Entries below this probability are left out; 0 keeps the whole table.
        """
        source, target = self.types
        forward = _shares(self.forward.probabilities(source, target), source)
        reverse = _shares(self.reverse.probabilities(target, source), target)
        probability = np.sqrt(forward * reverse)
        order = np.lexsort((target, -probability, source))
        kept = order[probability[order] >= minimum]
        columns = (array[kept].tolist() for array in (source, target, probability))
        rows = zip(*columns, strict=True)
        lines = (f"{self.source_words[s]}\t{self.target_words[t]}\t{value!r}\n" for s, t, value in rows)
        write_text(path, "".join(lines))

    @classmethod
    def load(cls, path: str | Path) -> tuple[Self, dict[str, Any]]:
        """Read a folder that :meth:`save` wrote: the model, and what ``about`` held."""
        folder = Path(path)
        about, vocabulary = read_json(folder / "model.json"), read_json(folder / "vocabulary.json")
        if about is None or vocabulary is None or not (folder / "tables.safetensors").is_file():
            raise InputError(
                "no complete alignment model; a folder with model.json, vocabulary.json and tables.safetensors is "
                "needed: write one with StatisticalAligner.save(path) (isoglot align --save)",
                path=folder,
            )
        if about.pop("format", None) != FORMAT or about.get("method") not in METHODS:
            raise InputError(
                f"an alignment model of another format or method, but format {FORMAT} and one of "
                f"{', '.join(METHODS)} are needed; train it again with this version",
                path=folder / "model.json",
            )
        try:
            arrays = load_file(folder / "tables.safetensors")
            about["lowercase"] = bool(about["lowercase"])
            method = METHODS[about["method"]]
            options = method.options(**about["options"])
            words = tuple(vocabulary["source"]), tuple(vocabulary["target"])
            types = arrays["types.source"], arrays["types.target"]
            forward = method.read(_part(arrays, "forward."), words, types, options)
            reverse = method.read(
                _part(arrays, "reverse."), (words[1], words[0]), (types[1], types[0]), options
            )
        except (SafetensorError, KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(
                f"the alignment model is damaged ({type(error).__name__}: {error}); train it again",
                path=folder,
            ) from error
        return cls(*words, forward, reverse), about


def _shares(values: npt.NDArray[np.float64], group: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    total = np.bincount(group, values)
    return np.asarray(values / np.where(total > 0, total, 1.0)[group])


def _part(arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> dict[str, npt.NDArray[Any]]:
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
