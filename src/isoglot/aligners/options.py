"""Requests of `isoglot align` and `isoglot score`: one pydantic model for each kind of aligner and way of scoring.

Each field is an argument in Python and a flag of the command; ``option(...)`` has its help. Checks of one option stand
beside it, checks of several in a ``model_validator``.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from isoglot.aligners.embedding.choice import with_kept
from isoglot.aligners.embedding.options import METHODS, AnyEmbedding, LinkFilter, Values, values_of
from isoglot.aligners.lexicon_options import LexiconOptions
from isoglot.aligners.link_options import GoldReading, LinksReading
from isoglot.aligners.statistical.options import DiagonalOptions, HmmOptions, Symmetrisation, Symmetriser
from isoglot.checkpoints.folder import BOX
from isoglot.core.checks import validated
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import (
    Options,
    OutputFile,
    Workers,
    internal,
    one_or_more,
    option,
    option_names,
    text_of_path,
)
from isoglot.runs.listed import recovered

_LEARNING, _ENCODER, _READING, _WRITING, _SCALE = (
    "Learning from the bitext", "With an encoder", "How to read", "How to write", "On many machines",
)  # fmt: skip
STATISTICAL = {
    "fast_align": "learns from the bitext: IBM 2 with a diagonal prior, fast_align's links; the fastest",
    "hmm": "learns from the bitext: a Bayesian HMM whose directions agree; the most accurate",
    "eflomal": "learns from the bitext: the external program, if it is installed (pip install eflomal)",
}
"""Methods without an encoder, and what they are."""
_SYMMETRISE = (
    "How links from source to target and from target to source are combined; by default agreement for hmm, "
    "grow-diag-final-and for the others."
)
_THRESHOLD = "Least posterior of a link on which both directions agree; 0.5 and more favours precision."
_MODEL_KEPT = "Save the learned model in this folder."
_ENCODER_NAME = (
    "Folder or hub name of the encoder; box, the default, is the aligner that comes with isoglot. Also the folder of a "
    "saved statistical model."
)
_SENTENCES = "Write the rates of each sentence, in %, to this TSV file; not for an encoder."
_ANY_LANGUAGE = "Use a saved model for text of other languages than it was trained on."
_START = "Start training from this saved model, for example one that `isoglot merge` wrote."
_TRAIN_ON = "More bitext to learn from, whose links are not written; repeatable."
_OWN_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
"""``package.module:Name``."""


class _Model(LinkFilter, LexiconOptions):
    """A statistical model, learned or loaded."""

    learns: ClassVar[bool] = False
    values: ClassVar[Values] = "probabilities"
    symmetrisation: Symmetrisation | None = option(
        None, _SYMMETRISE, flags=["--symmetrisation", "--symmetrise"], group=_LEARNING
    )
    threshold: float | None = option(None, _THRESHOLD, flags=None, gt=0, lt=1)
    save: Path | None = option(None, _MODEL_KEPT, group=_LEARNING)
    any_language: bool = option(False, _ANY_LANGUAGE, group=_LEARNING)


class _LearnedModel(_Model):
    """A model that learns from the text that is to be aligned."""

    learns: ClassVar[bool] = True
    lowercase: bool = option(False, "Compare words without case.", group=_LEARNING)
    train_on: tuple[str, ...] = option((), _TRAIN_ON, group=_LEARNING)
    start: Path | None = option(None, _START, group=_LEARNING)
    any_language: bool = option(False, _ANY_LANGUAGE, group=_LEARNING, only_with="start")
    _one_or_more = field_validator("train_on", mode="before")(one_or_more)
    default_symmetrisation: ClassVar[str] = "grow-diag-final-and"

    @model_validator(mode="after")
    def _has_threshold(self) -> Self:
        if self.threshold is not None and (self.symmetrisation or self.default_symmetrisation) != "agreement":
            raise ValueError(
                "[[threshold]]: only [[symmetrisation='agreement']] has a threshold; leave it out, or choose that"
            )
        return self


class FastAlign(_LearnedModel):
    """fast_align's model, learned from the input."""

    kind: Literal["fast_align"] = internal("fast_align")
    options: DiagonalOptions = DiagonalOptions()


