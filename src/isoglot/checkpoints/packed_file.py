"""Read packed aligners: names, shapes and texts are checked before anything is built from a file.

A file may come from anywhere. Its tensors are read only after its header was found to fit its configuration, so that
memory and time are bounded by the size of the file; no name in the file becomes a path.

:mod:`isoglot.checkpoints.packed` says how the weights are kept. In the header of the safetensors file are *texts* by
name (``config.json``, ``aligner.json``, the model card) and the *headers* of the tensors: dtype and shape.
"""

import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer

from isoglot.checkpoints.reading import ALIGNER_FILE
from isoglot.core.checks import problems_of, shortened
from isoglot.core.errors import ConfigurationError, InputError, reason
from isoglot.runs.fingerprint import fingerprint
from isoglot.runs.json_lines import parse_object

Floats = NDArray[np.float32]
Tensors = dict[str, NDArray[Any]]
Header = tuple[str, tuple[int, ...]]
"""Dtype, as safetensors calls it, and shape of a tensor."""
FORMAT, UPPER_FORMAT = "isoglot-packed-1", "isoglot-packed-sentences-1"
"""The text ``format`` of an aligner's file, and of the second file with the layers above the aligner's."""
BLOCK = 32
"""Number of 4-bit values with one scale."""
Family = Literal["bert", "roberta", "xlm-roberta"]
FAMILIES: tuple[str, ...] = get_args(Family)
"""Families whose layers ``encoder.layer.N`` end in the states that aligners compare: layers above can be left out."""
CONFIG, TOKENIZER, TOKENIZER_CONFIG = "config.json", "tokenizer.json", "tokenizer_config.json"
CONTINUES = "continues"
"""In a file of upper layers: the hash of the file that it belongs to."""
TEXTS = (CONFIG, TOKENIZER_CONFIG, ALIGNER_FILE, "README.md")
"""Files of a checkpoint that are packed too if they exist. The model card is among them: it has licence notices."""
LARGEST_TOKENIZER = 1 << 26
"""Maximum bytes of a packed ``tokenizer.json``: 64 MiB, several times the largest one in use."""
_LARGEST_CHOICE = 1 << 20
"""Maximum bytes of a choice of layer and method beside a packed file."""
_LARGEST_WEIGHT = np.finfo(np.float32).max / 128
"""Maximum of float tensors. Scales are among them: multiplied by a whole number of 8 bits they must stay finite."""
_ALLOWED = {FORMAT: {*TEXTS}, UPPER_FORMAT: {CONFIG, CONTINUES}}
_REQUIRED = {FORMAT: (CONFIG, ALIGNER_FILE), UPPER_FORMAT: (CONFIG, CONTINUES)}
_WORDS = "a \N{CARIAN LETTER A}"
"""Text to try a tokenizer on. Hardly any tokenizer knows the second word, so its piece for unknown words is used."""
_LAYER = re.compile(r"encoder\.layer\.(\d+)\.")
_Count = Annotated[int, Field(ge=1, lt=1 << 31)]


class EncoderShape(BaseModel):
    """The shape of an encoder: its tensors, and how it computes, as its configuration says."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    model_type: Family
    num_hidden_layers: int = Field(ge=0, lt=1 << 31)
    hidden_size: _Count
    intermediate_size: _Count
    num_attention_heads: _Count
    vocab_size: _Count
    max_position_embeddings: _Count
    type_vocab_size: _Count
    layer_norm_eps: float = Field(gt=0, allow_inf_nan=False)
    pad_token_id: int | None = None

    def tensors(self, layers: range, *, embeddings: bool) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the tensors of some layers, and of the embeddings if asked for.

        ``encoder.layer.0.intermediate.dense.weight: (3072, 768)`` is one of them. Names are those of the library's
        BertModel, which the other families share.
        """
        size, inner = self.hidden_size, self.intermediate_size
        matrices = {f"attention.self.{part}": (size, size) for part in ("query", "key", "value")}
        matrices |= {"attention.output.dense": (size, size), "intermediate.dense": (inner, size)}
        matrices["output.dense"] = (size, inner)
        layer: dict[str, tuple[int, ...]] = {f"{name}.weight": shape for name, shape in matrices.items()}
        layer |= {f"{name}.bias": shape[:1] for name, shape in matrices.items()}
        for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
            layer |= {f"{norm}.weight": (size,), f"{norm}.bias": (size,)}
        shapes: dict[str, tuple[int, ...]] = {}
        for number in layers:
            for name, shape in layer.items():
                shapes[f"encoder.layer.{number}.{name}"] = shape
        if embeddings:
            rows = {"word": self.vocab_size, "position": self.max_position_embeddings}
            rows["token_type"] = self.type_vocab_size
            shapes |= {f"embeddings.{name}_embeddings.weight": (count, size) for name, count in rows.items()}
            shapes |= {f"embeddings.LayerNorm.{part}": (size,) for part in ("weight", "bias")}
        return shapes


