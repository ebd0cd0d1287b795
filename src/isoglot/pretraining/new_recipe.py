"""A recipe for given files and encoder, with comments, ready to run and to be changed."""

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from textwrap import indent
from typing import Any

import torch
from jinja2 import Environment, StrictUndefined
from transformers import AutoModelForMaskedLM

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

    It trains masked words that may look at their translation (TLM); sentence retrieval and word alignment are in it as
    comments. :func:`isoglot.pretrain` runs it.

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
        ConfigurationError: A file that is there, or an option that does not exist.
        InputError: Bad content, as ``file:line``.
    """
    out, encoder, tags = Path(out), model, codes_of(languages)
    if len(tags) != 2:
        raise ConfigurationError(f"got {len(tags)} languages for a bitext; pass languages=('en', 'de')")
    paths = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    reading = validated(Reading, reading, owner="reading a file").model_dump(exclude_unset=True)
    if out.exists() and not overwrite:
        raise ConfigurationError(f"{out} exists already; choose another name, or add [[overwrite=True]]")
    require_writable(out)
    sources = expand(sources_from(paths, languages=tags, **reading), "bitext")
    refuse_overwriting(out, [encoder, *(path for source in sources for path in source.files())])
    for source in sources:
        next(read(source), None)  # mistakes in the first rows are reported now
    shared = {"source_language": tags[0], "target_language": tags[1], **reading}
    if len(sources) > 1:
        paths_named: dict[str, Any] = {"path": [source.path for source in sources]}
    else:
        paths_named = {k: v for k in ("path", "target_path") if (v := getattr(sources[0], k)) is not None}
    config = load_config(encoder)
    with torch.device("meta"):
        architecture = AutoModelForMaskedLM.from_config(config)
    inside = f"{architecture.base_model_prefix}."
    head = {name for name, _ in architecture.named_parameters() if not name.startswith(inside)}
    name = re.sub(r"\W+", "_", out.stem) or "run"
    template = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701 - no HTML
    text = template.from_string(
        files("isoglot.pretraining").joinpath("new_recipe.yaml").read_text("utf-8")
    ).render(
        source=tags[0],
        target=tags[1],
        encoder=Path(encoder).name,
        encoder_value=dump_yaml({"path": str(encoder)}).strip().removeprefix("path: "),
        new_head=head.isdisjoint(weight_names(encoder)),
        reading=indent(dump_yaml(paths_named | shared).rstrip(), "    "),
        length=min(_LONGEST, getattr(config, "max_position_embeddings", None) or _LONGEST),
        file=out,
        name=name,
    )
    load_recipe(parse_value(text))
    return write_text(out, f"{text}\n")
