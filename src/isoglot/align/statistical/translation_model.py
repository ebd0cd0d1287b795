"""What a statistical aligner has learned, in memory, on disk, and as a lexicon in the format of MUSE dictionaries."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from isoglot.align.statistical.bitext import Side, Vocabularies
from isoglot.align.statistical.decoding import BestWords, Decoded
from isoglot.align.statistical.options import Symmetrisation
from isoglot.errors import ConfigurationError
from isoglot.options import Options
from isoglot.runs.files import whole_folder, write_json, write_text

FORMAT = 2


class TranslationModel(ABC):
    """Vocabularies, translation tables and whatever else a method has learned, both directions."""

    options: ClassVar[type[Options]]
    symmetrisation: ClassVar[Symmetrisation]  # what it is best decoded with
    direction: ClassVar[Any]  # Class of one direction

    def __init__(self, words: Vocabularies, forward: Any, reverse: Any) -> None:
        self.source_words, self.target_words = self.words = tuple(words[0]), tuple(words[1])
        self.forward, self.reverse = forward, reverse

    @classmethod
    @abstractmethod
    def estimate(cls, source: Side, target: Side, options: Any) -> Self:
        """Learn both directions."""

    @classmethod
    def estimate_and_forget(cls, source: Side, target: Side, options: Any) -> tuple[BestWords, ...] | None:
        """The best words by a model that is forgotten; ``None`` where that saves no memory."""
        del source, target, options
        return None

    @abstractmethod
    def decode(self, source: Side, target: Side, options: Any, threshold: float | None) -> Decoded:
        """A text's best words, and the links that agree; ``threshold`` is theirs, ``None`` if they are not wanted."""

    @cached_property
    def types(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Source and target word of each pair in the translation tables, sorted by source, then target word."""
        source, target, _ = self.forward.table.pairs()
        return source, target

    def digest(self) -> str:
        """A hash of all that the model has learned."""
        state = hashlib.blake2b(digest_size=16)
        state.update(json.dumps(self.words).encode())
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
        little short of it). Entries below ``minimum`` are left out; 0 keeps the whole table.
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


def _shares(values: npt.NDArray[np.float64], group: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    total = np.bincount(group, values)
    return np.asarray(values / np.where(total > 0, total, 1.0)[group])