class PackedFile(NamedTuple):
    """The checked content of a packed file."""

    texts: dict[str, str]  # by name, tokenizer.json among them
    tensors: Tensors  # quantised as in the file; :func:`restored` makes weights of them
    shape: EncoderShape


def is_packed(file: Path, kind: str = FORMAT) -> bool:
    """Whether a file says that it is a packed aligner; its content may still be wrong."""
    try:
        with safe_open(file, framework="np") as tensors:
            return (tensors.metadata() or {}).get("format") == kind
    except (SafetensorError, OSError):
        return False


def sentence_file(file: str | Path) -> Path:
    """Return the path of the upper layers of a packed file: ``a.sentences.safetensors`` for ``a.safetensors``."""
    return _beside(file, ".sentences.safetensors")


def choice_beside(file: str | Path) -> Path:
    """Return the path of another choice of layer and method: ``a.aligner.json`` for ``a.safetensors``."""
    return _beside(file, ".aligner.json")


def _beside(file: str | Path, ending: str) -> Path:
    """Return the path of a file beside a packed file: the same name with another ending."""
    path = Path(file)
    return path.with_name(f"{path.name.removesuffix('.safetensors')}{ending}")


def read_packed(file: str | Path, *, texts_alone: bool = False) -> PackedFile:
    """Read a packed file. If a choice of layer and method lies beside the file, it replaces the file's own.

    ``texts_alone``: Leave out the tensors and the tokenizer.

    Raises:
        ConfigurationError: A file that is not a packed aligner, or whose parts do not fit each other.
    """
    path = Path(file)
    texts, tensors, shape = _read(path, FORMAT, texts_alone=texts_alone)
    choice = choice_beside(path) if choice_beside(path).is_file() else path
    if choice != path:
        texts[ALIGNER_FILE] = _small_text(choice)
    layer = _json_object(choice, ALIGNER_FILE, texts[ALIGNER_FILE]).get("layer")
    highest = shape.num_hidden_layers
    # -1 is the last layer, and -highest - 1 the embeddings. A bool is an int to isinstance, but not a layer.
    if type(layer) is not int or not -highest - 1 <= layer <= highest:
        raise _unreadable(
            choice, f"layer: got {shortened(layer)}, but this encoder has layers 0 (embeddings) to {highest}"
        )
    if not texts_alone:
        texts[TOKENIZER] = _inflated(path, tensors.pop(TOKENIZER))
    return PackedFile(texts, tensors, shape)


def read_upper(file: str | Path, lower: PackedFile) -> tuple[str, Tensors]:
    """Read the second file of a packed file: the configuration of the whole encoder, and its upper layers.

    ``lower``: The packed file, which must be the one that the upper layers were packed with.
    """
    upper = sentence_file(file)
    texts, tensors, whole = _read(upper, UPPER_FORMAT, first=lower.shape.num_hidden_layers)
    if texts[CONTINUES] != fingerprint(file):
        raise ConfigurationError(f"{upper} continues another file than {file}; remove it, or pack both again")
    if whole.model_copy(update={"num_hidden_layers": lower.shape.num_hidden_layers}) != lower.shape:
        raise _unreadable(upper, f"{CONFIG} is of another encoder than {file}")
    return texts[CONFIG], tensors


def can_run(packed: PackedFile) -> bool:
    """Whether :class:`~isoglot.modules.packed_encoder.PackedEncoder` computes the same as the library's model."""
    config = parse_object(packed.texts[CONFIG])
    usual = {"hidden_act": "gelu", "position_embedding_type": "absolute", "is_decoder": False}
    return all(config.get(name, value) == value for name, value in usual.items())


def build_tokenizer(file: str | Path, packed: PackedFile) -> Tokenizer:
    """Build the tokenizer of a packed file; refuse one with ids for which the encoder has no word embedding."""
    text, rows = packed.texts[TOKENIZER], packed.shape.vocab_size
    try:
        tokenizer = Tokenizer.from_str(text)
        ids = tokenizer.encode(_WORDS).ids
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # the library raises Exception, and panics of Rust are not even that
        raise _unreadable(file, f"{TOKENIZER}: {reason(error)}") from error
    # Ids usually run from 0 to count - 1. Whether they do is found in a quarter of the time that the vocabulary takes.
    count = tokenizer.get_vocab_size()
    largest = count - 1
    if count > rows or not all(map(tokenizer.id_to_token, range(count))):
        largest = max(tokenizer.get_vocab().values(), default=-1)
    largest = max([largest, *ids])
    if largest >= rows:
        raise _unreadable(file, f"the tokenizer has ids up to {largest}, the encoder {rows} word embeddings")
    return tokenizer


