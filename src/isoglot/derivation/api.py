"""``isoglot.derive``: arguments of Python become the request of :func:`derive_corpus`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isoglot.core.checks import validated
from isoglot.core.languages import split_codes
from isoglot.derivation.derive_corpus import DeriveSummary, derive_corpus
from isoglot.derivation.idle_options import require_used
from isoglot.derivation.options import DeriveRequest
from isoglot.formats.sources import Reading
from isoglot.runs.reporter import AnyReporter


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
    # Some options say how the input is read, the others are fields of the request.
    how_read = {name: options.pop(name) for name in list(options) if name in Reading.model_fields}
    reading = validated(Reading, how_read)
    values = {
        **options,
        "transform": transform,
        "languages": tuple(split_codes(languages)),
        "tokenizer": None if tokenizer is None else str(tokenizer),
        "source": reading.model_dump(exclude_defaults=True),
    }
    request = validated(DeriveRequest, values)
    paths = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    require_used(request, reading, str(paths[0]), request.languages)
    return derive_corpus(paths, out, request, overwrite=overwrite, progress=progress)
