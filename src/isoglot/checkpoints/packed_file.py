"""Read packed aligners, and check them.

A file may come from anywhere, so its names, shapes and texts are checked before anything is built from it:

1. Tensors are read only after the header of the file was found to fit its configuration. So memory and time are bounded
   by the size of the file, not by numbers that it states.
2. No name in the file becomes a path.
3. The tokenizer is unpacked to at most 64 MiB, and none of its ids is beyond the word embeddings.
4. No weight is NaN or infinite, nor becomes so when it is multiplied by its scale.

Open :func:`read_packed` first. ``packed.py`` describes the format and writes it; ``stored_weights.py`` knows how each
weight is stored. ``isoglot.modules.packed_encoder`` runs what was read here.
"""

import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer

from isoglot.checkpoints.reading import ALIGNER_FILE
from isoglot.checkpoints.stored_weights import Header, Tensors, stored_headers, unusable
from isoglot.core.checks import problems_of, shortened
from isoglot.core.errors import ConfigurationError, InputError, reason
from isoglot.runs.fingerprint import fingerprint
from isoglot.runs.json_lines import parse_object

FORMAT, UPPER_FORMAT = "isoglot-packed-1", "isoglot-packed-sentences-1"
"""The kind of a file, with a number. :mod:`isoglot.checkpoints.packed` says when the number is raised."""
Family = Literal["bert", "roberta", "xlm-roberta"]
FAMILIES: tuple[str, ...] = get_args(Family)
"""Families that can be packed: the hidden states of a layer come straight from ``encoder.layer.N``, with no norm above
all layers, so the layers above N can be left out."""
CONFIG, TOKENIZER, TOKENIZER_CONFIG = "config.json", "tokenizer.json", "tokenizer_config.json"
CONTINUES = "continues"
"""Name of a text in a file of upper layers: the hash of the aligner's file to which the layers belong."""
TEXTS = (CONFIG, TOKENIZER_CONFIG, ALIGNER_FILE, "README.md")
"""Texts that are files of a checkpoint: packed if they exist, and written as files again when the packed file is
unpacked. The model card is among them because it has licence notices."""
LARGEST_TOKENIZER = 1 << 26
"""Maximum bytes of a packed ``tokenizer.json``: 64 MiB, several times the largest in use."""
_LARGEST_CHOICE = 1 << 20
"""Maximum bytes of a choice of layer and method beside a packed file."""
_ALLOWED = {FORMAT: {*TEXTS}, UPPER_FORMAT: {CONFIG, CONTINUES}}
"""The texts that a file may have. A text that is no file of a checkpoint belongs here and not into ``TEXTS``."""
_REQUIRED = {FORMAT: (CONFIG, ALIGNER_FILE), UPPER_FORMAT: (CONFIG, CONTINUES)}
_WORDS = "a \N{CARIAN LETTER A}"
"""Text that a tokenizer must be able to cut: a common word, and a letter that hardly any vocabulary has. For the letter
the tokenizer needs its piece for unknown words; one that lacks this piece fails here, and not later."""
_LAYER = re.compile(r"encoder\.layer\.(\d+)\.")
_Count = Annotated[int, Field(ge=1, lt=1 << 31)]


class EncoderShape(BaseModel):
    """The values of an encoder's ``config.json`` on which the shapes of its tensors and its computing depend."""

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
        """Return the names and shapes of the tensors of some layers: ``encoder.layer.0.output.dense.bias``: ``(384,)``.

        ``embeddings``: Add the tensors of the embeddings.
        """
        size, inner = self.hidden_size, self.intermediate_size
        matrices = {f"attention.self.{part}": (size, size) for part in ("query", "key", "value")}
        matrices |= {"attention.output.dense": (size, size), "intermediate.dense": (inner, size)}
        matrices["output.dense"] = (size, inner)
        layer: dict[str, tuple[int, ...]] = {f"{name}.weight": shape for name, shape in matrices.items()}
        layer |= {f"{name}.bias": shape[:1] for name, shape in matrices.items()}
        norms = ("attention.output.LayerNorm", "output.LayerNorm")
        layer |= {f"{name}.{part}": (size,) for name in norms for part in ("weight", "bias")}
        shapes: dict[str, tuple[int, ...]] = {}
        for number in layers:
            for name, shape in layer.items():
                shapes[f"encoder.layer.{number}.{name}"] = shape
        if embeddings:
            rows = {"word": self.vocab_size, "position": self.max_position_embeddings}
            rows["token_type"] = self.type_vocab_size
            shapes |= {f"embeddings.{name}_embeddings.weight": (n, size) for name, n in rows.items()}
            shapes |= {f"embeddings.LayerNorm.{part}": (size,) for part in ("weight", "bias")}
        return shapes


