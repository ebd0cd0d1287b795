"""``isoglot.derive``: a corpus to its copy in a derived language."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isoglot.checks import did_you_mean, validated
from isoglot.derivation.derive_corpus import DeriveSummary, derive_corpus
from isoglot.derivation.idle_options import require_used
from isoglot.derivation.options import DeriveRequest, DeriverOptions, TransformOptions
from isoglot.errors import ConfigurationError
from isoglot.formats.sources import Reading
from isoglot.languages import codes_of
from isoglot.options import Options, extra_of
from isoglot.runs.reporter import AnyReporter

_RENAMED = {"split_sentences": "split"}
"""Option of rows by its name on the command line."""


def derive(
    inputs: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    transform: str,
    languages: str | Sequence[str] = (),
    tokenizer: str | Path | None = None,
    overwrite: bool = False,
    progress: AnyReporter = True,
    **options: Any,
) -> DeriveSummary:
    r"""Derive a language, as ``isoglot derive`` does: another script, word order or syntax.

    Args:
        inputs: Text, CoNLL-U, JSONL, WikiANN, NLI, SQuAD or bitext file, or a folder of :func:`isoglot.prepare`; two of
            a bitext.
        out: Folder to write.
        transform: ``trans``, ``inv``, ``perm``, ``syn``, or some with +: ``trans+inv`` inverts, then transliterates.
        languages: Language of the input, or both of a bitext.
        tokenizer: Copy this tokenizer's pieces, and write the doubled tokenizer.
        overwrite: Replace a corpus that was derived otherwise.
        progress: Bars in notebooks and on terminals (``True``), or none; a function such as ``print`` gets lines.
        **options: Other options of ``isoglot derive --help``: ``split_sentences=True``, ``seed=1``,
            ``columns={"text": 0}``.

    Returns:
        Counts of rows, pairs and lexicon entries, and the tag of the derived language.

    Raises:
        ConfigurationError: An unknown option, or a transformation that does not fit the data.
        InputError: Bad content, as ``file:line``.

    Example:
        >>> from tempfile import mkdtemp
        >>> folder = Path(mkdtemp())
        >>> _ = (folder / "en.txt").write_text("the old house\n")
        >>> summary = derive(folder / "en.txt", folder / "out", transform="inv", languages="en")
        >>> (folder / "out" / "derived.txt").read_text().strip(), summary.language
        ('house old the', 'en-x-inv')
    """
    parts: dict[str, dict[str, Any]] = {"options": {}, "rows": {}, "source": {}, "": {}}
    models: dict[str, type[Options]] = {
        "options": TransformOptions,
        "rows": DeriverOptions,
        "source": Reading,
        "": DeriveRequest,
    }
    for name, value in options.items():
        field = _RENAMED.get(name, name)
        homes = [
            part
            for part, model in models.items()
            if field in model.model_fields
            and extra_of(model.model_fields[field]).get("flags", ()) is not None
        ]
        home = "rows" if name in _RENAMED else next(iter(homes), None)
        if home is None or field in parts:
            known = {
                n for model in models.values() for n in model.model_fields
            } - parts.keys() | _RENAMED.keys()
            raise ConfigurationError(f"derive option {name}: unknown; {did_you_mean(name, known)}")
        parts[home][field] = value
    reading = validated(Reading, parts["source"])
    values = {
        **parts[""],
        "transform": transform,
        "languages": tuple(codes_of(languages)),
        "tokenizer": None if tokenizer is None else str(tokenizer),
        "options": validated(TransformOptions, parts["options"]),
        "rows": validated(DeriverOptions, parts["rows"]),
        "source": reading.model_dump(exclude_defaults=True),
    }
    paths = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    request = validated(DeriveRequest, values)
    require_used(request, reading, str(paths[0]), request.languages)
    return derive_corpus(paths, out, request, overwrite=overwrite, progress=progress)
