"""A classifier of frozen sentence vectors: an MLP on the vector of one text, or on [p; h; p*h; |p-h|] of two texts.

The vectors come from an encoder that is never trained, or from a user's function. Each different text gets a number and
one vector, computed once; the MLP then reads rows of numbers where another head reads rows of token ids.

Source: Artetxe and Schwenk 2019 (*Massively Multilingual Sentence Embeddings*, LASER), whose XNLI classifier has hidden
layers of 512 and 384 units; PPA Table 2 compares with it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers.modeling_outputs import SequenceClassifierOutput

from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.core.checks import resolve, shortened
from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import seed_for
from isoglot.corpus.encode.load_tokenizer import load_tokenizer
from isoglot.modules.checkpoint import load_checkpoint
from isoglot.modules.encoder import hidden_size
from isoglot.runs.cache import cache_folder
from isoglot.runs.code import code_hashes
from isoglot.runs.files import read_json, whole_path
from isoglot.runs.fingerprint import key_of
from isoglot.runs.folder import hash_checkpoint
from isoglot.tasks.text_vectors import TextEncoder, TextPooling

MODEL_TYPE = "isoglot_vector_classifier"
LASER_HIDDEN = (512, 384)
LASER_DROPOUT = 0.3

VectorFunction = Callable[[list[str]], Any]
"""A function from texts to their vectors, an array with one row per text."""


class VectorClassifierConfig(PretrainedConfig):
    """The configuration of a :class:`VectorClassifier`.

    Args:
        encoder: Configuration of the encoder that makes the vectors; ``None`` where a function makes them.
        function: ``package.module:Name`` of that function, or of a class of such functions.
        width: Numbers in a vector.
        texts: Texts of an example, 1 or 2.
        hidden: Units of the hidden layers.
        dropout: Before each layer.
        layer: Layer of the encoder from which vectors are read.
        pooling: How the states of the layer become a vector.
        prefix: Text before each text.
        source: Hash of the weights or the code that make the vectors, by which they are found in the cache.
    """

    model_type = MODEL_TYPE

    def __init__(  # noqa: PLR0913 - what the library writes into config.json
        self,
        *,
        encoder: dict[str, Any] | None = None,
        function: str = "",
        width: int = 1,
        texts: int = 1,
        hidden: Sequence[int] = LASER_HIDDEN,
        dropout: float = LASER_DROPOUT,
        layer: int = -1,
        pooling: TextPooling = "mean",
        prefix: str = "",
        source: str = "",
        **more: Any,
    ) -> None:
        self.encoder, self.function, self.width, self.texts = encoder, function, width, texts
        self.hidden, self.dropout = list(hidden), dropout
        self.layer, self.pooling, self.prefix, self.source = layer, pooling, prefix, source
        super().__init__(**more)


class VectorClassifier(PreTrainedModel):
    """An MLP over sentence vectors that are computed once.

    The model is called with numbers of texts in place of token ids: ``input_ids`` of ``[[3, 8]]`` is one example of two
    texts, those that :meth:`number` gave the numbers 3 and 8. The encoder of the vectors is saved beside the MLP, and
    never trained.
    """

    config_class = VectorClassifierConfig
    base_model_prefix = "encoder"

    def __init__(self, config: VectorClassifierConfig) -> None:
        super().__init__(config)
        if config.encoder is not None:
            settings = dict(config.encoder)
            model_type = settings.pop("model_type")
            self.encoder = AutoModel.from_config(AutoConfig.for_model(model_type, **settings))
            self.encoder.requires_grad_(False)
        # Two texts are read as four vectors: [p; h; p*h; |p-h|].
        width = config.width * (4 if config.texts == 2 else 1)
        layers: list[nn.Module] = []
        for units in config.hidden:
            layers += [nn.Dropout(config.dropout), nn.Linear(width, units), nn.ReLU()]
            width = units
        layers += [nn.Dropout(config.dropout), nn.Linear(width, int(config.num_labels or 0))]
        self.classifier = nn.Sequential(*layers)
        self._numbers: dict[str, int] = {}  # text to its number, the row of its vector in the table
        # No empty table: the library first builds models on a device without memory.
        self._table: Tensor | None = None
        self.post_init()  # type: ignore[no-untyped-call]

    def _init_weights(self, module: nn.Module) -> None:
        """Leave new layers as torch starts them."""

    def train(self, mode: bool = True) -> VectorClassifier:
        """Switch the MLP to training. The encoder stays in evaluation, without dropout."""
        super().train(mode)
        if hasattr(self, "encoder"):
            self.encoder.eval()
        return self

    def number(self, texts: Sequence[str], tokenizer: Any, max_length: int) -> list[int]:
        """Return the numbers of texts, and compute the vectors of texts that have none yet.

        The first texts ``["a", "b", "a"]`` have the numbers ``[0, 1, 0]``; later, ``["c", "b"]`` have ``[2, 1]``.
        """
        new = list(dict.fromkeys(text for text in texts if text not in self._numbers))
        if new:
            vectors = torch.from_numpy(self._cached_vectors(new, tokenizer, max_length))
            for text in new:
                self._numbers[text] = len(self._numbers)
            self._table = vectors if self._table is None else torch.cat([self._table.cpu(), vectors])
        return [self._numbers[text] for text in texts]

    def _cached_vectors(self, texts: list[str], tokenizer: Any, max_length: int) -> NDArray[np.float32]:
        """Read the vectors of texts from the cache on disk, or compute them and keep them there.

        A file of the cache holds the vectors of exactly these texts in this order.
        """
        config = self.config
        made_from = [
            config.source,
            config.function,
            config.layer,
            config.pooling,
            config.prefix,
            max_length,
            texts,
        ]
        file = cache_folder() / "vectors" / f"{key_of(made_from)}.npy"
        if file.is_file():
            return np.asarray(np.load(file), np.float32)
        if config.function:
            vectors = vectors_of(function_of(config.function), texts, config.function)
        else:
            encoder = TextEncoder(
                self.encoder, tokenizer=tokenizer, layer=config.layer, pooling=config.pooling, max_length=max_length,
                prefix=config.prefix,
            )  # fmt: skip
            vectors = encoder.encode(texts)
        with whole_path(file) as temporary, temporary.open("wb") as opened:
            np.save(opened, vectors)
        return vectors

    def forward(self, input_ids: Tensor, labels: Tensor | None = None, **_: Any) -> SequenceClassifierOutput:
        """Return logits of the classes. **Shape** of ``input_ids``: (examples, texts), perhaps padded on the right."""
        if self._table is None:
            raise ConfigurationError("no vectors yet; number the texts first, as isoglot.predict does")
        self._table = self._table.to(input_ids.device)  # stays where it is from the second batch on
        vectors = self._table[input_ids[:, : self.config.texts]]
        features = vectors[:, 0]
        if self.config.texts == 2:
            first, second = vectors[:, 0], vectors[:, 1]
            features = torch.cat([first, second, first * second, (first - second).abs()], -1)
        logits = self.classifier(features)
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


def include_encoder_in_saves(model: PreTrainedModel, *, include: bool) -> None:
    """Set whether later saves of a classifier include its frozen encoder.

    Training leaves the encoder, which does not change, out of its checkpoints. Other models are saved as always.
    """
    if isinstance(model, VectorClassifier):
        names = [name for name in model.state_dict() if name.startswith("encoder.")]
        model._keys_to_ignore_on_save = None if include else names


AutoConfig.register(MODEL_TYPE, VectorClassifierConfig)
AutoModelForSequenceClassification.register(VectorClassifierConfig, VectorClassifier)


def new_classifier(  # noqa: PLR0913 - what a classifier is made of
    checkpoint: str | Path,
    *,
    labels: Sequence[str],
    texts: int,
    hidden: Sequence[int],
    layer: int,
    pooling: TextPooling,
    prefix: str,
    dropout: float | None,
    seed: int,
) -> VectorClassifier:
    """Make a classifier with new weights over the vectors of an encoder, or of a function ``package.module:Name``."""
    settings: dict[str, Any] = {
        "texts": texts,
        "hidden": hidden,
        "layer": layer,
        "pooling": pooling,
        "prefix": prefix,
        "dropout": LASER_DROPOUT if dropout is None else dropout,
        "id2label": dict(enumerate(labels)),
        "label2id": {label: number for number, label in enumerate(labels)},
    }
    encoder = None
    if is_function(checkpoint):
        name = str(checkpoint)
        # Two texts, to see the width of the vectors and that there is one row per text.
        width = vectors_of(function_of(name), ["one", "two"], name).shape[1]
        source = key_of(code_of_function(name))
        config = VectorClassifierConfig(function=name, width=width, source=source, **settings)
    else:
        encoder = load_checkpoint(AutoModel, checkpoint, new_head=True)
        folder = checkpoint_folder(checkpoint)
        source = hash_checkpoint(folder) if isinstance(folder, Path) else str(folder)
        config = VectorClassifierConfig(
            encoder=encoder.config.to_dict(), width=hidden_size(encoder), source=source, **settings
        )
    # The seed decides the new weights, and torch's global generator stays where it was.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for(seed, "head"))
        model = VectorClassifier(config)
    if encoder is not None:
        model.encoder.load_state_dict(encoder.state_dict())
    return model


def is_function(checkpoint: str | Path) -> bool:
    """Whether vectors come from a function: ``package.module:Name``, or a classifier trained on such vectors."""
    if isinstance(checkpoint, str) and ":" in checkpoint and not Path(checkpoint).exists():
        return True
    folder = Path(checkpoint)
    return bool(folder.is_dir() and (read_json(folder / "config.json") or {}).get("function"))


def function_of(name: str) -> VectorFunction:
    """Return the function that ``package.module:Name`` names; if it is a class, a new object of the class."""
    found = resolve({}, name, kind="function from texts to vectors")
    function: VectorFunction = found() if isinstance(found, type) else found
    if not callable(function):
        raise ConfigurationError(
            f"{name}: the class has no __call__(texts), which gives the vectors of texts"
        )
    return function


def name_of_function(function: VectorFunction) -> str:
    """Return ``package.module:Name`` of a function, class or object, by which a checkpoint finds it again.

    Raises:
        ConfigurationError: A lambda, or a function or class inside another one, which cannot be imported by a name.
    """
    item = function if isinstance(function, type) or inspect.isfunction(function) else type(function)
    name = f"{item.__module__}:{item.__qualname__}"
    if "<" in name or "." in item.__qualname__:
        raise ConfigurationError(
            f"{name}: a saved classifier could not find this again; define it at the top of a module"
        )
    return name


def code_of_function(name: str) -> dict[str, str]:
    """Return the hashes of the files with a function's code, by file."""
    return code_hashes(resolve({}, name, kind="function from texts to vectors"))