class PackedFile(NamedTuple):
    """The content of a packed file, checked."""

    texts: dict[str, str]  # by file name: config.json, aligner.json, tokenizer.json, …
    tensors: Tensors  # as they are stored; `restored` in stored_weights.py makes float32 of them
    shape: EncoderShape


def is_packed(file: Path, kind: str = FORMAT) -> bool:
    """Whether a file says that it is a packed aligner, or of another ``kind``; its content may still be wrong."""
    try:
        with safe_open(file, framework="np") as tensors:
            return (tensors.metadata() or {}).get("format") == kind
    except (SafetensorError, OSError):
        return False


def upper_layers_file(file: str | Path) -> Path:
    """Return the path of the upper layers of a packed file: ``a.safetensors`` has ``a.sentences.safetensors``."""
    return _beside(file, ".sentences.safetensors")


def choice_beside(file: str | Path) -> Path:
    """Return the path of another choice of layer and method: ``a.safetensors`` has ``a.aligner.json``."""
    return _beside(file, ".aligner.json")


def _beside(file: str | Path, ending: str) -> Path:
    path = Path(file)
    return path.with_name(f"{path.name.removesuffix('.safetensors')}{ending}")


def read_packed(file: str | Path, *, texts_alone: bool = False) -> PackedFile:
    """Read a packed file. A choice of layer and method beside the file takes the place of the one inside.

    ``texts_alone``: Leave out the tensors and the tokenizer.

    Raises:
        ConfigurationError: A file that is not a packed aligner, or whose parts do not fit each other.
    """
    path = Path(file)
    texts, tensors, shape = _read(path, FORMAT, texts_alone=texts_alone)
    choice_from = path  # the file that a message about the choice names
    beside = choice_beside(path)
    if beside.is_file():
        choice_from = beside
        texts[ALIGNER_FILE] = _small_text(choice_from)
    # Layer 0 is the embeddings; a negative layer counts from the end, -1 for the last one.
    layer = _json_object(choice_from, ALIGNER_FILE, texts[ALIGNER_FILE]).get("layer")
    last = shape.num_hidden_layers
    if type(layer) is not int or not -last - 1 <= layer <= last:
        found = f"layer: got {shortened(layer)}, but this encoder has layers 0 (embeddings) to {last}"
        raise _unreadable(choice_from, found)
    if not texts_alone:
        texts[TOKENIZER] = _inflated(path, tensors.pop(TOKENIZER))
    return PackedFile(texts, tensors, shape)


def read_upper(file: str | Path, packed: PackedFile) -> tuple[str, Tensors]:
    """Read the file of upper layers beside a packed file: ``config.json`` of the whole encoder, and the layers.

    ``packed``: The content of the packed file, to which the upper layers must belong.
    """
    upper, lower_count = upper_layers_file(file), packed.shape.num_hidden_layers
    texts, tensors, whole = _read(upper, UPPER_FORMAT, first=lower_count)
    if texts[CONTINUES] != fingerprint(file):
        raise ConfigurationError(f"{upper} continues another file than {file}; remove it, or pack both again")
    if whole.model_copy(update={"num_hidden_layers": lower_count}) != packed.shape:
        raise _unreadable(upper, f"{CONFIG} is of another encoder than {file}")
    return texts[CONFIG], tensors


def can_run(packed: PackedFile) -> bool:
    """Whether :class:`~isoglot.modules.packed_encoder.PackedEncoder` computes the same states as transformers.

    It does for the usual settings of these families, which are the defaults of their configurations.
    """
    config = parse_object(packed.texts[CONFIG])
    usual = {"hidden_act": "gelu", "position_embedding_type": "absolute", "is_decoder": False}
    return all(config.get(name, value) == value for name, value in usual.items())


