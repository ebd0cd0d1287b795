"""The one reader of packed aligners: names, shapes and texts are checked before anything is built from a file.

A file may come from anywhere. What it holds is read only after its header fits its configuration, so that memory and
time are bounded by its size; no name in it becomes a path.
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
BLOCK = 32
"""Values of a block of 4 bits."""
Family = Literal["bert", "roberta", "xlm-roberta"]
FAMILIES: tuple[str, ...] = get_args(Family)
"""Whose layers ``encoder.layer.N`` each end in the states that are compared, so that those above can be left out."""
CONFIG, TOKENIZER, TOKENIZER_CONFIG = "config.json", "tokenizer.json", "tokenizer_config.json"
CONTINUES = "continues"
"""In a file of upper layers: the hash of the file that it belongs to."""
TEXTS = (CONFIG, TOKENIZER_CONFIG, ALIGNER_FILE, "README.md")
"""Files that go along where they are there: the model card has licence notices."""
LARGEST_TOKENIZER = 1 << 26
"""Bytes of the ``tokenizer.json`` of a packed file, of which 64 MiB are several times the largest in use."""
_LARGEST_CHOICE = 1 << 20
_LARGEST_WEIGHT = np.finfo(np.float32).max / 128
"""Of scales too, which are multiplied by whole numbers of 8 bits."""
_ALLOWED = {FORMAT: {*TEXTS}, UPPER_FORMAT: {CONFIG, CONTINUES}}
_REQUIRED = {FORMAT: (CONFIG, ALIGNER_FILE), UPPER_FORMAT: (CONFIG, CONTINUES)}
_WORDS = "a \N{CARIAN LETTER A}"
"""What a tokenizer must cut: the second is a word that hardly any has, for which some need a piece."""
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
        """Names and shapes of the tensors of some layers, with those of the embeddings."""
        size, inner = self.hidden_size, self.intermediate_size
        matrices = {f"attention.self.{part}": (size, size) for part in ("query", "key", "value")}
        matrices |= {"attention.output.dense": (size, size), "intermediate.dense": (inner, size)}
        matrices["output.dense"] = (size, inner)
        layer: dict[str, tuple[int, ...]] = {f"{name}.weight": shape for name, shape in matrices.items()}
        layer |= {f"{name}.bias": shape[:1] for name, shape in matrices.items()}
        norms = ("attention.output.LayerNorm", "output.LayerNorm")
        layer |= {f"{name}.{part}": (size,) for name in norms for part in ("weight", "bias")}
        shapes = {f"encoder.layer.{k}.{name}": shape for k in layers for name, shape in layer.items()}
        if embeddings:
            rows = {"word": self.vocab_size, "position": self.max_position_embeddings}
            rows["token_type"] = self.type_vocab_size
            shapes |= {f"embeddings.{name}_embeddings.weight": (n, size) for name, n in rows.items()}
            shapes |= {f"embeddings.LayerNorm.{part}": (size,) for part in ("weight", "bias")}
        return shapes


class PackedFile(NamedTuple):
    """The content of a packed file, checked."""

    texts: dict[str, str]  # by name, tokenizer.json among them
    tensors: Tensors  # as they are kept, see :func:`restored`
    shape: EncoderShape


def is_packed(file: Path, kind: str = FORMAT) -> bool:
    """Whether a file is a packed aligner, complete or not."""
    try:
        with safe_open(file, framework="np") as tensors:
            return (tensors.metadata() or {}).get("format") == kind
    except (SafetensorError, OSError):
        return False


def sentence_file(file: str | Path) -> Path:
    """The file that holds the upper layers of a packed file, if there are any."""
    return _beside(file, ".sentences.safetensors")


def choice_beside(file: str | Path) -> Path:
    """The file beside a packed file that holds another choice of layer and method."""
    return _beside(file, ".aligner.json")


def _beside(file: str | Path, ending: str) -> Path:
    path = Path(file)
    return path.with_name(f"{path.name.removesuffix('.safetensors')}{ending}")


def read_packed(file: str | Path, *, texts_alone: bool = False) -> PackedFile:
    """A packed file, with the choice beside it in place of its own.

    ``texts_alone``: Leave out the tensors and the tokenizer.

    Raises:
        ConfigurationError: A file that is not a packed aligner, or whose parts do not fit each other.
    """
    path = Path(file)
    texts, tensors, shape = _read(path, FORMAT, texts_alone=texts_alone)
    choice = choice_beside(path) if choice_beside(path).is_file() else path
    if choice != path:
        texts[ALIGNER_FILE] = _small_text(choice)
    layer, most = (
        _json_object(choice, ALIGNER_FILE, texts[ALIGNER_FILE]).get("layer"),
        shape.num_hidden_layers,
    )
    if type(layer) is not int or not -most - 1 <= layer <= most:
        raise _unreadable(
            choice, f"layer: got {shortened(layer)}, but this encoder has layers 0 (embeddings) to {most}"
        )
    if not texts_alone:
        texts[TOKENIZER] = _inflated(path, tensors.pop(TOKENIZER))
    return PackedFile(texts, tensors, shape)


def read_upper(file: str | Path, lower: PackedFile) -> tuple[str, Tensors]:
    """The configuration of the whole encoder and its upper layers, of the second file of a packed file."""
    upper = sentence_file(file)
    texts, tensors, whole = _read(upper, UPPER_FORMAT, first=lower.shape.num_hidden_layers)
    if texts[CONTINUES] != fingerprint(file):
        raise ConfigurationError(f"{upper} continues another file than {file}; remove it, or pack both again")
    if whole.model_copy(update={"num_hidden_layers": lower.shape.num_hidden_layers}) != lower.shape:
        raise _unreadable(upper, f"{CONFIG} is of another encoder than {file}")
    return texts[CONFIG], tensors


def can_run(packed: PackedFile) -> bool:
    """Whether :class:`~isoglot.modules.packed_encoder.PackedEncoder` computes what the library does of this file."""
    config = parse_object(packed.texts[CONFIG])
    usual = {"hidden_act": "gelu", "position_embedding_type": "absolute", "is_decoder": False}
    return all(config.get(name, value) == value for name, value in usual.items())


def build_tokenizer(file: str | Path, packed: PackedFile) -> Tokenizer:
    """The tokenizer of a packed file, whose every id is a word embedding of its encoder."""
    text, rows = packed.texts[TOKENIZER], packed.shape.vocab_size
    try:
        tokenizer = Tokenizer.from_str(text)
        ids = tokenizer.encode(_WORDS).ids
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # the library raises Exception, and panics of Rust are not even that
        raise _unreadable(file, f"{TOKENIZER}: {reason(error)}") from error
    count = tokenizer.get_vocab_size()
    # Without holes the ids end at their count; the vocabulary itself takes four times as long.
    largest = count - 1
    if count > rows or not all(map(tokenizer.id_to_token, range(count))):
        largest = max(tokenizer.get_vocab().values(), default=-1)
    if (largest := max([largest, *ids])) >= rows:
        raise _unreadable(file, f"the tokenizer has ids up to {largest}, the encoder {rows} word embeddings")
    return tokenizer


def restored(tensors: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, Floats]]:
    """The tensors of :func:`isoglot.checkpoints.packed.quantised` as float32, with their names, one after another."""
    for key, values in tensors.items():
        name = key.removesuffix(".q4").removesuffix(".q8")
        if key.endswith(".q8"):
            yield name, values.astype(np.float32) * tensors[f"{name}.scale"]
        elif key.endswith(".q4"):
            rows, half = values.shape
            blocks = values.reshape(rows, -1, BLOCK // 2)
            whole = np.concatenate([blocks & 15, blocks >> 4], axis=2).astype(np.float32)
            whole -= 8
            whole *= tensors[f"{name}.scale"].astype(np.float32)[:, :, None]
            yield name, whole.reshape(rows, 2 * half)
        elif not key.endswith(".scale"):
            yield name, values


def encoder_shape(file: Path, text: str) -> EncoderShape:
    """What the configuration of an encoder says of its tensors."""
    try:
        shape = EncoderShape.model_validate(_json_object(file, CONFIG, text))
    except ValidationError as error:
        raise _unreadable(file, f"{CONFIG}: {problems_of(error)[0]}") from error
    if shape.hidden_size % shape.num_attention_heads:
        raise _unreadable(
            file, f"{CONFIG}: {shape.hidden_size} values for {shape.num_attention_heads} attention heads"
        )
    if shape.model_type != "bert" and not 0 <= (shape.pad_token_id or 0) < shape.max_position_embeddings:
        raise _unreadable(file, f"{CONFIG}: pad_token_id: got {shape.pad_token_id}")
    if shape.model_type != "bert" and shape.pad_token_id is None:
        raise _unreadable(file, f"{CONFIG}: pad_token_id: is missing")
    return shape


def require_tensors(
    file: Path, shape: EncoderShape, headers: Mapping[str, Header], *, first: int | None = None
) -> None:
    """Refuse tensors that are not those of an encoder, or, with ``first``, of its layers from this one on.

    Raises:
        ConfigurationError: The first that is missing, not known, or of another dtype or shape than is needed.
    """
    numbers = {layer[1] for name in headers if (layer := _LAYER.match(name))}
    layers = range(first or 0, shape.num_hidden_layers)
    if len(layers) != len(numbers):
        raise _unreadable(
            file, f"{CONFIG}: num_hidden_layers: {shape.num_hidden_layers}, with {len(numbers)} layers here"
        )
    needed: dict[str, Header] = {}
    for name, size in shape.tensors(layers, embeddings=first is None).items():
        if len(size) == 1:
            needed[name] = ("F32", size)
        elif f"{name}.q4" in headers and size[1] % BLOCK == 0:
            needed |= {f"{name}.q4": ("U8", (size[0], size[1] // 2)),
                       f"{name}.scale": ("F16", (size[0], size[1] // BLOCK))}  # fmt: skip
        else:
            needed |= {f"{name}.q8": ("I8", size), f"{name}.scale": ("F32", (size[0], 1))}
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
    if not file.is_file():
        raise ConfigurationError(f"{file} does not exist; reinstall isoglot, or name another model")
    try:
        with safe_open(file, framework="np") as tensors:
            texts = tensors.metadata() or {}
            if texts.pop("format", None) != kind:
                raise ConfigurationError(
                    f"{file} is not a packed aligner; make one with `isoglot pack CHECKPOINT --out {file}`"
                )
            if unknown := sorted(texts.keys() - _ALLOWED[kind]):
                raise _unreadable(file, f"unknown text {shortened(unknown[0])}")
            if missing := [name for name in _REQUIRED[kind] if name not in texts]:
                raise _unreadable(file, f"{missing[0]} is missing")
            if TOKENIZER_CONFIG in texts:
                _json_object(file, TOKENIZER_CONFIG, texts[TOKENIZER_CONFIG])
            shape = encoder_shape(file, texts[CONFIG])
            slices = {name: tensors.get_slice(name) for name in tensors.keys()}  # noqa: SIM118
            headers = {name: (str(s.get_dtype()), tuple(s.get_shape())) for name, s in slices.items()}
            if kind == FORMAT and (dtype := headers.pop(TOKENIZER, ("", ()))[0]) != "U8":
                raise _unreadable(file, f"{TOKENIZER} is {dtype or 'missing'}")
            require_tensors(file, shape, headers, first=first)
            names = [] if texts_alone else list(slices)
            contents = {name: tensors.get_tensor(name) for name in names}
    except (SafetensorError, OSError) as error:
        raise _unreadable(file, str(error)) from error
    for name, values in contents.items():
        if values.dtype.kind == "f" and not (np.abs(values) <= _LARGEST_WEIGHT).all():
            raise ConfigurationError(f"{file}: NaN or infinite weights in {name}; use an intact file")
    return texts, contents, shape


def _small_text(choice: Path) -> str:
    """The text of a choice beside a packed file."""
    try:
        with choice.open("rb") as file:
            content = file.read(_LARGEST_CHOICE + 1)
        if len(content) > _LARGEST_CHOICE:
            raise _unreadable(choice, f"has more than {_LARGEST_CHOICE:,} bytes")
        return content.decode()
    except (UnicodeDecodeError, OSError) as error:
        raise _unreadable(choice, reason(error)) from error


def _inflated(file: Path, content: NDArray[Any]) -> str:
    """The text of the tokenizer, of which no more is unpacked than one can have."""
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
    try:
        return parse_object(text)
    except InputError as error:
        raise _unreadable(file, f"{name} {error.message.rpartition(';')[0]}") from error


def _described(tensor: Header) -> str:
    return f"{tensor[0]} of shape {tensor[1]}"


def _unreadable(file: str | Path, problem: str) -> ConfigurationError:
    """What is wrong with a packed file, with the choice beside one, or with a checkpoint that is being packed."""
    what, hint = "packed aligner", "make the file again with `isoglot pack`"
    if Path(file).is_dir():
        what, hint = "checkpoint to pack", "save it again with `save_pretrained`"
    if Path(file).name.endswith(f".{ALIGNER_FILE}"):
        what, hint = "choice of layer and method", "delete it, or choose again with `isoglot tune`"
    return ConfigurationError(f"{file}: cannot be read as a {what} ({problem}); {hint}")
