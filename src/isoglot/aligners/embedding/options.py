"""Options of an embedding aligner: one model per kind of method, with the defaults of the systems they come from."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast, get_args

from pydantic import Field, field_validator, model_validator

from isoglot.core.checks import did_you_mean, validated
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Options, Precision, name_of_torch, option

METHODS: dict[str, str] = {
    "argmax": "mutual argmax of the cosine (SimAlign)",
    "itermax": "mutual argmax, repeated on what is left (SimAlign)",
    "match": "maximum-weight matching (SimAlign)",
    "forward": "each source word's best target",
    "backward": "each target word's best source",
    "softmax": "softmax above a threshold in both directions (awesome-align's with compare=dot)",
    "entmax": "1.5-entmax above a threshold in both directions (awesome-align)",
    "ot": "optimal transport, a few Sinkhorn normalisations (XLM-Align)",
    "pointer": "the pointer network of a checkpoint trained with denoising_word_alignment",
}
"""Method to what it does, for help texts."""

_ENCODER, _WRITING = "With an encoder", "How to write"
MEASURED: dict[str, Any] = {"dtype": "float32"}
"""Options with which error rates are measured, unless others are given.

In single precision even the last digit of a rate is the same on every processor.
"""
Compare = Literal["cosine", "dot"]
Encode = Literal["separate", "joint"]
Attach = Literal["target_next", "target_previous", "source_next", "source_previous"]


class LinkFilter(Options):
    """Limits below which links are left out."""

    min_probability: float = option(
        0.0, "Leave out links below this probability (with argmax, itermax and match: similarity).",
        group=_WRITING, ge=0, le=1,
    )  # fmt: skip
    min_score: float = option(
        0.0,
        "Leave out all links of a pair whose score (the mean of its words' best links) is below this.",
        group=_WRITING, ge=0, le=1,
    )  # fmt: skip


class EmbeddingOptions(LinkFilter):
    """Options of all embedding aligners; :meth:`build` makes those of a method, which has further ones."""

    method: str = option(flags=None)
    layer: int | None = option(
        None,
        "Layer whose vectors are compared: 0 is the embeddings, negative numbers count from the end; by default the "
        "one that the encoder keeps, else 8.",
        group=_ENCODER,
    )
    encode: Encode = option("separate", "Each sentence alone, or both in one sequence.", flags=None)
    level: Literal["piece", "word"] = option(
        "piece", "Link pieces (a word is linked if any of its pieces is) or mean word vectors.", flags=None
    )
    attach: Attach | None = option(
        None,
        "Unlinked words take the links of the longer word behind (next) or before them, such as an article its noun's.",
        flags=None,
    )
    max_tokens: int | None = option(
        None, "Padded tokens in one encoder batch; 2048 on a CPU, 32768 elsewhere.", flags=None, ge=1
    )
    dtype: Literal["auto", Precision] = option(
        "auto",
        "Precision to compute in. auto: float32, but bfloat16 for softmax and entmax with compare=cosine where the "
        "hardware supports it.",
        flags=["--dtype", "--precision"],
        group=_ENCODER,
    )
    device: str = option("auto", "Where to compute: cpu, cuda, cuda:1, mps or auto.", group=_ENCODER)
    _named = field_validator("dtype", "device", mode="before")(name_of_torch)

    @staticmethod
    def build(*, method: str = "itermax", **options: Any) -> AnyEmbedding:
        """Check options by name, and return them as the options of the method."""
        if not isinstance(method, str) or method not in METHODS:
            raise ConfigurationError(
                f"[[method]]: unknown method {method!r}; {did_you_mean(method, METHODS)}"
            )
        values = {"method": method, **options}
        return cast("AnyEmbedding", validated(_KINDS[method], values, owner=f"method {method}"))

    @staticmethod
    def check(*, method: str | None = None, **options: Any) -> None:
        """Refuse what :meth:`build` would; without a method, names that no method has."""
        if method is not None:
            EmbeddingOptions.build(method=method, **options)
            return
        known = {name for kind in _KINDS.values() for name in kind.model_fields}
        unknown = [
            f"[[{name}]]: no aligner has this option; {did_you_mean(name, known)}"
            for name in options
            if name not in known
        ]
        if unknown:
            raise ConfigurationError(unknown)

    def max_pieces(self) -> int | None:
        """Maximum of pieces that are encoded together of a long sentence; None: as many as the encoder takes."""
        return None

    def resolved_dtype(self) -> Literal["auto", Precision]:
        """Precision to compute in: ``auto`` is float32, as in the systems that the methods come from."""
        return "float32" if self.dtype == "auto" else self.dtype


class Similarity(EmbeddingOptions):
    """SimAlign's methods. Softmax, entmax and ot compare states too, and inherit these options."""

    method: Literal["argmax", "match", "forward", "backward"] = option(flags=None)
    compare: Compare = option("cosine", "(cosine + 1) / 2, or raw dot product.", flags=None)
    distortion: float = option(
        0.0, "Discount far from the diagonal; 0.5 in SimAlign.", flags=None, ge=0, le=1
    )