class Hmm(_LearnedModel):
    """The HMM aligner, learned from the input."""

    kind: Literal["hmm"] = internal("hmm")
    options: HmmOptions = HmmOptions()
    default_symmetrisation: ClassVar[str] = "agreement"


class SavedModel(_Model):
    """A statistical model that was saved."""

    kind: Literal["saved"] = internal("saved")
    load: Path = option(..., "Align with a saved model instead of learning from the input.", group=_LEARNING)
    method: str | None = option(None, "The method that the model was trained with.", flags=None, exclude=True)

    def decoding(self) -> dict[str, Any]:
        """Return the options that change how links are read off the model, if they were given."""
        options = {"symmetrisation": self.symmetrisation, "threshold": self.threshold}
        return {name: value for name, value in options.items() if value is not None}


class Eflomal(Options):
    """The external program, which keeps no model and reports no probabilities: ``values`` names an empty list."""

    learns: ClassVar[bool] = True
    values: ClassVar[Values] = "probabilities"
    kind: Literal["eflomal"] = internal("eflomal")
    symmetrisation: Symmetriser = option(
        "grow-diag-final-and", _SYMMETRISE, flags=["--symmetrisation", "--symmetrise"], group=_LEARNING
    )
    train_on: tuple[str, ...] = option((), _TRAIN_ON, group=_LEARNING)
    _one_or_more = field_validator("train_on", mode="before")(one_or_more)
    program: str = option("eflomal-align", "Name or path of the program.", flags=None)
    arguments: str = option("", "Further arguments of the program, as one line.", flags=None)


class Encoder(LexiconOptions):
    """An encoder's hidden states."""

    learns: ClassVar[bool] = False
    kind: Literal["encoder"] = internal("encoder")
    model: str = option(BOX, _ENCODER_NAME, group=_ENCODER)
    _named = field_validator("model", mode="before")(text_of_path)
    options: AnyEmbedding
    engine: Literal["local", "ray"] = option(
        "local",
        "ray: make links on all machines of a Ray cluster (RAY_ADDRESS; without it on this machine). The same command "
        "continues a run that died.",
        group=_SCALE,
    )
    workers: Workers | None = option(
        None, "With --engine ray: how many encoders work at a time.", group=_SCALE, only_with="engine=ray"
    )
    part_pairs: int = option(
        16_384, "With Ray: pairs of a part; minutes of work, a multiple of a window.", flags=None
    )

    @property
    def values(self) -> Values:
        """Whether the values of links are probabilities or similarities."""
        return values_of(self.options)


class Plugin(Options):
    """An aligner of the user's own: an object, or what a class made of the arguments of its constructor."""

    kind: Literal["plugin"] = internal("plugin")
    name: str = internal()
    settings: dict[str, Any] = internal({})
    aligner: Any = Field(exclude=True, json_schema_extra={"flags": None, "internal": True})

    @property
    def learns(self) -> bool:
        """Whether it learns from the pairs that it links."""
        return bool(self.aligner.learns)

    @property
    def values(self) -> Values:
        """Whether the values of links are probabilities or similarities."""
        return self.aligner.values  # type: ignore[no-any-return]


AnyAligner = Annotated[FastAlign | Hmm | SavedModel | Eflomal | Encoder | Plugin, Field(discriminator="kind")]
KINDS: dict[str, type[Options]] = {
    "fast_align": FastAlign,
    "hmm": Hmm,
    "eflomal": Eflomal,
    **dict.fromkeys(METHODS, Encoder),
}


NUMBERED = ("pharaoh", "talp", "alignv2", "naacl")
"""Formats that write word numbers alone, without words and without probabilities."""
_WITHOUT_PROBABILITIES = (*NUMBERED, "words", "corpus")
"""Formats that do not write the probabilities of links."""


