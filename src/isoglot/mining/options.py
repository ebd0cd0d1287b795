"""Options of `isoglot filter`, `mine` and `align-sentences`: a field is an argument in Python and a flag."""

from typing import Annotated, Any, Literal, Self

import regex
from pydantic import AfterValidator, field_validator, model_validator

from isoglot.checkpoints.folder import BOX
from isoglot.core.options import Options, Precision, Workers, one_or_more, option, text_of_path
from isoglot.corpus.options import DROPPING, RowRules
from isoglot.mining.presets import PRESETS, with_preset

ENCODER, _SCORES, _SCALE = "Sentence vectors", "Scores", "On many machines"


def _expression(pattern: str) -> str:
    """Check that a regular expression can be compiled and does not match an empty text."""
    try:
        matches_nothing = regex.compile(pattern).fullmatch("") is not None
    except regex.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression ({error})") from error
    if matches_nothing:
        raise ValueError(f"{pattern!r} matches an empty text; write what a placeholder is made of: '@@\\w+'")
    return pattern


class VectorOptions(Options):
    """Options that say how sentences become vectors, as in the tasks of sentence retrieval."""

    layer: int = option(-1, "Layer of the encoder, negative from the end.", group=ENCODER)
    pooling: Literal["mean", "cls"] = option(
        "mean", "mean over the pieces, or the first position.", group=ENCODER
    )
    max_length: int | None = option(
        None, "Tokens of a sentence that count; by default 512 or what the encoder has.", group=ENCODER, ge=3
    )
    prefix: str = option(
        "", "Text before each sentence, if the encoder was trained with one: 'query: ' (E5).", group=ENCODER
    )
    dtype: Literal["auto", Precision] = option(
        "auto",
        "auto: bfloat16 where the hardware computes in it.",
        flags=["--dtype", "--precision"],
        group=ENCODER,
    )


class SentenceEncoding(VectorOptions):
    """The encoder of sentences that a verb uses: by name with the options of its vectors, or any function."""

    model: Any = option(
        BOX, "Folder or hub name of an encoder of sentences; box comes with isoglot.", group=ENCODER
    )
    _named = field_validator("model", mode="before")(text_of_path)

    @model_validator(mode="after")
    def _vectors_are_of_a_named_encoder(self) -> Self:
        """A function that makes vectors has chosen their layer and pooling itself."""
        chosen = [f"[[{name}]]" for name in VectorOptions.model_fields if name in self.model_fields_set]
        if chosen and not isinstance(self.model, str):
            given = "none" if self.model is None else type(self.model).__name__
            raise ValueError(
                f"{', '.join(chosen)}: only a [[model]] with a name reads this, got {given}; leave it out"
            )
        return self


class OnManyMachines(Options):
    """Whether a verb works on this machine or on a Ray cluster."""

    engine: Literal["local", "ray"] = option(
        "local",
        "ray: on all machines of a Ray cluster (RAY_ADDRESS; without it on this one).",
        group=_SCALE,
    )
    workers: Workers | None = option(
        None, "With --engine ray: how many workers at a time.", group=_SCALE, only_with="engine=ray"
    )


class MineRequest(SentenceEncoding, OnManyMachines):
    """Options of `isoglot mine`: how sentences are encoded, compared and paired."""

    similarity: Literal["margin", "csls", "cosine"] = option(
        "margin",
        "margin: ratio of the cosine to the mean of both sides' nearest; csls: twice their difference; cosine.",
    )
    neighbours: int = option(
        4, "Nearest sentences of each sentence that are compared.", flags=["--neighbours", "-k"], ge=1
    )
    retrieval: Literal["max", "intersection", "forward", "backward"] = option(
        "max",
        "forward, backward: the best target of each source sentence, or the reverse; intersection: both agree; max: "
        "the best of both, each sentence once.",
    )
    min_score: float | None = option(
        None, "Minimum score of a pair; by default all are written, the best first."
    )
    drop_copies: bool = option(False, "Pair no sentence with itself.")
    search: Literal["exact", "faiss", "ray"] = option(
        "exact",
        "faiss: an approximate index, for more than a million sentences; ray: exact, on a Ray cluster.",
    )


class SentenceAlignRequest(SentenceEncoding):
    """Options of `isoglot align-sentences`."""

    max_size: int = option(
        5,
        "Most lines of a group, source and target lines together: 5 allows 1-4, 2-3, 3-2, 4-1, and all smaller groups.",
        ge=2, le=12,
    )  # fmt: skip
    skip: float | None = option(
        None,
        "Cost of a line without a translation, where a random pair costs about 1; by default 0.2 + 0.75 × the "
        "median cost of lines that are each other's nearest.",
        gt=0, le=2,
    )  # fmt: skip
    length_weight: float = option(
        0.4, "Most that a group costs more if its sides differ in length; 0 compares vectors alone.",
        ge=0, le=2,
    )  # fmt: skip
    joined: Literal["encode", "sum"] = option(
        "encode",
        "Vectors of several lines: encode them as one text, or sum those of the lines (several times faster).",
    )
    one_document: bool = option(False, "Ignore blank lines.")

    @property
    def longest_span(self) -> int:
        """Most lines of one side of a group: the other side has one at least."""
        return self.max_size - 1


