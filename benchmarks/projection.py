"""How right labels are that `isoglot project` carries from English: parts of speech on PUD, answers on XQuAD.

`--running zh,ja` compares tags of text that is cut in several ways, by character: UPOS, and runs of PROPN as names.

Both have the same sentences and questions in all languages, with gold labels on each side, so a projected label has a
gold one to be compared with. Needs ``ISOGLOT_DATA`` (ud/, xquad/, parallel/) and, for SimAlign's method,
``ISOGLOT_ENCODER``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from isoglot.formats.labelled.questions import read_questions
from isoglot.formats.labelled.tags import UNLABELLED, tagged_rows
from isoglot.formats.words import split_words
from isoglot.projection.project import project
from isoglot.tasks.metrics.answers import answer_score
from isoglot.tasks.metrics.chunks import entity_score

__all__ = ["SYSTEMS", "answers", "main", "parts_of_speech", "running_text"]

SYSTEMS: dict[str, dict[str, Any]] = {
    "box": {},
    "SimAlign": {"method": "itermax", "model": "{encoder}", "layer": 8},
    "HMM": {"method": "hmm"},
    "HMM and more pairs": {"method": "hmm", "train_on": ("{data}/parallel/en-{language}.tsv.gz",)},
}
"""The package's aligner; SimAlign's itermax with an untouched encoder; the HMM on the pairs alone, and with bitext."""

CUTS: dict[str, Callable[[Sequence[str]], str]] = {
    "characters": lambda words: " ".join(split_words("".join(words))),
    "as shipped": "".join,
    "gold words": " ".join,
}
"""The text of a treebank's words; with spaces, the words are those between them."""


TagsOf = Callable[[list[str], list[str]], list[str]]
"""Words and their UPOS to the tags that are projected."""


def _sentences(path: str | Path, language: str) -> Iterator[tuple[list[str], list[str]]]:
    """Words and tags."""
    for _, rows in tagged_rows(path, language=language):
        yield [word for _, (word, _) in rows], [tag for _, (_, tag) in rows]


def _names(words: Sequence[str], tags: Sequence[str]) -> list[str]:
    """Runs of PROPN in IOB2; a point between two parts of a name belongs to it."""
    inside = [tag == "PROPN" for tag in tags]
    for n in range(1, len(words) - 1):
        inside[n] |= words[n] == "·" and inside[n - 1] and tags[n + 1] == "PROPN"
    return [("I-NAME" if n and inside[n - 1] else "B-NAME") if own else "O" for n, own in enumerate(inside)]


def _by_character(words: Sequence[str], tags: Sequence[str]) -> list[str]:
    """The tag of each character."""
    return [
        f"I{tag[1:]}" if n and tag.startswith("B-") else tag
        for word, tag in zip(words, tags, strict=True)
        for n in range(len(word))
    ]


def running_text(data: Path, language: str, out: Path, cut: str, **options: Any) -> dict[str, float]:
    """UPOS of characters, F1 of words and of names, in per cent.

    Gold tags are the treebank's. A language without one, Japanese, has English tags over gold links of words.
    """
    english = list(_sentences(data / "ud/en_pud-ud-test.conllu", "en"))
    treebank, ready = data / f"ud/{language}_pud-ud-test.conllu", out.with_suffix(".links.jsonl")
    if treebank.exists():
        own = list(_sentences(treebank, language))
    else:
        lines = (data / f"wordalign/en-{language}.pud.jsonl").read_text(encoding="utf-8").splitlines()
        known = {tuple(words): tags for words, tags in english}
        rows = [row for row in map(json.loads, lines) if tuple(row["src"]) in known]
        ready.write_text("".join(json.dumps(row) + "\n" for row in rows))
        english = [(row["src"], known[tuple(row["src"])]) for row in rows]
        own = [(row["tgt"], []) for row in rows]
    text, labels = out.with_suffix(".txt"), out.with_suffix(".labels.tsv")

    def projected(kind: str, tags_of: TagsOf, cut: str, **options: Any) -> list[tuple[list[str], list[str]]]:
        blocks = ("".join(map("{}\t{}\n".format, words, tags_of(words, tags))) for words, tags in english)
        labels.write_text("\n".join(blocks), encoding="utf-8")
        text.write_text("".join(CUTS[cut](words) + "\n" for words, _ in own), encoding="utf-8")
        mode = "unicode" if cut == "as shipped" else "whitespace"
        project(labels, text, out, kind=kind, target_language=language, words=mode, **options)
        written = {"".join(words): (words, tags) for words, tags in _sentences(out, language)}
        # a sentence without any tag is not written
        return [written.get("".join(words), (words, [UNLABELLED] * len(words))) for words, _ in own]

    def both(kind: str, tags_of: TagsOf) -> list[list[tuple[list[str], list[str]]]]:
        gold = (
            [(words, tags_of(words, tags)) for words, tags in own]
            if treebank.exists()
            else projected(kind, tags_of, "gold words", links_file=ready)
        )
        return [gold, projected(kind, tags_of, cut, **options)]

    sides = both("pos", lambda _, tags: tags)
    characters = [[tag for row in side for tag in _by_character(*row)] for side in sides]
    places = [[{*pairwise(accumulate(map(len, words), initial=0))} for words, _ in side] for side in sides]
    common = sum(len(one & other) for one, other in zip(*places, strict=True))
    names = [
        [["O" if tag == UNLABELLED else tag for tag in _by_character(*row)] for row in side]
        for side in both("ner", _names)
    ]
    return {
        **_shares(*characters),
        "words F1": 200 * common / sum(len(one) for side in places for one in side),
        "names F1": entity_score(*names)["f1"].value,
    }


