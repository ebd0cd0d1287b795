"""A recipe for given files and encoder, with comments, ready to run and to be changed."""

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from textwrap import indent
from typing import Any

import torch
from jinja2 import Environment, StrictUndefined
from transformers import AutoModelForMaskedLM

from isoglot.errors import ConfigurationError
from isoglot.formats.readers import read
from isoglot.formats.sources import expand, sources_from
from isoglot.modules.checkpoint import load_config, weight_names
from isoglot.pretraining.check import load_recipe
from isoglot.recipe.document import dump_yaml, parse_value
from isoglot.runs.files import refuse_overwriting, require_writable, write_text

_LONGEST = 128


def new_recipe(
    paths: Sequence[str | Path],
    out: str | Path,
    *,
    encoder: str | Path,
    languages: Sequence[str],
    reading: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a recipe that continues an encoder on a bitext.

    ``paths``: Two files, of which line i translates line i, or files with both sides.
    ``reading``: Options of :class:`isoglot.formats.sources.Reading`, where the files need any.
    """
    out = Path(out)
    if out.exists() and not overwrite:
        raise ConfigurationError(f"{out} exists already; choose another name, or add --overwrite")
    require_writable(out)
    sources = expand(sources_from(paths, languages=languages, **(reading or {})), "bitext")
    refuse_overwriting(out, [encoder, *(path for source in sources for path in source.files())])
    for source in sources:
        next(read(source), None)  # mistakes in the first rows are reported now
    shared = {"source_language": languages[0], "target_language": languages[1], **(reading or {})}
    if len(sources) > 1:
        inputs: dict[str, Any] = {"path": [source.path for source in sources]}
    else:
        inputs = {k: v for k in ("path", "target_path") if (v := getattr(sources[0], k)) is not None}
    config = load_config(encoder)
    with torch.device("meta"):
        model = AutoModelForMaskedLM.from_config(config)
    inside = f"{model.base_model_prefix}."
    head = {name for name, _ in model.named_parameters() if not name.startswith(inside)}
    name = re.sub(r"\W+", "_", out.stem) or "run"
    template = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701 - no HTML
    text = template.from_string(
        files("isoglot.pretraining").joinpath("new_recipe.yaml").read_text("utf-8")
    ).render(
        source=languages[0],
        target=languages[1],
        encoder=Path(encoder).name,
        encoder_value=dump_yaml({"path": str(encoder)}).strip().removeprefix("path: "),
        new_head=head.isdisjoint(weight_names(encoder)),
        reading=indent(dump_yaml(inputs | shared).rstrip(), "    "),
        length=min(_LONGEST, getattr(config, "max_position_embeddings", None) or _LONGEST),
        file=out,
        name=name,
    )
    load_recipe(parse_value(text))
    return write_text(out, f"{text}\n")
