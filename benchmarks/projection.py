"""How right labels are that `isoglot project` carries from English: parts of speech on PUD, answers on XQuAD.

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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from isoglot.corpus.labelled.questions import read_questions
from isoglot.corpus.labelled.tags import UNLABELLED, tagged_rows
from isoglot.projection.project import project
from isoglot.tasks.metrics.answers import answer_score

__all__ = ["SYSTEMS", "answers", "main", "parts_of_speech"]

SYSTEMS: dict[str, dict[str, Any]] = {
    "box": {},
    "SimAlign": {"method": "itermax", "model": "{encoder}", "layer": 8},
    "HMM": {"method": "hmm"},
    "HMM and more pairs": {"method": "hmm", "train_on": ("{data}/parallel/en-{language}.tsv.gz",)},
}
"""The package's aligner; SimAlign's itermax with an untouched encoder; the HMM on the pairs alone, and with bitext."""


def _tags(path: str | Path, language: str) -> Iterator[list[str]]:
    return ([tag for _, (_, tag) in rows] for _, rows in tagged_rows(path, language=language))


def parts_of_speech(data: Path, language: str, out: Path, **options: Any) -> dict[str, float]:
    """Share of words that get a tag, and of right ones among these and among all, in per cent."""
    own = data / "ud" / f"{language}_pud-ud-test.conllu"
    project(data / "ud/en_pud-ud-test.conllu", own, out, target_language=language, **options)
    gold = [tag for tags in _tags(own, language) for tag in tags]
    found = [tag for tags in _tags(out, language) for tag in tags]
    pairs = list(zip(gold, found, strict=True))
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
    given = parser.parse_args()
    data = Path(os.environ["ISOGLOT_DATA"])
    for name, measure, languages, ways in (
        ("UPOS on PUD", parts_of_speech, "" if given.whole else given.tags, [{}]),
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
    print(
        f"{name}  {language}  {system + (' whole' if way else ''):20s}  {cells}  ({seconds:.0f} s CPU)",
        flush=True,
    )


if __name__ == "__main__":
    main()
