"""Values of views that are of the right type but out of range, found without the run's tokenizer or encoder."""

from __future__ import annotations

from functools import cache
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from isoglot.errors import ConfigurationError
from isoglot.modules.load import model_config
from isoglot.pretraining.build import longest_input
from isoglot.recipe.signatures import dataset_options, options_of
from isoglot.recipe.source import Document, Location
from isoglot.views import VIEWS

__all__ = ["check_view_values"]

_FIRST_SPECIAL = 1 << 20
"""Special ids of the stand-in, beyond any vocabulary that ``random_pool`` may name a part of."""


def check_view_values(document: Document) -> None:
    """Build each view with a stand-in tokenizer; what it refuses is added to the document.

    A view with a mistake that is known already is left out, and so is one that takes a corpus, which is not read yet.
    Of an encoder from scratch the number of positions is known too.
    """
    views = document.values.get("views")
    longest = _longest(document)
    for name, entry in views.items() if isinstance(views, dict) else ():
        location: Location = ("views", name)
        kind = entry.get("type") if isinstance(entry, dict) else None
        if kind not in VIEWS or dataset_options(VIEWS[kind]) or _is_told(document, location):
            continue
        options = {
            k: tuple(v) if isinstance(v, list) else v for k, v in entry.items() if k not in ("type", "stream")
        }
        length = options.get("max_length")
        takes = "max_length" in options_of(VIEWS[kind], supplied=())
        if takes and longest is not None and isinstance(length, int) and length > longest:
            document.problem(
                (*location, "max_length"), f"{length} given, the encoder has {longest} positions; lower it"
            )
            continue
        try:
            VIEWS[kind](_stand_in(), **options)
        except ConfigurationError as error:
            for text in error.problems:
                option, colon, rest = text.partition(": ")
                known = colon and option in options
                document.problem((*location, option) if known else location, rest if known else text)


def _longest(document: Document) -> int | None:
    """Positions of an encoder from scratch; ``None`` where it is loaded, or its section has mistakes."""
    model = document.values.get("model")
    if not isinstance(model, dict) or "architecture" not in model or "path" in model:
        return None
    try:
        return longest_input(model_config({"vocab_size": 1000, **model}))
    except ConfigurationError:
        return None  # told where the encoder is checked


def _is_told(document: Document, location: Location) -> bool:
    """Whether the document has a mistake in this section already."""
    name = ".".join(map(str, location))
    return any(f": {name}: " in text or f": {name}." in text for text in document.problems)


@cache
def _stand_in() -> Any:
    specials = {t: _FIRST_SPECIAL + i for i, t in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))}
    core = Tokenizer(models.WordLevel({"a": 0, **specials}, unk_token="[UNK]"))  # noqa: S106 - a token of text
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, specials[token]) for token in ("[CLS]", "[SEP]")],
    )
    names = {f"{token[1:-1].lower()}_token": token for token in specials}
    return PreTrainedTokenizerFast(tokenizer_object=core, **names)
