"""Labels that follow their words into the derived language."""

from collections.abc import Sequence


def carry_entities(tags: Sequence[str], origin: Sequence[int]) -> list[str]:
    """IOB2 tags of re-ordered words, entity by entity.

    Each word keeps its entity; words of one entity that stand together in the new order are one entity there, whose
    first word is ``B``. Entities that meet stay apart, and an entity that is torn apart becomes several.

    ``tags``: IOB2 tags of the original. An ``I`` without an entity before it begins one.
    """
    entity: list[int] = []
    kinds: list[str] = []
    for i, tag in enumerate(tags):
        prefix, _, kind = tag.partition("-")
        going_on = prefix == "I" and i > 0 and entity[-1] >= 0 and kinds[-1] == kind
        entity.append(-1 if not kind else entity[-1] if going_on else i)
        kinds.append(kind)
    out: list[str] = []
    before = -1
    for o in origin:
        number = entity[o]
        out.append(tags[o] if number < 0 else f"{'I' if number == before else 'B'}-{kinds[o]}")
        before = number
    return out


def flip_runs(tags: Sequence[str]) -> list[str]:
    """Turn each maximal run ``I … I B`` of a reversed sentence into ``B I … I``.

    Source: ALIGN-MLM's code for inverted NER.
    """
    out = list(tags)
    start, inside = 0, False
    for i, tag in enumerate(tags):
        if tag.startswith("I-"):
            inside = True
            continue
        if tag.startswith("B-") and inside:
            out[start : i + 1] = out[start : i + 1][::-1]
        start, inside = i + 1, False
    return out


def make_tags_consistent(tags: Sequence[str]) -> list[str]:
    """Repair IOB2: after a tag of the same type comes ``I``, else ``B``. Neighbours of one type become one entity.

    Source: ALIGN-MLM's code for NER after T_syn.
    """
    out: list[str] = []
    before = ""
    for tag in tags:
        prefix, _, kind = tag.partition("-")
        if kind and prefix in ("B", "I"):
            out.append(f"{'I' if kind == before else 'B'}-{kind}")
            before = kind
        else:
            out.append(tag)
            before = ""
    return out