class LinkFormat(Options):
    """Options of ``isoglot align`` for cutting words and writing links."""

    words: Literal["whitespace", "unicode"] | None = option(
        None,
        "How text is cut into words. whitespace: at spaces, for tokenised text (the default, unless a saved model was "
        "trained otherwise); unicode: for running text, Chinese, Japanese and Thai by character.",
        group=_READING,
    )
    output: Literal["pharaoh", "talp", "alignv2", "naacl", "jsonl", "tmx", "offsets", "words", "corpus"] = (
        option(
            "pharaoh",
            "How links are written. jsonl: words, links, probabilities and score; tmx: a translation memory with links "
            "as properties; offsets: characters of the text; words: house|||Haus; corpus: a folder for training, which "
            "recipes read as `kind: aligned`.",
            flags=["--format", "-f"],
            group=_WRITING,
        )
    )
    base: int | None = option(
        None,
        "Number of the first word of a sentence, 0 or 1; by default that of the format.",
        group=_WRITING,
        ge=0,
        le=1,
    )
    reverse: bool = option(False, "Write the target side first.", group=_WRITING)
    phrases: OutputFile | None = option(
        None,
        "Write phrase pairs to this file: source, target, probability, count, probabilities of both directions.",
        group=_WRITING,
    )
    phrases_format: Literal["tsv", "moses"] = option(
        "tsv",
        "moses: a phrase table as Moses reads it, with lexical weights, word links and counts.",
        only_with="phrases",
        group=_WRITING,
    )
    phrase_length: int = option(
        7, "Maximum words on each side of a phrase pair.", group=_WRITING, only_with="phrases", ge=1
    )
    write_words: OutputFile | None = option(
        None,
        "Write the words that the links count to this file, a line for each pair: source ||| target.",
        group=_WRITING,
    )
    pieces: tuple[str, ...] = option(
        (), "Link the pieces of this tokenizer instead of words: a folder, hub name, SentencePiece file or codes of "
        "subword-nmt; give it twice if each side has its own.",
        metavar="TOKENIZER", group=_WRITING, max_length=2,
    )  # fmt: skip

    @property
    def shows_words(self) -> bool:
        """Whether the words of a pair are needed beside its links."""
        return self.output not in NUMBERED or bool(self.phrases or self.pieces or self.write_words)

    @property
    def shows_probabilities(self) -> bool:
        """Whether the probabilities of links are written. Phrases and lexicons count links and do not read them."""
        return self.output not in _WITHOUT_PROBABILITIES

    @property
    def files(self) -> list[Path]:
        """The files that are written beside the links, by ``_with_other_outputs`` of ``align_file.py``."""
        return [path for path in (self.phrases, self.write_words) if path is not None]

    @model_validator(mode="after")
    def _numbers_are_written(self) -> Self:
        if self.base is not None and self.output in ("corpus", "offsets", "words"):
            raise ValueError(
                f"[[base]]: format {self.output} writes no word numbers to choose a base for; leave it out"
            )
        if self.reverse and self.output == "corpus":
            raise ValueError(
                "[[reverse]]: a corpus is written as it is read; leave it out, or exchange the input's sides"
            )
        if self.pieces and self.output in ("corpus", "offsets", "tmx"):
            raise ValueError(f"[[pieces]]: format {self.output} is of words; choose pharaoh or jsonl")
        return self


def own_class_option(options: Mapping[str, Any]) -> str | None:
    """Return which option, ``method`` or ``model``, names an aligner of the user's as ``package.module:Name``."""
    for name in ("method", "model"):
        value = options.get(name)
        if isinstance(value, str) and _OWN_CLASS.fullmatch(value):
            return name
    return None


def is_saved_model(model: object) -> bool:
    """Whether a path is the folder of a statistical model that ``isoglot align --save`` wrote."""
    return isinstance(model, str | Path) and (recovered(model) / "model.json").is_file()