def vectors_of(function: VectorFunction, texts: list[str], name: str) -> NDArray[np.float32]:
    """Call a function, and check its vectors: one for each text, all of one width, and finite."""
    try:
        vectors = np.asarray(function(texts), np.float32)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"{name}: gave no array of numbers for {len(texts)} texts ({error})"
        ) from error
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise ConfigurationError(
            f"{name}: gave an array of shape {vectors.shape} for {len(texts)} texts; give one row per text"
        )
    if not np.isfinite(vectors).all():
        first = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        raise ConfigurationError(f"{name}: the vector of {shortened(texts[first])} is not finite")
    return vectors


class NoTokenizer:
    """Stand in for a tokenizer where a function takes whole texts."""

    pad_token_id = 0
    model_input_names: tuple[str, ...] = ()

    def save_pretrained(self, folder: str | Path) -> None:
        """Write nothing."""


def tokenizer_for(checkpoint: str | Path) -> Any:
    """Load the tokenizer of a checkpoint; for a function from texts to vectors, return one that does nothing."""
    return NoTokenizer() if is_function(checkpoint) else load_tokenizer(checkpoint)


Frozen = Literal["vectors"]
"""Values of the option ``frozen``; with ``vectors`` only a classifier of sentence vectors is trained, no encoder."""
