from __future__ import annotations

import re

import pytest

from isoglot.formats.schema import TREEBANK, require
from isoglot.synthetic.world import World

WORLD = World(seed=3)


@pytest.fixture(scope="module")
def trees() -> list[dict]:
    return require(WORLD.treebank(3000), TREEBANK, role="trees").to_list()


def is_projective(heads: list[int]) -> bool:
    arcs = [(min(h, d), max(h, d)) for d, h in enumerate(heads, start=1)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


def reaches_root(heads: list[int]) -> bool:
    for start in range(1, len(heads) + 1):
        node, seen = start, set()
        while node:
            if node in seen:
                return False
            seen.add(node)
            node = heads[node - 1]
    return True


@pytest.mark.slow
def test_trees_are_well_formed_and_projective(trees: list[dict]) -> None:
    for tree in trees:
        heads, relations = tree["heads"], tree["deprels"]
        assert (
            len(tree["words"]) == len(tree["upos"]) == len(heads) == len(relations) == len(tree["entities"])
        )
        assert heads.count(0) == 1 and relations[heads.index(0)] == "root" and relations.count("root") == 1
        assert all(0 <= h <= len(heads) and h != d for d, h in enumerate(heads, start=1))
        assert reaches_root(heads), tree
        assert is_projective(heads), tree


def test_the_projectivity_check_sees_a_crossing() -> None:
    assert is_projective([2, 0, 2]) and not is_projective([3, 4, 0, 3])


def test_relations_fit_tags(trees: list[dict]) -> None:
    allowed = {
        "det": {"DET"}, "amod": {"ADJ"}, "nummod": {"NUM"}, "cc": {"CCONJ"}, "punct": {"PUNCT"},
        "case": {"ADP", "PART"},
        "aux": {"AUX"}, "aux:pass": {"AUX"}, "cop": {"AUX"}, "mark": {"SCONJ", "PART"}, "flat": {"PROPN"},
        "nsubj": {"NOUN", "PRON", "PROPN"}, "obj": {"NOUN", "PRON", "PROPN"}, "advmod": {"ADV", "PART"},
    }  # fmt: skip
    seen = set()
    for tree in trees:
        for upos, relation in zip(tree["upos"], tree["deprels"], strict=True):
            seen.add(relation)
            assert upos in allowed.get(relation, {upos}), (relation, upos, tree["text"])
    assert {
        "acl:relcl",
        "advcl",
        "ccomp",
        "xcomp",
        "conj",
        "iobj",
        "nsubj:pass",
        "nmod:poss",
        "expl",
        "obl",
    } <= seen


def test_subjects_agree_with_verbs(trees: list[dict]) -> None:
    """An agreement checker of its own: number from the subject's words, person from the verb's."""
    plural_nouns = {
        f for p in WORLD.lexicon.values() for x in p for k, f in x.forms.items() if k.endswith("pl")
    }
    singular_nouns = {
        f for p in WORLD.lexicon.values() for x in p for k, f in x.forms.items() if k.endswith("sg")
    }
    ambiguous = plural_nouns & singular_nouns
    singular_form, plural_form = {"is", "was", "has", "does"}, {"are", "were", "have", "do"}
    checked = 0
    for tree in trees:
        words = [w.lower() for w in tree["words"]]
        for i, relation in enumerate(tree["deprels"]):
            if relation not in {"nsubj", "nsubj:pass"}:
                continue
            head = tree["heads"][i] - 1
            group = [
                words[j] for j, h in enumerate(tree["heads"]) if h == head + 1 and tree["upos"][j] == "AUX"
            ]
            found = (singular_form | plural_form) & set(group)
            if not found or words[i] in ambiguous | {"who", "that", "which", "you", "i", "we"}:
                continue
            joined = any(
                r == "conj" and h == i + 1 for r, h in zip(tree["deprels"], tree["heads"], strict=True)
            )
            if "Sons" in tree["words"]:
                continue
            plural = (
                joined or words[i] in {"they"} or (words[i] in plural_nouns and tree["upos"][i] == "NOUN")
            )
            assert found <= (plural_form if plural else singular_form), tree["text"]
            checked += 1
    assert checked > 500


def test_present_tense_agrees(trees: list[dict]) -> None:
    verbs = [x.forms for name, p in WORLD.lexicon.items() if name.startswith("verb.") for x in p]
    third = {v["s"] for v in verbs}
    checked = 0
    for tree in trees:
        words, heads = tree["words"], tree["heads"]
        for i, relation in enumerate(tree["deprels"]):
            head = heads[i] - 1
            if (
                relation == "nsubj"
                and words[i].lower() in {"he", "she", "they", "we", "i"}
                and tree["upos"][head] == "VERB"
            ):
                helped = any(heads[j] == head + 1 and tree["upos"][j] == "AUX" for j in range(len(words)))
                if not helped and words[i].lower() not in {"he", "she"}:
                    assert words[head] not in third, tree["text"]
                    checked += 1
    assert checked > 50


def test_articles_capitals_and_spacing() -> None:
    for text in WORLD.text(3000)["text"]:
        assert text[0].isupper() or text[0].isdigit()
        assert text[-1] in ".?"
        assert not re.search(r" [,.?]|  | 's", text), text
        assert not re.search(r"\ban [bcdfgjklmnpqrstvwxz]", text), text
        assert not re.search(r"\b[Aa] [aio]", text), text


def test_entities_are_iob2_and_of_three_types(trees: list[dict]) -> None:
    kinds = set()
    for tree in trees:
        previous = "O"
        for tag in tree["entities"]:
            if tag.startswith("I-"):
                assert previous[2:] == tag[2:] and previous != "O"
            kinds.add(tag)
            previous = tag
    assert kinds == {"O", *(f"{b}-{k}" for b in "BI" for k in ("PER", "ORG", "LOC"))}


def test_names_are_ambiguous_between_types() -> None:
    """A surname is a town elsewhere and a part of a company's name: the type is not in the word."""
    seen: dict[str, set[str]] = {}
    for row in WORLD.ner(4000):
        for word, tag in zip(row["words"], row["tags"], strict=True):
            if tag != "O":
                seen.setdefault(word, set()).add(tag[2:])
    assert sum(len(kinds) > 1 for kinds in seen.values()) > 100
