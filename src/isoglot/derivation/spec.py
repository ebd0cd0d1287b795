"""Transformations by name: ``trans+inv`` inverts a sentence and then transliterates it.

The order matters: ``inv+trans`` transliterates first, so the inversion finds the mark at the end of the sentence in the
new script, does not know it as a mark, and makes it the first word. ``trans+inv`` keeps the mark last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from isoglot.core.errors import ConfigurationError
from isoglot.derivation.alphabet import Transliteration
from isoglot.derivation.base import Transform, compose
from isoglot.derivation.options import TransformOptions
from isoglot.derivation.order import Inversion, Permutation
from isoglot.derivation.sharing import draw_positions

if TYPE_CHECKING:
    from isoglot.derivation.vocabulary import VocabularyCopy

TRANSFORMS = ("trans", "inv", "perm", "syn")


def parse_names(text: str) -> tuple[str, ...]:
    """Split ``trans+inv`` (or ``trans∘inv``) into its names, in the order of the text: the last is applied first."""
    names = tuple(name.strip() for name in re.split(r"[+∘]", text))
    unknown = [name for name in names if name not in TRANSFORMS]
    if unknown or len(set(names)) != len(names):
        problem = f"{unknown[0]!r} is unknown" if unknown else "one of them is repeated"
        raise ConfigurationError(
            f"invalid transform {text!r}: {problem}; combine {', '.join(TRANSFORMS)} with +, for example trans+inv "
            "(inv first, then trans)"
        )
    return names


def build(
    text: str,
    options: TransformOptions | None = None,
    *,
    vocabulary: VocabularyCopy | None = None,
    words: Callable[[], Iterable[str]] | None = None,
) -> Transform:
    """Make the transformation that a text such as ``trans+inv`` names.

    ``vocabulary``: For trans: use this copy instead of one drawn from ``options.tokenizer``.
    ``words``: For trans of letters with overlap: returns the words of the corpus, a share of which both languages have.

    Example:
        >>> from isoglot.derivation.base import Sentence
        >>> build("inv")(Sentence.of("Welcome to ACL"), key=0).words
        ('ACL', 'to', 'Welcome')
    """
    options = options or TransformOptions()
    names = parse_names(text)
    if options.level == "token" and _is_applied_after("syn", "inv", names):
        raise ConfigurationError(
            f"{text}: syntax orders words, but level: token keeps pieces; use level: word"
        )

    def build_one(name: str) -> Transform:
        if name == "inv":
            return Inversion(options)
        if name == "perm":
            return Permutation(options)
        if name == "syn":
            from isoglot.derivation.syntax import Syntax  # noqa: PLC0415 - heavy

            return Syntax.load(options)
        # What remains is trans: of letters without a tokenizer, else of a tokenizer's pieces.
        if vocabulary is None and options.tokenizer is None:
            return _transliteration_of_letters(options, words)
        from isoglot.derivation.vocabulary import TokenTransliteration, VocabularyCopy  # noqa: PLC0415 - heavy

        # An inversion of tokens that is applied before trans leaves pieces instead of words.
        pieces = options.level == "token" and _is_applied_after("trans", "inv", names)
        copy = vocabulary or VocabularyCopy.draw(options.tokenizer, options)
        return TokenTransliteration(copy, pieces=pieces)

    return compose(*(build_one(name) for name in names))


def _is_applied_after(later: str, earlier: str, names: tuple[str, ...]) -> bool:
    """Whether both transformations are in a text, and one is applied after the other.

    The last name is applied first: in ``trans+inv``, *trans* is applied after *inv*.
    """
    if later not in names or earlier not in names:
        return False
    # What is applied later stands further left.
    return names.index(later) < names.index(earlier)


def _transliteration_of_letters(
    options: TransformOptions, words: Callable[[], Iterable[str]] | None
) -> Transliteration:
    """Make the transliteration letter by letter; with ``overlap``, a share of the words stays as it is."""
    if not options.overlap:
        return Transliteration(options.alphabet)
    if words is None:
        raise ConfigurationError(
            f"overlap {options.overlap} of words needs the words to draw from; give words=..., or a tokenizer"
        )
    distinct = sorted(set(words()))  # sorted, so that the draw depends on the seed alone
    drawn = draw_positions(len(distinct), **options.sharing())
    return Transliteration(options.alphabet, shared=[distinct[position] for position in drawn])