def restored(tensors: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, Floats]]:
    """Yield the names and float32 values of the tensors that :func:`isoglot.checkpoints.packed.quantised` has kept."""
    for key, values in tensors.items():
        name = key.removesuffix(".q4").removesuffix(".q8")
        if key.endswith(".q8"):
            yield name, values.astype(np.float32) * tensors[f"{name}.scale"]
        elif key.endswith(".q4"):
            # Byte j of a block holds value j in its low half and value j + 16 in its high half, each plus 8.
            rows, half = values.shape
            blocks = values.reshape(rows, -1, BLOCK // 2)
            whole = np.concatenate([blocks & 15, blocks >> 4], axis=2).astype(np.float32)
            whole -= 8
            whole *= tensors[f"{name}.scale"].astype(np.float32)[:, :, None]
            yield name, whole.reshape(rows, 2 * half)
        elif not key.endswith(".scale"):
            yield name, values


def encoder_shape(file: Path, text: str) -> EncoderShape:
    """Read the shape of an encoder from the text of its configuration; ``file`` is named in messages."""
    try:
        shape = EncoderShape.model_validate(_json_object(file, CONFIG, text))
    except ValidationError as error:
        raise _unreadable(file, f"{CONFIG}: {problems_of(error)[0]}") from error
    if shape.hidden_size % shape.num_attention_heads:
        raise _unreadable(
            file, f"{CONFIG}: {shape.hidden_size} values for {shape.num_attention_heads} attention heads"
        )
    # RoBERTa counts positions from the id of padding on, so the id must be given, and be a position itself.
    if shape.model_type != "bert" and not 0 <= (shape.pad_token_id or 0) < shape.max_position_embeddings:
        raise _unreadable(file, f"{CONFIG}: pad_token_id: got {shape.pad_token_id}")
    if shape.model_type != "bert" and shape.pad_token_id is None:
        raise _unreadable(file, f"{CONFIG}: pad_token_id: is missing")
    return shape


def require_tensors(
    file: Path, shape: EncoderShape, headers: Mapping[str, Header], *, first: int | None = None
) -> None:
    """Refuse a file whose tensors are not those of an encoder.

    Args:
        file: The file, for messages.
        shape: The encoder's shape.
        headers: Dtype and shape of each tensor in the file.
        first: The file has the layers from this one on, and no embeddings; by default all layers and the embeddings.

    Raises:
        ConfigurationError: The first tensor, by name, that is missing, unknown, or of another dtype or shape.
    """
    # Before names are made for all layers: a configuration may promise millions of them.
    numbers = {match[1] for match in map(_LAYER.match, headers) if match}
    layers = range(first or 0, shape.num_hidden_layers)
    if len(layers) != len(numbers):
        raise _unreadable(
            file, f"{CONFIG}: num_hidden_layers: {shape.num_hidden_layers}, with {len(numbers)} layers here"
        )
    needed: dict[str, Header] = {}
    for name, size in shape.tensors(layers, embeddings=first is None).items():
        if len(size) == 1:
            needed[name] = "F32", size
            continue
        rows, columns = size
        if f"{name}.q4" in headers and columns % BLOCK == 0:
            needed[f"{name}.q4"] = "U8", (rows, columns // 2)
            needed[f"{name}.scale"] = "F16", (rows, columns // BLOCK)
        else:
            needed[f"{name}.q8"] = "I8", size
            needed[f"{name}.scale"] = "F32", (rows, 1)
    for name in sorted({*needed, *headers}):
        if name not in headers:
            raise _unreadable(file, f"tensor {name} is missing")
        if name not in needed:
            raise _unreadable(file, f"unknown tensor {shortened(name)}")
        if headers[name] != needed[name]:
            raise _unreadable(
                file,
                f"tensor {name} is {_described(headers[name])}, and {_described(needed[name])} is needed",
            )


def _read(
    file: Path, kind: str, *, first: int | None = None, texts_alone: bool = False
) -> tuple[dict[str, str], Tensors, EncoderShape]:
    """Read the texts, tensors and shape of a file, in an order in which nothing is read before it is checked.

    1. The texts: all that are needed, and no others.
    2. The configuration, and the headers of the tensors, which must fit the configuration.
    3. The tensors themselves, unless ``texts_alone``.
    4. Their values: no NaN and no infinite number.

    ``kind``: The format that the file must have. ``first``: As in :func:`require_tensors`.
    """
    if not file.is_file():
        raise ConfigurationError(f"{file} does not exist; reinstall isoglot, or name another model")
    try:
        with safe_open(file, framework="np") as tensors:
            texts = tensors.metadata() or {}
            _require_texts(file, kind, texts)  # 1
            shape = encoder_shape(file, texts[CONFIG])  # 2
            slices = {name: tensors.get_slice(name) for name in tensors.keys()}  # noqa: SIM118
            headers = {name: (str(s.get_dtype()), tuple(s.get_shape())) for name, s in slices.items()}
            if kind == FORMAT:
                dtype, _ = headers.pop(TOKENIZER, ("missing", ()))
                if dtype != "U8":
                    raise _unreadable(file, f"{TOKENIZER} is {dtype}")
            require_tensors(file, shape, headers, first=first)
            names = [] if texts_alone else list(slices)  # 3
            contents = {name: tensors.get_tensor(name) for name in names}
    except (SafetensorError, OSError) as error:
        raise _unreadable(file, str(error)) from error
    for name, values in contents.items():  # 4
        if values.dtype.kind == "f" and not (np.abs(values) <= _LARGEST_WEIGHT).all():
            raise ConfigurationError(f"{file}: NaN or infinite weights in {name}; use an intact file")
    return texts, contents, shape


def _require_texts(file: Path, kind: str, texts: dict[str, str]) -> None:
    """Refuse a file of another format, with texts that are not known, or without one that is needed.

    The text ``format`` is taken out of ``texts``.
    """
    if texts.pop("format", None) != kind:
        raise ConfigurationError(
            f"{file} is not a packed aligner; make one with `isoglot pack CHECKPOINT --out {file}`"
        )
    unknown = sorted(texts.keys() - _ALLOWED[kind])
    if unknown:
        raise _unreadable(file, f"unknown text {shortened(unknown[0])}")
    missing = [name for name in _REQUIRED[kind] if name not in texts]
    if missing:
        raise _unreadable(file, f"{missing[0]} is missing")
    if TOKENIZER_CONFIG in texts:
        _json_object(file, TOKENIZER_CONFIG, texts[TOKENIZER_CONFIG])


def _small_text(choice: Path) -> str:
    """Read a choice of layer and method beside a packed file; refuse one of more than a megabyte."""
    try:
        with choice.open("rb") as file:
            content = file.read(_LARGEST_CHOICE + 1)
        if len(content) > _LARGEST_CHOICE:
            raise _unreadable(choice, f"has more than {_LARGEST_CHOICE:,} bytes")
        return content.decode()
    except (UnicodeDecodeError, OSError) as error:
        raise _unreadable(choice, reason(error)) from error


def _inflated(file: Path, content: NDArray[Any]) -> str:
    """Decompress the text of the tokenizer, but no more bytes than a tokenizer may have.

    A few kilobytes can be compressed from gigabytes, which would fill the memory before anything is checked.
    """
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(content.tobytes(), LARGEST_TOKENIZER)
        if unpacker.unconsumed_tail:
            raise _unreadable(file, f"{TOKENIZER} has more than {LARGEST_TOKENIZER:,} bytes")
        if not unpacker.eof or unpacker.unused_data:
            raise _unreadable(file, f"{TOKENIZER} is cut off or longer than it says")
        return text.decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise _unreadable(file, f"{TOKENIZER}: {error}") from error


def _json_object(file: Path, name: str, text: str) -> dict[str, Any]:
    """Parse a text of a packed file that must be a JSON object."""
    try:
        return parse_object(text)
    except InputError as error:
        problem = error.message.rpartition(";")[
            0
        ]  # the message goes on with what to do in a file of the user's own
        raise _unreadable(file, f"{name} {problem}") from error


def _described(tensor: Header) -> str:
    """Say dtype and shape of a tensor: ``F32 of shape (768,)``."""
    return f"{tensor[0]} of shape {tensor[1]}"


def _unreadable(file: str | Path, problem: str) -> ConfigurationError:
    """Return the error about a packed file, about the choice beside one, or about a checkpoint that is being packed."""
    what, hint = "packed aligner", "make the file again with `isoglot pack`"
    if Path(file).is_dir():
        what, hint = "checkpoint to pack", "save it again with `save_pretrained`"
    if Path(file).name.endswith(f".{ALIGNER_FILE}"):
        what, hint = "choice of layer and method", "delete it, or choose again with `isoglot tune`"
    return ConfigurationError(f"{file}: cannot be read as a {what} ({problem}); {hint}")