class FilterRules(RowRules):
    """Rules and thresholds that drop a pair of sentences, those of `isoglot prepare` among them."""

    duplicates: Literal["keep", "pair", "source", "target"] = option(
        "keep",
        "Drop pairs with the same text as an earlier one that passed: whole pair, or one side.",
        group=DROPPING,
    )
    max_copied: float | None = option(
        None, "Most words of the shorter side, as a share, that may stand on the other too: 0.6.",
        group=DROPPING, ge=0, lt=1,
    )  # fmt: skip
    min_language: float | None = option(
        None,
        "Least likelihood of a side's language, as a share of the likeliest one of its script: 0.8; 0 judges none.",
        group=DROPPING, ge=0, le=1,
    )  # fmt: skip
    language_letters: int | None = option(
        None,
        "Letters of the shortest side whose language is judged, a Chinese, Japanese or Korean character as three; by "
        "default 20.",
        only_with="min_language",
        group=DROPPING,
        ge=1,
    )
    numbers: Literal["any", "changed", "missing"] = option(
        "any",
        "changed: drop pairs with a different number on either side; missing: also with one that only one side has.",
        group=DROPPING,
    )
    placeholders: bool = option(
        False,
        "Drop pairs whose placeholders, tags and addresses differ: {0}, %s, <ph/>, :name, $NAME$, \\n, URLs, &File.",
        group=DROPPING,
    )
    placeholder: tuple[Annotated[str, AfterValidator(_expression)], ...] = option(
        (),
        "Compare placeholders, as `placeholders` does, and with them what this regular expression matches: '@@\\w+'; "
        "repeatable.",
        metavar="REGEX",
        group=DROPPING,
    )
    _placeholder = field_validator("placeholder", mode="before")(one_or_more)
    mojibake: bool = option(
        False, "Drop pairs with text that was read in a wrong encoding: fÃ¼r, donâ€™t.", group=DROPPING
    )
    min_letters: int | None = option(
        None, "Least letters of a side; 1 drops numbers and punctuation alone.", group=DROPPING, ge=1
    )
    min_cosine: float | None = option(None, "Least cosine of the sentences' vectors.", group=_SCORES)
    min_margin: float | None = option(
        None, "Least ratio of the cosine to the mean of both sides' nearest; 1 is as near as others.",
        group=_SCORES,
    )  # fmt: skip
    min_alignment: float | None = option(
        None, "Least mean value of the words' best links, from 0 to 1.", group=_SCORES, ge=0, le=1
    )
    min_coverage: float | None = option(
        None, "Least share of words that are linked, on either side.", group=_SCORES, ge=0, le=1
    )
    neighbours: int = option(
        4, "Nearest sentences for the margin.", flags=["--neighbours", "-k"], group=_SCORES, ge=1
    )
    any_language: bool = option(
        False, "Use a saved model for text of other languages than it was trained on.", group=_SCORES
    )
    pool: int = option(4096, "Pairs at a time among which the nearest are searched.", group=_SCORES, ge=2)

    @property
    def thresholds(self) -> dict[str, float]:
        """The minimum of each score for which one is set."""
        thresholds = {
            "cosine": self.min_cosine,
            "margin": self.min_margin,
            "alignment": self.min_alignment,
            "source_coverage": self.min_coverage,
            "target_coverage": self.min_coverage,
        }
        return {name: least for name, least in thresholds.items() if least is not None}


class FilterRequest(SentenceEncoding, FilterRules, OnManyMachines):
    """Options of `isoglot filter`: rules, thresholds, and the encoder and aligner that compute scores."""

    preset: Literal["web", "tm", "ui"] | None = option(
        None,
        "Rules and thresholds for crawled text (web), translation memories (tm) or strings of programs (ui); options "
        "that are given beside it win.",
        group=DROPPING,
    )
    model: Any = option(
        None, "Encoder of sentences, for cosine and margin: box comes with isoglot; or a folder or hub name.",
        group=ENCODER,
    )  # fmt: skip
    aligner: Any = option(
        BOX,
        "Aligner for links: box comes with isoglot; another encoder's folder or hub name; the folder of a saved "
        "statistical model; package.module:Name; none.",
        group=_SCORES,
    )  # fmt: skip

    @model_validator(mode="before")
    @classmethod
    def _values_of_the_preset(cls, values: Any) -> Any:
        return with_preset(values) if isinstance(values, dict) and values.get("preset") else values

    @field_validator("aligner", "model", mode="before")
    @classmethod
    def _none_by_name(cls, value: Any) -> Any:
        return None if value == "none" else text_of_path(value)

    @property
    def preset_values(self) -> dict[str, Any]:
        """The values in force of the options that the preset sets, the user's among them; empty without a preset."""
        names = PRESETS.get(self.preset or "", {})
        return {name: getattr(self, name) for name in names}

    @model_validator(mode="after")
    def _thresholds_have_scores(self) -> Self:
        """A threshold needs what computes its score."""
        lacking = []
        if self.model is None and (self.min_cosine is not None or self.min_margin is not None):
            lacking.append(
                "[[min_cosine]] and [[min_margin]] compare sentence vectors, which need an encoder; add "
                "[[model='box']], or another"
            )
        if self.aligner is None and (self.min_alignment is not None or self.min_coverage is not None):
            lacking.append(
                "[[min_alignment]] and [[min_coverage]] need word links; leave [[aligner=None]] out"
            )
        if lacking:
            raise ValueError("; ".join(lacking))
        return self