def build_tokenizer(file: str | Path, packed: PackedFile) -> Tokenizer:
    """Build the tokenizer of a packed file, and check that each of its ids has a word embedding in the encoder."""
    text, rows = packed.texts[TOKENIZER], packed.shape.vocab_size
    try:
        tokenizer = Tokenizer.from_str(text)
        ids = tokenizer.encode(_WORDS).ids
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    # The library raises plain Exception; a panic of its Rust code is not even that.
    except BaseException as error:
        raise _unreadable(file, f"{TOKENIZER}: {reason(error)}") from error
    # If every id below the number of entries has an entry, the largest id is one less than that number. Only if there
    # are gaps is the whole vocabulary read, which takes four times as long.
    count = tokenizer.get_vocab_size()
    largest = count - 1
    if count > rows or not all(map(tokenizer.id_to_token, range(count))):
        largest = max(tokenizer.get_vocab().values(), default=-1)
    largest = max([largest, *ids])  # special tokens of the template may have ids of their own
    if largest >= rows:
        raise _unreadable(file, f"the tokenizer has ids up to {largest}, the encoder {rows} word embeddings")
    return tokenizer


def encoder_shape(file: Path, text: str) -> EncoderShape:
    """Read the shape of an encoder from its configuration.

    Args:
        file: The file or folder that messages name.
        text: The content of ``config.json``.

    Raises:
        ConfigurationError: A value is missing or wrong, or values do not fit each other.
    """
    try:
        shape = EncoderShape.model_validate(_json_object(file, CONFIG, text))
    except ValidationError as error:
        raise _unreadable(file, f"{CONFIG}: {problems_of(error)[0]}") from error
    if shape.hidden_size % shape.num_attention_heads:
        raise _unreadable(
            file, f"{CONFIG}: {shape.hidden_size} values for {shape.num_attention_heads} attention heads"
        )
    # RoBERTa numbers the positions of a text from pad_token_id + 1 on, BERT from 0.
    if shape.model_type != "bert":
        if shape.pad_token_id is None:
            raise _unreadable(file, f"{CONFIG}: pad_token_id: is missing")
        if not 0 <= shape.pad_token_id < shape.max_position_embeddings:
            raise _unreadable(file, f"{CONFIG}: pad_token_id: got {shape.pad_token_id}")
    return shape


def require_tensors(
    file: Path, shape: EncoderShape, headers: Mapping[str, Header], *, first: int | None = None
) -> None:
    """Refuse a file whose tensors are not exactly those of an encoder, each as ``stored_weights.py`` stores it.

    Args:
        file: The file that messages name.
        shape: The encoder.
        headers: Dtype and shape of each tensor in the file, by name.
        first: The first layer in a file of upper layers, which has no embeddings; ``None`` for a whole encoder.

    Raises:
        ConfigurationError: A tensor is missing, unknown, or of another dtype or shape than is needed.
    """
    # Count the layers first: a configuration that promises billions of layers must not become a list of their tensors.
    layers_here = {match[1] for match in map(_LAYER.match, headers) if match}
    layers = range(first or 0, shape.num_hidden_layers)
    if len(layers) != len(layers_here):
        found = f"num_hidden_layers: {shape.num_hidden_layers}, with {len(layers_here)} layers here"
        raise _unreadable(file, f"{CONFIG}: {found}")
    needed: dict[str, Header] = {}
    for name, size in shape.tensors(layers, embeddings=first is None).items():
        needed |= stored_headers(name, size, headers)
    for name in sorted({*needed, *headers}):
        if name not in headers:
            raise _unreadable(file, f"tensor {name} is missing")
        if name not in needed:
            raise _unreadable(file, f"unknown tensor {shortened(name)}")
        if headers[name] != needed[name]:
            found, wanted = _header_text(headers[name]), _header_text(needed[name])
            raise _unreadable(file, f"tensor {name} is {found}, and {wanted} is needed")


