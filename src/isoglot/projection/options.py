"""Options of `isoglot project`: a field is an argument in Python and a flag.

In messages ``[[name=value]]`` is an option; each interface writes it in its own way, such as ``--name value``.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import field_validator, model_validator

from isoglot.aligners.load_aligner import aligner_request
from isoglot.aligners.options import AnyAligner, aligner_options, own_class_option
from isoglot.core.checks import did_you_mean, validated
from isoglot.core.errors import ConfigurationError
from isoglot.core.languages import split_codes
from isoglot.core.options import Options, OutputText, internal, one_or_more, option, option_names
from isoglot.formats.sources import READING
from isoglot.projection.rule import GAP
from isoglot.runs.files import bare_suffix

Kind = Literal["pos", "ner", "questions", "offsets", "markup"]
_BY_SUFFIX: dict[str, Kind] = {
    ".conllu": "pos",
    ".json": "questions",
    ".jsonl": "offsets",
    ".ndjson": "offsets",
    ".tmx": "markup",
}
_LINKS, _WRITING = "Where links come from", "How to write"


class ReadyLinks(Options):
    """Word links from a file."""

    kind: Literal["ready"] = internal("ready")
    links_file: Path = option(
        ..., "Read the links from this file instead of aligning: line i for the i-th sentence.",
        flags=["--links-file", "--links"], group=_LINKS,
    )  # fmt: skip
    min_probability: float = option(
        0.0, "Leave out links below this probability or similarity.", group=_WRITING, ge=0, le=1
    )


class ProjectOptions(Options):
    """Kind of the labels, how files are read, where links come from, and how uncertain words are written."""

    kind: Kind = option(
        ..., "What the labels are; by default from the name: .conllu pos, .json questions, .jsonl offsets, .tmx markup",
        group=READING,
    )  # fmt: skip
    source_language: str = option(
        "", "Language of the labelled text; by default en, of TMX as the file says.",
        flags=["--source-lang", "--source-language"], group=READING,
    )  # fmt: skip
    target_language: str = option(
        "", "Language of the translation: de.", flags=["--target-lang", "--target-language"], group=READING
    )
    allowed: tuple[str, ...] = option(
        (), "Tags that may occur; others are an error. By default UPOS (pos) or any IOB2 tags (ner).",
        commas=True, group=READING,
    )  # fmt: skip
    format: str | None = option(
        None, "Format of tagged words: conllu, panx, indexed, pairs or columns; by default recognised.",
        group=READING,
    )  # fmt: skip
    written: bool = option(
        False, "For CoNLL-U: take words as they are written (zum), not syntactic words (zu, dem).",
        group=READING,
    )  # fmt: skip
    words: Literal["unicode", "whitespace"] = option(
        "unicode", "How text is split into words: unicode, or whitespace for tokenised text.", group=READING
    )
    segmented: Path | None = option(
        None,
        "For markup: the translation with spaces between its words, as a segmenter writes it; tags go between words.",
        group=READING,
        only_with="kind=markup",
    )
    whole: bool = option(
        False, "For questions: align whole contexts, not sentence by sentence.", group=_LINKS
    )
    gap: int = option(
        GAP, "Longest gap inside a name, answer or tag that is filled in, in words.", group=_WRITING, ge=0
    )
    _one_or_more = field_validator("allowed", mode="before")(one_or_more)
    uncertain: Literal["blank", "outside", "drop"] = option(
        "blank",
        "What becomes of words that may have lost a label: blank leaves them unlabelled (_), outside writes O, drop "
        "leaves out the sentence.",
        group=_WRITING,
    )  # fmt: skip

    problems: OutputText | None = option(
        None,
        "For markup: write the tags that a person should check to this file, with their lines and problems; - for "
        "standard output.",
        group=_WRITING,
        only_with="kind=markup",
    )
    links: AnyAligner | ReadyLinks = option(..., "Where links come from: an aligner, or a file.", flags=None)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.uncertain == "outside" and self.kind == "pos":
            raise ValueError("[[uncertain='outside']]: O is a tag of ner; use blank or drop")
        if self.uncertain == "drop" and self.kind == "markup":
            raise ValueError(
                "[[uncertain='drop']]: lines of markup stay parallel to the translation; leave it out"
            )
        return self


def project_options(labels: str | Path, **options: Any) -> ProjectOptions:
    """Make the options of ``isoglot project`` from names and values.

    Some of them are fields of :class:`ProjectOptions`. The others say where links come from: they are the options of an
    aligner, or with ``links_file`` the fields of :class:`ReadyLinks`.

    ``labels``: The labelled file; its name shows the kind if ``kind`` is not among the options.

    Example:
        >>> project_options("en.conllu", method="hmm", gap=2).kind
        'pos'
    """
    suffix = bare_suffix(str(labels))
    languages = options.pop("languages", None)
    # ProjectOptions and the aligners both have an option `links`. One that a caller gives is the aligner's (ot and
    # pointer); the field is built below.
    of_links = aligner_options() | option_names(ReadyLinks)
    own = option_names(ProjectOptions) - of_links
    known = own | of_links
    unknown = [name for name in options if name not in known]
    if unknown and own_class_option(options) is None:  # a class of the user's has options of its own
        raise ConfigurationError(
            [f"[[{name}]]: unknown option; {did_you_mean(name, known)}" for name in unknown]
        )
    if "links" in options and options.get("method") not in ("ot", "pointer"):
        raise ConfigurationError(
            "[[links]]: only the methods ot and pointer have this option; give a file of links as [[links_file=FILE]]"
        )
    # What stays in `options` says where links come from.
    values = {name: options.pop(name) for name in list(options) if name in own}
    if languages is not None:
        _name_languages(values, languages)
    values["kind"] = values.get("kind") or _BY_SUFFIX.get(suffix)
    if values["kind"] is None:
        raise ConfigurationError(
            f"{labels}: its name does not show the kind of labels; add [[kind]]: {', '.join(get_args(Kind)[:-1])} or "
            f"{get_args(Kind)[-1]}"
        )
    if suffix != ".tmx":
        values["source_language"] = values.get("source_language") or "en"
    if "links_file" in options:
        values["links"] = validated(ReadyLinks, options, owner="a file of links")
    else:
        values["links"] = aligner_request(**options)
    return validated(ProjectOptions, values)


def _name_languages(values: dict[str, Any], languages: str | Sequence[str]) -> None:
    """Set both languages from ``languages=("en", "de")``, which other functions have too."""
    names = ("source_language", "target_language")
    tags = split_codes(languages) if isinstance(languages, str) else list(languages)
    if len(tags) != 2:
        raise ConfigurationError(f"languages: expected two codes such as ('en', 'de'), got {languages!r}")
    if any(values.get(name) for name in names):
        raise ConfigurationError(
            "languages: names both languages; leave [[source_language]] and [[target_language]] out"
        )
    values.update(zip(names, tags, strict=True))