class _IterMaxOptions(Options):
    """Options of itermax, which several methods can use."""

    alpha: float = option(0.9, "itermax: discount of half-covered cells.", flags=None, gt=0, le=1)
    passes: int = option(2, "itermax: passes in all.", flags=None, ge=1)


class IterMax(Similarity, _IterMaxOptions):
    """SimAlign's itermax."""

    method: Literal["itermax"] = option("itermax", flags=None)  # type: ignore[assignment]


class Threshold(Similarity):
    """awesome-align's methods, with its options; an encoder that was not tuned has others for softmax by default.

    They are :data:`isoglot.aligners.embedding.choice.UNTUNED`, wherever an encoder's own choice would be taken.
    """

    method: Literal["softmax", "entmax"] = option(flags=None)  # type: ignore[assignment]
    compare: Compare = option("dot", "(cosine + 1) / 2, or raw dot product.", flags=None)
    threshold: float | None = option(
        None, "Least value of a link in both directions; softmax 0.001, entmax 0.", flags=None, ge=0, lt=1
    )
    temperature: float = option(
        1.0, "Divides what is compared; self_training's with compare=cosine.", flags=None, gt=0
    )
    word_weights: bool = option(
        False,
        "Sum the weights over the pieces of the other word and average them over the own before links are chosen.",
        flags=None,
    )
    alone: float | None = option(
        None,
        "Keep links below this probability only beside a kept one; min_probability stays the least of all.",
        flags=None,
        gt=0,
        le=1,
    )

    adjacent: float = option(
        0.0,
        "Raise links next to likely ones, by this bonus where a word has no link yet (2 is usual); 0: none are raised.",
        flags=None,
        ge=0,
    )

    @model_validator(mode="after")
    def _adjacent_needs_word_weights(self) -> Threshold:
        if self.adjacent and not self.word_weights:
            raise ValueError("adjacent compares words; also give word_weights=true, or leave it out")
        return self

    def max_pieces(self) -> int | None:
        """Maximum of pieces that are encoded together of a long sentence.

        Aligners that were trained by the cosine have learned from sentences, and their states get worse in longer text.
        awesome-align, which compares dot products, reads as much as the encoder takes.
        """
        return 126 if self.compare == "cosine" else None

    def resolved_dtype(self) -> Literal["auto", Precision]:
        """Precision to compute in; with the cosine ``auto`` is the fastest one of the hardware."""
        return self.dtype if self.compare == "cosine" else super().resolved_dtype()


class _TwoDirections(_IterMaxOptions):
    """Links read off two matrices, one of which is searched by rows and one by columns."""

    encode: Encode = option("joint", "Each sentence alone, or both in one sequence.", flags=None)
    links: Literal[
        "intersection", "itermax", "printed", "union", "argmax", "match", "forward", "backward"
    ] = option(
        "intersection",
        "How links are read off the two directions; printed: XLM-Align's Eq. 7-9 to the letter.",
        flags=None,
    )

    @model_validator(mode="after")
    def _options_of_itermax_are_read(self) -> _TwoDirections:
        # They do nothing with links that are read off in another way.
        fields = _IterMaxOptions.model_fields
        unread = {name for name in fields if getattr(self, name) != fields[name].default}
        if self.links not in ("itermax", "printed") and unread:
            raise ValueError(
                f"{', '.join(sorted(unread))}: only links=itermax and links=printed have them; leave it out"
            )
        return self


class Transport(_TwoDirections, Similarity):
    """XLM-Align's optimal transport."""

    method: Literal["ot"] = option("ot", flags=None)  # type: ignore[assignment]
    compare: Compare = option("dot", "(cosine + 1) / 2, or raw dot product.", flags=None)
    iterations: int = option(2, "Sinkhorn iterations.", flags=None, ge=0)
    mu: float = option(1.0, "Weight of the entropy.", flags=None, gt=0)
    order: Literal["official", "paper"] = option("official", "Columns or rows first.", flags=None)
    epsilon: float | None = option(
        1e-6,
        "Floor of the dot products; null: none, as XLM-Align's released aligner runs.",
        flags=None,
        gt=0,
    )


class PointerNetwork(_TwoDirections, EmbeddingOptions):
    """XLM-Align's pointer network."""

    method: Literal["pointer"] = option("pointer", flags=None)


AnyEmbedding = Annotated[
    IterMax | Similarity | Threshold | Transport | PointerNetwork, Field(discriminator="method")
]


Values = Literal["probabilities", "similarities"]
"""Name under which outputs have the numbers of links. It is ``probabilities`` for an aligner without numbers too: its
outputs have an empty list there."""


def values_of(options: EmbeddingOptions) -> Values:
    """Return whether the values of links are probabilities, or similarities, which only order links.

    Example:
        >>> values_of(EmbeddingOptions.build()), values_of(EmbeddingOptions.build(method="softmax"))
        ('similarities', 'probabilities')
    """
    if isinstance(options, Threshold | Transport) or getattr(options, "compare", "dot") == "dot":
        return "probabilities"
    return "similarities"


_KINDS: dict[str, type[EmbeddingOptions]] = {
    method: kind
    for kind in (IterMax, Similarity, Threshold, Transport, PointerNetwork)
    for method in get_args(kind.model_fields["method"].annotation)
}