def _read(
    file: Path, kind: str, *, first: int | None = None, texts_alone: bool = False
) -> tuple[dict[str, str], Tensors, EncoderShape]:
    """Read the texts and tensors of a file, each check before what depends on it.

    1. The file says that it is of the wanted kind.
    2. It has all texts that are needed, and no others.
    3. Its configuration is that of an encoder, and its tensors are exactly those of this encoder.
    4. Only now the tensors are read, unless ``texts_alone``; their values are finite.

    ``kind``: :data:`FORMAT`, or :data:`UPPER_FORMAT` for a file of upper layers, of which ``first`` is the lowest.
    """
    if not file.is_file():
        raise ConfigurationError(f"{file} does not exist; reinstall isoglot, or name another model")
    try:
        with safe_open(file, framework="np") as tensors:
            texts = tensors.metadata() or {}
            if texts.pop("format", None) != kind:  # 1
                raise ConfigurationError(
                    f"{file} is not a packed aligner; make one with `isoglot pack CHECKPOINT --out {file}`"
                )
            unknown = sorted(texts.keys() - _ALLOWED[kind])  # 2
            if unknown:
                raise _unreadable(file, f"unknown text {shortened(unknown[0])}")
            for name in _REQUIRED[kind]:
                if name not in texts:
                    raise _unreadable(file, f"{name} is missing")
            if TOKENIZER_CONFIG in texts:
                _json_object(file, TOKENIZER_CONFIG, texts[TOKENIZER_CONFIG])
            shape = encoder_shape(file, texts[CONFIG])  # 3
            headers: dict[str, Header] = {}
            for name in tensors.keys():  # noqa: SIM118 - not a mapping
                header = tensors.get_slice(name)  # reads no values
                headers[name] = (str(header.get_dtype()), tuple(header.get_shape()))
            # What is read at 4: the tokenizer too, which is stored as a tensor of compressed bytes.
            names = [] if texts_alone else list(headers)
            if kind == FORMAT:  # the encoder has no such tensor, so its header is checked here and taken out
                dtype, _ = headers.pop(TOKENIZER, ("", ()))
                if dtype != "U8":
                    raise _unreadable(file, f"{TOKENIZER} is {dtype or 'missing'}")
            require_tensors(file, shape, headers, first=first)
            contents = {name: tensors.get_tensor(name) for name in names}  # 4
    except (SafetensorError, OSError) as error:
        raise _unreadable(file, str(error)) from error
    wrong = unusable(contents)
    if wrong is not None:
        raise ConfigurationError(f"{file}: NaN or infinite weights in {wrong}; use an intact file")
    return texts, contents, shape


def _small_text(choice: Path) -> str:
    """Read a choice beside a packed file, but no more of the file than a choice can have."""
    try:
        with choice.open("rb") as file:
            content = file.read(_LARGEST_CHOICE + 1)
        if len(content) > _LARGEST_CHOICE:
            raise _unreadable(choice, f"has more than {_LARGEST_CHOICE:,} bytes")
        return content.decode()
    except (UnicodeDecodeError, OSError) as error:
        raise _unreadable(choice, reason(error)) from error


def _inflated(file: Path, content: NDArray[Any]) -> str:
    """Decompress the tokenizer, but no more bytes than a tokenizer may have: a few bytes can stand for gigabytes."""
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
    """Parse the text ``name`` of a file, which must be a JSON object."""
    try:
        return parse_object(text)
    except InputError as error:
        # Without the hint after the last semicolon: `_unreadable` adds its own.
        raise _unreadable(file, f"{name} {error.message.rpartition(';')[0]}") from error


def _header_text(tensor: Header) -> str:
    return f"{tensor[0]} of shape {tensor[1]}"


def _unreadable(file: str | Path, problem: str) -> ConfigurationError:
    """Make the error about a packed file, about the choice beside one, or about a checkpoint that is being packed."""
    what, hint = "packed aligner", "make the file again with `isoglot pack`"
    if Path(file).is_dir():
        what, hint = "checkpoint to pack", "save it again with `save_pretrained`"
    if Path(file).name.endswith(f".{ALIGNER_FILE}"):
        what, hint = "choice of layer and method", "delete it, or choose again with `isoglot tune`"
    return ConfigurationError(f"{file}: cannot be read as a {what} ({problem}); {hint}")