def parts_of_speech(data: Path, language: str, out: Path, **options: Any) -> dict[str, float]:
    """Share of words that get a tag, and of right ones among these and among all, in per cent."""
    own = data / "ud" / f"{language}_pud-ud-test.conllu"
    project(data / "ud/en_pud-ud-test.conllu", own, out, target_language=language, **options)
    return _shares(*([tag for _, tags in _sentences(path, language) for tag in tags] for path in (own, out)))


def _shares(gold: Sequence[str], found: Sequence[str]) -> dict[str, float]:
    pairs = [(one, other) for one, other in zip(gold, found, strict=True) if one != UNLABELLED]
    labelled = sum(other != UNLABELLED for _, other in pairs)
    right = sum(one == other for one, other in pairs)
    return {
        "coverage": 100 * labelled / len(pairs),
        "of labelled": 100 * right / labelled,
        "of all": 100 * right / len(pairs),
    }


def answers(data: Path, language: str, out: Path, **options: Any) -> dict[str, float]:
    """Share of questions that keep an answer, and exact match and F1 of all questions, in per cent."""
    own = data / "xquad" / f"xquad.{language}.json"
    project(data / "xquad/xquad.en.json", own, out, target_language=language, **options)
    gold = {row["id"]: list(row["answers"]["text"]) for row in read_questions(own, language=language)}
    rows = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    found = {row["id"]: row["answers"]["text"][0] for row in rows}
    score = answer_score(gold, found, mlqa_language=language)
    return {
        "coverage": 100 * len(found) / len(gold),
        "exact": score["exact_match"].value,
        "F1": score["f1"].value,
    }


def main() -> None:
    """Print a table for each measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--tags", default="de,es,fr,hi,zh", help="Languages of PUD.")
    parser.add_argument("--answers", default="de,es,hi,zh", help="Languages of XQuAD.")
    parser.add_argument(
        "--whole", action="store_true", help="Answers only, over whole contexts beside sentences."
    )
    parser.add_argument("--running", default="", help="Languages of PUD as text without spaces: zh,ja.")
    given = parser.parse_args()
    data = Path(os.environ["ISOGLOT_DATA"])
    for name, measure, languages, ways in (
        ("UPOS on PUD", parts_of_speech, "" if given.whole else given.tags, [{}]),
        ("text without spaces", running_text, given.running, [{"cut": cut} for cut in CUTS]),
        ("answers on XQuAD", answers, given.answers, [{}, {"whole": True}] if given.whole else [{}]),
    ):
        for language in filter(None, languages.split(",")):
            for system in given.systems.split(","):
                for way in ways:
                    _print(name, measure, data, language, system, way)


def _print(name: str, measure: Any, data: Path, language: str, system: str, way: dict[str, Any]) -> None:
    values = {"encoder": os.environ.get("ISOGLOT_ENCODER", ""), "data": str(data), "language": language}
    options = {
        key: value.format(**values) if isinstance(value, str) else tuple(v.format(**values) for v in value)
        if isinstance(value, tuple) else value
        for key, value in SYSTEMS[system].items()
    }  # fmt: skip
    began = resource.getrusage(resource.RUSAGE_SELF)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(data, language, Path(folder) / "out.jsonl" if measure is answers else Path(folder) / "out.tsv",
                        **options, **way)  # fmt: skip
    ended = resource.getrusage(resource.RUSAGE_SELF)
    seconds = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    cells = "  ".join(f"{key} {value:.1f}" for key, value in found.items())
    label = " ".join([system, *(key if value is True else value for key, value in way.items())])
    print(
        f"{name}  {language}  {label:20s}  {cells}  ({seconds:.0f} s CPU)",
        flush=True,
    )


if __name__ == "__main__":
    main()
