"""``isoglot.project_tags``: inline tags of one segment carried to its translation, without files."""

from typing import Any, NamedTuple

from isoglot.aligners.api import align
from isoglot.aligners.options import Encoder, aligner_options
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.options import option_names
from isoglot.formats.markup_lines import parse_markup, unescaped
from isoglot.formats.sentence_pair import SentencePair
from isoglot.projection.markup import InlineTags, cut_marked
from isoglot.projection.options import ProjectOptions, project_options


class TagProblem(NamedTuple):
    """A tag to look at, and why: ``lost``, ``split``, ``moved`` or ``untranslated``."""

    problem: str
    tag: str


class TaggedTranslation(NamedTuple):
    """A translation with the tags of its source, and the tags to look at."""

    text: str
    problems: tuple[TagProblem, ...]


def project_tags(source: str, target: str, **options: Any) -> TaggedTranslation:
    """Carry the inline tags of one segment to its translation.

    Every tag of the source is in the translation, once. The first call with a model loads it, later ones find it
    loaded. Files and whole translation memories are read by :func:`isoglot.project`.

    Args:
        source: A segment with inline tags of HTML, XLIFF or TMX, in which ``&lt;`` and ``&amp;`` are characters.
        target: Its translation without tags. References to characters in it stay as they are.
        **options: Fields of :class:`~isoglot.projection.options.ProjectOptions` that are not about files
            (``target_language``, ``gap``, ``words``), and those of :func:`isoglot.align` (``model``, ``method``, …).

    Returns:
        The translation with the tags, and the problems, which are those of ``isoglot project --problems``.

    Raises:
        InputError: A tag is not complete or not closed, or the translation has tags.
        ConfigurationError: An unknown option, or one that only files have.

    Example:
        >>> project_tags("Click <b>Save</b> now.", "Klicken Sie jetzt auf Speichern.")
        TaggedTranslation(text='Klicken Sie jetzt auf <b>Speichern</b>.', problems=())
    """
    _refuse_lists(source, target)
    if "kind" in options:
        raise ConfigurationError("project_tags: the labels are always inline tags; leave out [[kind]]")
    chosen = project_options("segment", kind="markup", **options)
    if not isinstance(chosen.links, Encoder) or chosen.problems is not None or chosen.segmented is not None:
        raise ConfigurationError(
            "project_tags: one segment has no files of links, problems or segmented text, and no text to learn from; "
            "call isoglot.project for files"
        )
    kind = InlineTags("source", "target", "-", chosen)  # names instead of files: nothing is read or written
    marked = parse_markup(source)
    text, escaped = unescaped(target)
    pair = cut_marked(SentencePair((marked.text, text)), marked, escaped, kind.cut)
    # `links` is both a field of ProjectOptions and an option of ot and pointer: what a caller gives is the option.
    own = (option_names(ProjectOptions) - aligner_options()) | {"languages"}
    aligner = {name: value for name, value in options.items() if name not in own}
    for first, target_first, window_pair in kind.window_pairs(pair):
        linked = align(list(window_pair.source_words), list(window_pair.target_words), **aligner)
        pair.add_links(linked, (first, target_first))
    carried = kind.carried(pair).removesuffix("\n")
    problems = tuple(TagProblem(reported.problem, reported.tag) for reported in kind.problems)
    return TaggedTranslation(carried, problems)


def _refuse_lists(source: Any, target: Any) -> None:
    for name, text in (("source", source), ("target", target)):
        if not isinstance(text, str):
            raise InputError(f"{name}: one segment as text is needed, got {type(text).__name__}")
