"""``isoglot init``: write a recipe for the user's files and encoder, with comments, ready to run and to change."""

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from textwrap import indent
from typing import Any

import torch
from jinja2 import Environment, StrictUndefined, Template
from transformers import AutoModelForMaskedLM, PreTrainedConfig

from isoglot.core.checks import validated
from isoglot.core.errors import ConfigurationError
from isoglot.core.languages import split_codes
from isoglot.formats.readers import read
from isoglot.formats.sources import Reading, Source, expand, sources_from
from isoglot.modules.checkpoint import load_config, weight_names
from isoglot.modules.load import longest_input
from isoglot.pretraining.check import load_recipe
from isoglot.recipe.document import dump_yaml, parse_value
from isoglot.runs.files import refuse_overwriting, require_writable, write_text

_MAX_LENGTH = 128
"""``max_length`` of the recipe's views, unless the encoder has fewer positions."""


def init(
    inputs: str | Path | Sequence[str | Path],
    out: str | Path = "recipe.yaml",
    *,
    model: str | Path,
    languages: str | Sequence[str],
    overwrite: bool = False,
    **reading: Any,
) -> Path:
    """Write a recipe that continues an encoder on your bitext, with comments, as ``isoglot init`` does.

    The recipe trains the prediction of masked words from their sentence and its translation (TLM). Objectives for
    sentence retrieval and word alignment are in the recipe as comments. :func:`isoglot.pretrain` runs it.

    Args:
        inputs: Two files in which line i of the second translates line i of the first, or files with both sides.
        out: Recipe to write.
        model: Encoder to continue: folder or hub name.
        languages: Languages of source and target: ``("en", "de")`` or ``"en,de"``.
        overwrite: Replace a file that is there.
        **reading: How the files are read, such as ``columns={"source": 0, "target": 2}``.

    Returns:
        The recipe's path.

    Raises:
        ConfigurationError: The recipe exists already, or an option does not exist.
        InputError: Bad content, as ``file:line``.

    Example:
        >>> import isoglot as iso
        >>> iso.init(["train.en", "train.de"], model="xlm-roberta-base", languages="en,de")  # doctest: +SKIP
        PosixPath('recipe.yaml')
    """
    out = Path(out)
    codes = split_codes(languages)
    if len(codes) != 2:
        raise ConfigurationError(f"got {len(codes)} languages for a bitext; pass languages=('en', 'de')")
    paths = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    reading = validated(Reading, reading, owner="reading a file").model_dump(exclude_unset=True)

    # Everything is checked before anything is written: the place of the recipe, the files, their first rows.
    if out.exists() and not overwrite:
        raise ConfigurationError(f"{out} exists already; choose another name, or add [[overwrite=True]]")
    require_writable(out)
    sources = expand(sources_from(paths, languages=codes, **reading), "bitext")
    refuse_overwriting(out, [model, *(path for source in sources for path in source.files())])
    for source in sources:
        next(read(source), None)

    config = load_config(model)
    longest = longest_input(config)  # None: no limit
    text = _template().render(
        source=codes[0],
        target=codes[1],
        encoder=Path(model).name,
        # As YAML writes the path: in quotes where it needs them.
        encoder_value=dump_yaml({"path": str(model)}).strip().removeprefix("path: "),
        new_head=not _has_head(model, config),
        reading=indent(dump_yaml(_stream(sources, codes, reading)).rstrip(), "    "),
        length=_MAX_LENGTH if longest is None else min(_MAX_LENGTH, longest),
        file=out,
        name=re.sub(r"\W+", "_", out.stem) or "run",
    )
    # A recipe that does not pass the checks is not written.
    load_recipe(parse_value(text))
    return write_text(out, f"{text}\n")


def _stream(sources: Sequence[Source], codes: Sequence[str], reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of the recipe's stream: its files, its two languages, and how the files are read.

    Two parallel files are one source, ``{"path": "train.en", "target_path": "train.de", ...}``. Several files with both
    sides are several sources, ``{"path": ["a.tsv", "b.tsv"], ...}``.
    """
    stream: dict[str, Any] = {}
    if len(sources) > 1:
        stream["path"] = [source.path for source in sources]
    else:
        stream["path"] = sources[0].path
        if sources[0].target_path is not None:
            stream["target_path"] = sources[0].target_path
    return {**stream, "source_language": codes[0], "target_language": codes[1], **reading}


def _template() -> Template:
    """Return the commented recipe with places to fill in."""
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701 - no HTML
    text = files("isoglot.pretraining").joinpath("new_recipe.yaml").read_text("utf-8")
    return environment.from_string(text)


def _has_head(checkpoint: str | Path, config: PreTrainedConfig) -> bool:
    """Whether a checkpoint has weights of a masked-LM head.

    The names of the encoder's own weights begin with its prefix, such as ``bert.``; all other names are the head's.
    """
    # On the device "meta" a model has the names of its weights and takes no memory for them.
    with torch.device("meta"):
        architecture = AutoModelForMaskedLM.from_config(config)
    prefix = f"{architecture.base_model_prefix}."
    head = {name for name, _ in architecture.named_parameters() if not name.startswith(prefix)}
    return not head.isdisjoint(weight_names(checkpoint))
