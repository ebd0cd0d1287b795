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
    """Refuse options that were given and would do nothing: ``script`` without ``tokenizer``, for example.

    ``reading``: How the input is read, with the fields of :class:`Reading` and perhaps more.
    ``path``: The first input, whose name tells the kind of the data where the request does not.
    ``languages``: The languages of the input, two of a bitext.
    """
    problems = list(_idle(request, reading, path, languages))
    if problems:
        raise ConfigurationError([f"{problem}; leave it out" for problem in problems])


def _idle(request: DeriveRequest, reading: Options, path: str, languages: Sequence[str]) -> Iterator[str]:
    """Say of each option that was given and would do nothing why that is.

    1. Options that declare a need (``needs`` in :mod:`isoglot.derivation.options`): a transformation, or kinds of data.
    2. A second language, and options of reading, where the kind of data has no use for them.
    3. Options that depend on other options.
    """
    names, kind, options = parse_names(request.transform), request.kind or kind_of(path), request.options
    # Of each option that was given: how messages name it, and the transformation or the kinds of data that need it.
    given = {name: (f"[[{name}]]", extra_of(field).get("needs")) for name, field in given_fields(request)}
    for flag, needs in given.values():  # 1
        if needs in TRANSFORMS:
            if needs not in names:
                yield f"{flag} is for {needs}, but [[transform]] is {request.transform}"
        # Any one of the kinds will do: "bitext and aligned" is how the message names both.
        elif needs and kind not in needs.split(" and "):
            yield f"{flag} is for {needs} data, got {kind}"
    if len(languages) > 1 and kind not in ("bitext", "aligned"):  # 2
        yield f"[[languages]]: two are for bitext and aligned data, got {kind}"
    for name, _ in given_fields(reading):
        if name in Reading.model_fields and kind in ("tagged", "nli", "paws", "qa"):
            yield f"[[{name}]] is for text, bitext, aligned and treebank data, got {kind}"
    tokenizer = request.tokenizer
    has_copy = tokenizer is not None and (Path(tokenizer) / COPY_FILE).is_file()
    uses_pieces = "trans" in names or ("inv" in names and options.level == "token")
    uses_marks = "inv" in names or request.rows.split_sentences
    fixed = f"is fixed in the copy {tokenizer}"
    for name, is_idle, why in (  # 3
        ("end_marks", not uses_marks, "is for inv and [[split_sentences]]"),
        (
            "literal",
            "inv" in names and options.level == "token",
            "inverts words, and [[level='token']] inverts pieces",
        ),
        ("tokenizer", not uses_pieces, "is for trans, and for inv with [[level='token']]"),
        ("alphabet", tokenizer is not None, "changes letters, and [[tokenizer]] copies pieces"),
        ("script", tokenizer is None, "needs [[tokenizer]], whose copies it is about"),
        ("with_replacement", not options.overlap, "needs [[overlap]], whose pieces it draws"),
        ("first_parse_only", request.parses is None, "needs [[parses]]"),
        ("overlap", has_copy, fixed),
        ("with_replacement", has_copy, fixed),
        ("script", has_copy, fixed),
    ):
        if name in given and is_idle:
            flag, _ = given[name]
            yield f"{flag} {why}"
