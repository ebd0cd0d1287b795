"""``isoglot init``: write a recipe for the user's files and encoder, with comments, ready to run and to change."""

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from textwrap import indent
from typing import Any

import torch
from jinja2 import Environment, StrictUndefined
from transformers import AutoModelForMaskedLM, PreTrainedConfig

from isoglot.core.checks import validated
from isoglot.core.errors import ConfigurationError
from isoglot.core.languages import codes_of
from isoglot.formats.readers import read
from isoglot.formats.sources import Reading, expand, sources_from
from isoglot.modules.checkpoint import load_config, weight_names
from isoglot.pretraining.check import load_recipe
from isoglot.recipe.document import dump_yaml, parse_value
from isoglot.runs.files import refuse_overwriting, require_writable, write_text

_LONGEST = 128
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

    The recipe trains masked words that may look at their translation (TLM). Objectives for sentence retrieval and word
    alignment are in it as comments. :func:`isoglot.pretrain` runs the recipe.

    Args:
        inputs: Two files, of which line i translates line i, or files with both sides.
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
    codes = codes_of(languages)
    if len(codes) != 2:
        raise ConfigurationError(f"got {len(codes)} languages for a bitext; pass languages=('en', 'de')")
    paths = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    reading = validated(Reading, reading, owner="reading a file").model_dump(exclude_unset=True)
    if out.exists() and not overwrite:
        raise ConfigurationError(f"{out} exists already; choose another name, or add [[overwrite=True]]")
    require_writable(out)
    sources = expand(sources_from(paths, languages=codes, **reading), "bitext")
    refuse_overwriting(out, [model, *(path for source in sources for path in source.files())])
    for source in sources:
        next(read(source), None)  # mistakes in the first rows are reported now
    # The keys of the recipe's stream: its path or paths, then the keys that hold for all of them.
    stream: dict[str, Any] = {}
    if len(sources) > 1:
        stream["path"] = [source.path for source in sources]
    else:
        for key in ("path", "target_path"):
            value = getattr(sources[0], key)
            if value is not None:
                stream[key] = value
    stream |= {"source_language": codes[0], "target_language": codes[1], **reading}
    config = load_config(model)
    template = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701 - no HTML
    text = template.from_string(
        files("isoglot.pretraining").joinpath("new_recipe.yaml").read_text("utf-8")
    ).render(
        source=codes[0],
        target=codes[1],
        encoder=Path(model).name,
        encoder_value=dump_yaml({"path": str(model)}).strip().removeprefix("path: "),
        new_head=not _has_head(model, config),
        reading=indent(dump_yaml(stream).rstrip(), "    "),
        length=min(_LONGEST, getattr(config, "max_position_embeddings", None) or _LONGEST),
        file=out,
        name=re.sub(r"\W+", "_", out.stem) or "run",
    )
    load_recipe(parse_value(text))
    return write_text(out, f"{text}\n")


def _has_head(checkpoint: str | Path, config: PreTrainedConfig) -> bool:
    """Whether a checkpoint has any weights of a masked-LM head, whose names are those outside of the encoder."""
    with torch.device("meta"):  # names without weights
        architecture = AutoModelForMaskedLM.from_config(config)
    prefix = f"{architecture.base_model_prefix}."
    head = {name for name, _ in architecture.named_parameters() if not name.startswith(prefix)}
    return not head.isdisjoint(weight_names(checkpoint))
