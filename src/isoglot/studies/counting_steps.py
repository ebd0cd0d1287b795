"""Steps that count, for the papers' tables of data and models: corpora by language, sizes of encoders."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from isoglot.runs.reporter import Reporter
from isoglot.studies.step import Step
from isoglot.studies.training_steps import Pretrain, cache_of

if TYPE_CHECKING:  # they load the libraries
    from pathlib import Path

    from datasets import Dataset
    from transformers import PreTrainedConfig, PreTrainedTokenizerBase

_ROWS = 2_000
"""Rows of a corpus that are tokenized at once."""


class CountStreams(Pretrain):
    """The sizes of a recipe's prepared streams, by language or pair of languages; nothing is trained.

    Values are called ``STREAM/LANGUAGE/SIZE``, such as ``bitext/en-fr/kept``. The sizes:

    - ``read`` and ``kept``: rows before and after the filters.
    - ``gigabytes``: of the kept text in UTF-8, of both sides of a pair together.
    - ``tokens``: pieces of the kept text, without special tokens.

    The corpora are prepared into the cache of the studies, where a training of the recipe finds them.
    """

    kind: ClassVar[str] = "count"
    doing: ClassVar[str] = "counting"
    resumes: ClassVar[bool] = False
    weights: ClassVar[str] = ""

    def run(self, folder: "Path", report: Reporter) -> Mapping[str, Any]:
        """Prepare and count."""
        from isoglot.pretraining.check import load_recipe  # noqa: PLC0415 - loads the libraries
        from isoglot.pretraining.streams import corpus_manifest, prepared, tokenizer_of_run  # noqa: PLC0415

        cache = cache_of(folder)
        recipe = load_recipe(self.values())
        corpora = prepared(recipe, cache, report)
        tokenizer = tokenizer_of_run(recipe, corpora, cache, report)
        values: dict[str, float] = {}
        examples: dict[str, int] = {}
        for name, stream in recipe.streams.items():
            for count in corpus_manifest(stream, cache).languages:
                place = f"{name}/{'-'.join(count.languages)}"
                values |= {f"{place}/read": count.read, f"{place}/kept": count.kept}
                examples |= {f"{place}/read": count.read, f"{place}/kept": count.kept}
            for language, sizes in sizes_of_text(corpora[name], tokenizer).items():
                values[f"{name}/{language}/gigabytes"] = sizes["bytes"] / 1e9
                values[f"{name}/{language}/tokens"] = sizes["tokens"]
        return {"values": values, "examples": examples}


def sizes_of_text(corpus: "Dataset", tokenizer: "PreTrainedTokenizerBase") -> dict[str, Counter[str]]:
    """Count the ``bytes`` and ``tokens`` of a corpus, by language or pair of languages.

    Bitext of 1,000 bytes in English and 1,100 in German has ``{"en-de": {"bytes": 2100, "tokens": ...}}``.
    """
    from isoglot.corpus.encode.pieces import PieceEncoder  # noqa: PLC0415 - loads the libraries

    # A corpus of text has a column of texts and one of languages, bitext has two of each.
    columns = set(corpus.column_names)
    text_columns = [name for name in ("text", "source", "target") if name in columns]
    language_columns = [
        name for name in ("language", "source_language", "target_language") if name in columns
    ]
    encoder = PieceEncoder(tokenizer)
    sizes: dict[str, Counter[str]] = {}
    for batch in corpus.select_columns([*text_columns, *language_columns]).iter(batch_size=_ROWS):
        codes = zip(*(batch[name] for name in language_columns), strict=True)
        languages = ["-".join(codes_of_row) for codes_of_row in codes]
        for name in text_columns:
            lengths = encoder.texts(batch[name]).lengths
            for language, text, length in zip(languages, batch[name], lengths, strict=True):
                sizes.setdefault(language, Counter()).update(bytes=len(text.encode()), tokens=int(length))
    return sizes


class DescribeEncoder(Step):
    """The shape of an encoder, from its configuration: no weights are read.

    Values: ``layers``, ``hidden``, ``feed_forward``, ``heads``, ``vocabulary``, ``parameters`` (of the encoder without
    a head), and ``languages`` if the configuration has their number, as XLM's does.
    """

    kind: ClassVar[str] = "count"
    doing: ClassVar[str] = "describing"
    checkpoint: str

    def run(self, folder: "Path", report: Reporter) -> Mapping[str, Any]:
        """Read the configuration."""
        from isoglot.modules.checkpoint import load_config  # noqa: PLC0415 - loads the libraries

        return {"values": dict(shape_of(load_config(self.checkpoint)))}


def shape_of(config: "PreTrainedConfig") -> Iterator[tuple[str, float]]:
    """Yield the sizes of an encoder by name, as papers list them: ``("layers", 12)``."""
    import torch  # noqa: PLC0415 - loads the library
    from transformers import AutoModel  # noqa: PLC0415

    yield "layers", config.num_hidden_layers
    yield "hidden", config.hidden_size
    # XLM has no setting for it: its layers are four times as wide inside.
    yield "feed_forward", getattr(config, "intermediate_size", None) or 4 * config.hidden_size
    yield "heads", config.num_attention_heads
    yield "vocabulary", config.vocab_size
    # On the device "meta" a model takes no memory for its weights.
    with torch.device("meta"):
        model = AutoModel.from_config(config)
    yield "parameters", sum(parameter.numel() for parameter in model.parameters())
    if (languages := getattr(config, "n_langs", None)) is not None:
        yield "languages", languages