def paths_of(aligner: Options, *names: str) -> list[Path]:
    """Return the files and folders in the options of these names; an aligner need not have all of them.

    ``paths_of(request, "train_on", "load")`` of an HMM with two files in ``train_on`` returns these two.
    """
    paths: list[Path] = []
    for name in names:
        value = getattr(aligner, name, None)
        if isinstance(value, tuple):
            paths += map(Path, value)
        elif value is not None:
            paths.append(Path(value))
    return paths


def aligner_options() -> set[str]:
    """Return the names of the options of all aligners, also of those without a flag of their own."""
    return option_names(*KINDS.values(), SavedModel) | {"method"}


class Gold(GoldReading):
    """A file of gold links."""

    gold: Path = option(..., "File of gold links.", flags=["--gold", "-g"])


class FileScoring(LinksReading):
    """A file of links against gold links."""

    links: str = option(..., "File of links, or - for standard input.", flags=None)
    sentences: OutputFile | None = option(None, _SENTENCES)


class ModelScoring(Options):
    """A saved statistical model or a user's aligner, which links the words of the gold file, against its gold links."""

    model: str = option(..., _ENCODER_NAME, group=_ENCODER)
    # Of a user's aligner everything that was given: the class, under "method" or "model", and options of the class.
    settings: dict[str, Any] = internal({})
    sentences: OutputFile | None = option(None, _SENTENCES)


def layer_numbers(text: str) -> list[int] | None:
    """Read layers as the command line gives them: ``"4,8"`` is ``[4, 8]``, ``"all"`` is None."""
    try:
        return None if text == "all" else [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigurationError(
            f"[[layers]] must be `all` or numbers such as 4,8,12, got {text!r}"
        ) from None


class LayerScoring(Options):
    """An encoder's layers against gold links."""

    layers: str = option(
        ..., "Layers of the encoder to score: all, or numbers such as 4,8,12; by default its own, else 8.",
        group=_ENCODER,
    )  # fmt: skip
    model: str = option(BOX, _ENCODER_NAME, group=_ENCODER)
    options: AnyEmbedding

    @model_validator(mode="after")
    def _layers_are_chosen_once(self) -> Self:
        if self.options.layer is not None:
            raise ValueError("[[layer]]: [[layers]] says which layers are scored; leave it out")
        return self


def scoring_of(**options: Any) -> FileScoring | ModelScoring | LayerScoring:
    """Decide from options by name what is scored, and check the options.

    The first of these rules that applies decides:

    1. With ``links``, that file of links.
    2. If ``method`` or ``model`` is ``package.module:Name``, the user's aligner, which gets all other options.
    3. If ``model`` is the folder of a saved statistical model, this model.
    4. Otherwise layers of an encoder: ``model``, by default the one that comes with the package; its ``layers``, by
       default the layer that it keeps.
    """
    if "links" in options:
        if "layers" in options:
            raise ConfigurationError(
                "[[layers]]: scores an encoder, and [[links]] is a file; leave one of the two out"
            )
        return validated(FileScoring, options, owner="scoring a file")
    own = own_class_option(options)
    if own is not None:
        values = {"model": options[own]}
        if "sentences" in options:
            values["sentences"] = options.pop("sentences")
        scoring = validated(ModelScoring, values, owner="an aligner")
        return scoring.model_copy(update={"settings": options})
    if is_saved_model(options.get("model")):
        return validated(ModelScoring, options, owner="a saved statistical model")
    if "sentences" in options:
        raise ConfigurationError(
            "[[sentences]]: an encoder is scored layer by layer, not sentence by sentence; leave it out, or score a "
            "file of the encoder's links"
        )
    values = {"method": "itermax", **with_kept(options.get("model", BOX), options)}
    # A `layer` that the user gives beside `layers` stays, and is refused by `LayerScoring`.
    if "layers" not in options and "layer" in values:
        values["layers"] = str(values.pop("layer"))
    elif "layer" not in options:
        values.pop("layer", None)
    return validated(LayerScoring, values, owner=f"method {values['method']}")
