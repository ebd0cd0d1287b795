"""Transformations by name: ``trans+inv``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from isoglot.derive.alphabet import Transliteration
from isoglot.derive.base import Transform, compose
from isoglot.derive.options import TransformOptions
from isoglot.derive.order import Inversion, Permutation
from isoglot.derive.sharing import draw_shared
from isoglot.errors import ConfigurationError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from isoglot.derive.vocabulary import VocabularyCopy

TRANSFORMS = ("trans", "inv", "perm", "syn")


def parse_names(text: str) -> tuple[str, ...]:
    """The names in ``trans+inv`` (or ``trans∘inv``), as written: the last is applied first."""
    names = tuple(n.strip() for n in re.split(r"[+∘]", text))
    unknown = [n for n in names if n not in TRANSFORMS]
    if unknown or len(set(names)) != len(names):
        what = f"{unknown[0]!r} is unknown" if unknown else "one of them is repeated"
        raise ConfigurationError(
            f"invalid transform {text!r}: {what}; combine {', '.join(TRANSFORMS)} with +, for example trans+inv "
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
    """The transformation of a name.

    ``vocabulary``: trans: use this copy instead of one drawn from ``options.tokenizer``.
    ``words``: trans of letters with overlap: gives the words of the corpus, of which a part is shared.

    Example:
        >>> from isoglot.derive.base import Sentence
        >>> build("inv")(Sentence.of("Welcome to ACL"), key=0).words
        ('ACL', 'to', 'Welcome')
    """
    options = options or TransformOptions()
    names = parse_names(text)
    if options.level == "token" and "inv" in names and "syn" in names[: names.index("inv")]:
        raise ConfigurationError(
            f"{text}: syntax orders words, but level: token keeps pieces; use level: word"
        )

    def one(name: str) -> Transform:
        if name == "inv":
            settings = options.model_dump(include={"level", "split", "attached", "literal", "end_marks"})
            return Inversion(tokenizer=options.tokenizer, **settings)
        if name == "perm":
            return Permutation(seed=options.seed, split=options.split, keep_final=options.keep_final)
        if name == "syn":
            return _syntax(options)
        pieces = options.level == "token" and "inv" in names[names.index("trans") :]
        return _transliteration(options, vocabulary, words, pieces=pieces)

    return compose(*(one(name) for name in names))


def _syntax(options: TransformOptions) -> Transform:
    if options.syntax is None or options.models is None:
        raise ConfigurationError(
            "syn needs a specification and models; give --syntax en~fr@N~fr@V --models FOLDER, or, without any file, "
            "--syntax en~head-final@N~head-final@V --models built-in"
        )
    from isoglot.derive.syntax import Syntax  # noqa: PLC0415 - heavy

    return Syntax.load(
        options.syntax,
        options.models,
        labels=options.ud_labels,
        **options.model_dump(include={"rate", "seed", "oversize", "best"}),
    )


def _transliteration(
    options: TransformOptions,
    vocabulary: VocabularyCopy | None,
    words: Callable[[], Iterable[str]] | None,
    *,
    pieces: bool,
) -> Transform:
    if vocabulary is None and options.tokenizer is None:
        if not options.overlap:
            return Transliteration(options.alphabet)
        if words is None:
            raise ConfigurationError(
                f"overlap {options.overlap} of words needs the words to draw from; give words=..., or a tokenizer"
            )
        types = sorted(set(words()))
        return Transliteration(
            options.alphabet, shared=[types[i] for i in draw_shared(len(types), **_sharing(options))]
        )
    from isoglot.derive.vocabulary import TokenTransliteration  # noqa: PLC0415 - heavy

    return TokenTransliteration(vocabulary or drawn_copy(options.tokenizer, options), pieces=pieces)


def drawn_copy(tokenizer: PreTrainedTokenizerBase, options: TransformOptions) -> VocabularyCopy:
    """The doubled vocabulary that options describe."""
    from isoglot.derive.vocabulary import VocabularyCopy  # noqa: PLC0415 - heavy

    return VocabularyCopy.draw(tokenizer, script=options.script, **_sharing(options))


def _sharing(options: TransformOptions) -> dict[str, Any]:
    return options.model_dump(include={"overlap", "seed", "with_replacement"})
