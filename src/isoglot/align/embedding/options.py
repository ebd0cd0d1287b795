"""The options of an embedding aligner, with the defaults of the systems they come from."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from isoglot.checks import mistakes_of
from isoglot.errors import ConfigurationError

__all__ = ["METHODS", "EmbeddingOptions", "Method"]

Method = Literal[
    "argmax",
    "itermax",
    "match",
    "forward",
    "backward",
    "softmax",
    "entmax",
    "ot",
    "pointer",
]

METHODS: dict[str, str] = {
    "argmax": "mutual argmax of the cosine (SimAlign)",
    "itermax": "mutual argmax, repeated on what is left (SimAlign)",
    "match": "maximum-weight matching (SimAlign)",
    "forward": "each source word's best target",
    "backward": "each target word's best source",
    "softmax": "softmax of the dot product above a threshold in both directions (awesome-align)",
    "entmax": "1.5-entmax above a threshold in both directions (awesome-align)",
    "ot": "optimal transport, a few Sinkhorn normalisations (XLM-Align)",
    "pointer": "the pointer network of a checkpoint trained with denoising_word_alignment",
}
"""Method to what it does, for help texts."""


_SIMALIGN = ("argmax", "itermax", "match", "forward", "backward")
_READ_BY: dict[str, tuple[str, ...]] = {
    "compare": (*_SIMALIGN, "softmax", "entmax", "ot"),
    "distortion": (*_SIMALIGN, "softmax", "entmax", "ot"),
    "threshold": ("softmax", "entmax", "ot", "pointer"),
    "iterations": ("ot",),
    "mu": ("ot",),
    "order": ("ot",),
    "epsilon": ("ot",),
    "links": ("ot", "pointer"),
}
"""Options that not every method reads, and those that do."""


class EmbeddingOptions(BaseModel):
    """How an embedding aligner encodes, compares and links.

    ``None`` stands for the default of the method: layer 8 (for ``pointer`` the one it was trained on),
    the cosine for SimAlign's methods, the dot product for awesome-align's and ``ot``;
    joint encoding for ``ot`` and ``pointer``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    method: Method = Field("itermax", description="how links are chosen")
    layer: int | None = Field(
        None, description="hidden states' number; 0 = embeddings, negative from the end"
    )
    encode: Literal["separate", "joint"] | None = Field(
        None, description="each sentence alone, or both in one sequence"
    )
    level: Literal["piece", "word"] = Field(
        "piece", description="link pieces (a word is linked if any of its pieces is) or mean word vectors"
    )
    compare: Literal["cosine", "dot"] | None = Field(None, description="(cosine + 1) / 2, or raw dot product")
    distortion: float = Field(0.0, ge=0, le=1, description="discount far from the diagonal; 0.5 in SimAlign")
    alpha: float = Field(0.9, gt=0, le=1, description="itermax: discount of half-covered cells")
    passes: int = Field(2, ge=1, description="itermax: passes in all")
    threshold: float | None = Field(
        None, ge=0, lt=1, description="softmax, entmax, ot and pointer: least value of a link"
    )
    iterations: int | None = Field(None, ge=0, description="ot: Sinkhorn iterations; 2 by default")
    mu: float = Field(1.0, gt=0, description="ot: weight of the entropy")
    order: Literal["official", "paper"] = Field("official", description="ot: columns or rows first")
    epsilon: float | None = Field(
        1e-6,
        gt=0,
        description="ot: floor of the dot products; null: none, as XLM-Align's released aligner runs",
    )
    links: Literal["intersection", "itermax", "union", "argmax", "match", "forward", "backward"] = Field(
        "intersection", description="ot and pointer: how links are read off the two directions"
    )
    min_probability: float = Field(0.0, ge=0, le=1, description="leave out links below this probability")
    min_score: float = Field(0.0, ge=0, le=1, description="leave out all links of a pair below this score")
    max_tokens: int | None = Field(
        None, ge=1, description="padded tokens in one encoder batch; 2048 on a CPU, 32768 elsewhere"
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="auto: bfloat16 where the hardware computes in it"
    )
    device: str = Field("auto", description="auto, cpu, cuda, cuda:1, mps")

    @classmethod
    def build(cls, **options: Any) -> EmbeddingOptions:
        """Options by name.

        Raises:
            ConfigurationError: every unknown name (with the one that was perhaps meant) and every bad value.
        """
        try:
            return cls(**options)
        except ValidationError as error:
            raise ConfigurationError(
                [f"aligner option {m}" for m in mistakes_of(error, cls.model_fields)]
            ) from error

    def unused(self) -> list[str]:
        """One line for each option that was changed although the method does not read it."""
        changed = [name for name in self.model_fields_set if getattr(self, name) != _DEFAULTS[name]]
        readers = dict(_READ_BY)
        if self.method not in _READ_BY["links"] or self.links != "itermax":
            readers |= {"alpha": ("itermax",), "passes": ("itermax",)}
        return [
            f"{name}={getattr(self, name)} given, which method {self.method} does not read "
            f"({', '.join(readers[name])} {'do' if len(readers[name]) > 1 else 'does'}); leave it out"
            for name in sorted(changed)
            if name in readers and self.method not in readers[name]
        ]

    @property
    def encoding(self) -> str:
        """``separate`` or ``joint``."""
        return self.encode or ("joint" if self.method in ("ot", "pointer") else "separate")

    @property
    def comparison(self) -> str:
        """``cosine`` or ``dot``."""
        return self.compare or ("dot" if self.method in ("ot", "softmax", "entmax") else "cosine")

    def token_budget(self, device: str) -> int:
        """Padded tokens in one encoder batch on a type of device."""
        return self.max_tokens or (2048 if device == "cpu" else 32_768)

    def resolved_layer(self, layers: int) -> int:
        """The layer's number in an encoder of so many layers."""
        if self.layer is None:
            return layers if self.method == "pointer" else min(8, layers)
        return self.layer + layers + 1 if self.layer < 0 else self.layer


_DEFAULTS = {name: field.default for name, field in EmbeddingOptions.model_fields.items()}
