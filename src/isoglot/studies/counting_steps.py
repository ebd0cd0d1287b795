"""Steps that count, for the papers' tables of data and models: corpora by language, sizes of encoders."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from isoglot.runs.reporter import Reporter
from isoglot.studies.step import Step
from isoglot.studies.training_steps import Pretrain

if TYPE_CHECKING:  # they load the libraries
    from pathlib import Path

    from datasets import Dataset
    from transformers import PreTrainedConfig, PreTrainedTokenizerBase

_ROWS = 2_000


class CountStreams(Pretrain):
    """What a recipe's streams hold once they are prepared, by language or pair of languages; nothing is trained.

    Values of each stream and language are ``STREAM/LANGUAGE/NAME``, such as ``bitext/en-fr/kept``. The names: ``read``
    and ``kept`` (rows before and after the filters, as the corpus's manifest has them), ``gigabytes`` (of the text that
    was kept, UTF-8, both sides of a pair) and ``tokens`` (its pieces, without special tokens).

    The corpora are prepared into the cache, where a training of the recipe finds them.
    """

    kind: ClassVar[str] = "count"
    doing: ClassVar[str] = "counting"
    resumes: ClassVar[bool] = False
    weights: ClassVar[str] = ""

    def run(self, folder: "Path", report: Reporter) -> Mapping[str, Any]:
        """Prepare and count."""
        from isoglot.pretraining.check import load_recipe  # noqa: PLC0415 - loads the libraries
        from isoglot.pretraining.streams import corpus_manifest, load_tokenizer, prepared  # noqa: PLC0415
        from isoglot.runs.cache import cache_folder  # noqa: PLC0415

        recipe = load_recipe(self.values())
        corpora = prepared(recipe, cache_folder(), report)
        tokenizer = load_tokenizer(recipe, corpora, cache_folder(), report)
        values: dict[str, float] = {}
        examples: dict[str, int] = {}
        for name, stream in recipe.streams.items():
            for count in corpus_manifest(stream, cache_folder()).languages:
                place = f"{name}/{'-'.join(count.languages)}"
                values |= {f"{place}/read": count.read, f"{place}/kept": count.kept}
                examples |= {f"{place}/read": count.read, f"{place}/kept": count.kept}
            for language, sizes in sizes_of_text(corpora[name], tokenizer).items():
                values[f"{name}/{language}/gigabytes"] = sizes["bytes"] / 1e9
                values[f"{name}/{language}/tokens"] = sizes["tokens"]
        return {"values": values, "examples": examples}


def sizes_of_text(corpus: "Dataset", tokenizer: "PreTrainedTokenizerBase") -> dict[str, Counter[str]]:
    """``bytes`` and ``tokens`` of a corpus by its language, or pair of languages such as ``en-de``."""
    from isoglot.corpus.encode.pieces import PieceEncoder  # noqa: PLC0415 - loads the libraries

    columns = set(corpus.column_names)
    sides = [side for side in ("text", "source", "target") if side in columns]
    tags = [tag for tag in ("language", "source_language", "target_language") if tag in columns]
    pieces, sizes = PieceEncoder(tokenizer), dict[str, Counter[str]]()
    for batch in corpus.select_columns([*sides, *tags]).iter(batch_size=_ROWS):
        languages = ["-".join(row) for row in zip(*(batch[tag] for tag in tags), strict=True)]
        for side in sides:
            lengths = pieces.texts(batch[side]).lengths
            for language, text, length in zip(languages, batch[side], lengths, strict=True):
                sizes.setdefault(language, Counter()).update(bytes=len(text.encode()), tokens=int(length))
    return sizes


class DescribeEncoder(Step):
    """The shape of an encoder, from its configuration: no weights are read.

    Values: ``layers``, ``hidden``, ``feed_forward``, ``heads``, ``vocabulary``, ``parameters`` (of the encoder without
    a head), and ``languages`` where the configuration names their number, as XLM's does.
    """

    kind: ClassVar[str] = "count"
    doing: ClassVar[str] = "describing"
    checkpoint: str

    def run(self, folder: "Path", report: Reporter) -> Mapping[str, Any]:
        """Read the configuration."""
        from isoglot.modules.checkpoint import load_config  # noqa: PLC0415 - loads the libraries

        return {"values": dict(shape_of(load_config(self.checkpoint)))}


def shape_of(config: "PreTrainedConfig") -> Iterator[tuple[str, float]]:
    """The sizes of an encoder, as papers list them."""
    import torch  # noqa: PLC0415 - loads the library
    from transformers import AutoModel  # noqa: PLC0415

    yield "layers", config.num_hidden_layers
    yield "hidden", config.hidden_size
    # XLM has no setting for it: its layers are four times as wide inside.
    yield "feed_forward", getattr(config, "intermediate_size", None) or 4 * config.hidden_size
    yield "heads", config.num_attention_heads
    yield "vocabulary", config.vocab_size
    with torch.device("meta"):  # without memory for its weights
        model = AutoModel.from_config(config)
    yield "parameters", sum(parameter.numel() for parameter in model.parameters())
    if (languages := getattr(config, "n_langs", None)) is not None:
        yield "languages", languages
