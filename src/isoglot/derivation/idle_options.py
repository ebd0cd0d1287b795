"""Refuse options of `isoglot derive` that would do nothing, for the command and for Python."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Options, extra_of, given_fields
from isoglot.derivation.input import kind_of
from isoglot.derivation.options import DeriveRequest
from isoglot.derivation.sharing import COPY_FILE
from isoglot.derivation.spec import TRANSFORMS, parse_names
from isoglot.formats.sources import Reading


def require_used(request: DeriveRequest, reading: Options, path: str, languages: Sequence[str]) -> None:
    """Refuse options that were given and would do nothing.

    ``reading``: How the input is read, with the fields of :class:`Reading` and perhaps more.
    ``path``: The first input, whose name tells the kind of the data where the request does not.
    ``languages``: Those of the input, two of a bitext.
    """
    if problems := list(_idle(request, reading, path, languages)):
        raise ConfigurationError([f"{problem}; leave it out" for problem in problems])


def _idle(request: DeriveRequest, reading: Options, path: str, languages: Sequence[str]) -> Iterator[str]:
    """Say of each option that was given and would do nothing why it would not."""
    names, kind, options = parse_names(request.transform), request.kind or kind_of(path), request.options
    # Of each option that was given: how messages name it, and the transformation or the kinds of data that need it.
    flags = {name: (f"[[{name}]]", extra_of(field).get("needs")) for name, field in given_fields(request)}
    for flag, needs in flags.values():
        if needs in TRANSFORMS and needs not in names:
            yield f"{flag} is for {needs}, but [[transform]] is {request.transform}"
        elif needs and needs not in TRANSFORMS and kind not in needs.split(" and "):
            yield f"{flag} is for {needs} data, got {kind}"
    tokenizer = request.tokenizer
    copied = tokenizer is not None and (Path(tokenizer) / COPY_FILE).is_file()
    pieces = "trans" in names or ("inv" in names and options.level == "token")
    if len(languages) > 1 and kind not in ("bitext", "aligned"):
        yield f"[[languages]]: two are for bitext and aligned data, got {kind}"
    for name, _ in given_fields(reading):
        if name in Reading.model_fields and kind in ("tagged", "nli", "paws", "qa"):
            yield f"[[{name}]] is for text, bitext, aligned and treebank data, got {kind}"
    for name, idle, why in (
        ("end_marks", "inv" not in names and not request.rows.split_sentences, "is for inv and [[split_sentences]]"),
        ("tokenizer", not pieces, "is for trans, and for inv with [[level='token']]"),
        ("alphabet", tokenizer is not None, "changes letters, and [[tokenizer]] copies pieces"),
        ("script", tokenizer is None, "needs [[tokenizer]], whose copies it is about"),
        ("with_replacement", not options.overlap, "needs [[overlap]], whose pieces it draws"),
        ("first_parse_only", request.parses is None, "needs [[parses]]"),
        *((name, copied, f"is fixed in the copy {tokenizer}") for name in ("overlap", "with_replacement", "script")),
    ):  # fmt: skip
        if name in flags and idle:
            yield f"{flags[name][0]} {why}"
