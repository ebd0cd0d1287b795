"""What OpusFilter's rules with their default parameters keep of the pairs that `planted_noise.py` wrote.

    OPUSFILTER_PYTHON benchmarks/opusfilter_rules.py PAIRS

OpusFilter has an environment of its own (`pip install opusfilter`). Its rules are those that `opusfilter-autogen
--method defaults` writes, language identification by lingua among them. Japanese and Chinese have no spaces, so the
three rules that count words are left out for them; with these no pair would be kept. Writes
PAIRS/en-XX.opusfilter.json: for each pair whether it is kept, and the CPU seconds.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from opusfilter import filters as filtermodule
from opusfilter.autogen import DefaultParameterFilters, lidmodule

SCRIPTS = {"ru": "Cyrillic", "uk": "Cyrillic", "zh": "Han", "hi": "Devanagari", "ar": "Arabic",
           "ja": r"(Han|Hiragana|Katakana)"}  # fmt: skip
OF_WORDS = {"LongWordFilter", "AverageWordLengthFilter"}


def rules(language: str) -> list[Any]:
    """OpusFilter's filters for English and a language."""
    scripts = ["Latin", SCRIPTS.get(language, "Latin")]
    if language == "ja":
        scripts = ["Latin", "Han"]
    chosen = DefaultParameterFilters(langs=["en", language], scripts=scripts)
    chosen.set_filter_thresholds()
    made = []
    for config in chosen.filters:
        for name, parameters in config.items():
            of_words = name in OF_WORDS or (name == "LengthRatioFilter" and parameters.get("unit") == "word")
            if language in ("ja", "zh") and (of_words or name == "CharacterScoreFilter"):
                continue
            kind = getattr(filtermodule, name, None) or getattr(lidmodule, name)
            parameters.pop("name", None)
            made.append(kind(**parameters))
    return made


def main() -> None:
    """Judge every file."""
    for path in sorted(Path(sys.argv[1]).glob("en-??.jsonl")):
        language = path.stem[-2:]
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        pairs = [(row["source"], row["target"]) for row in rows]
        filters = rules(language)
        began = time.process_time()
        kept = [True] * len(pairs)
        names: dict[str, int] = {}
        for rule in filters:
            accepted = [rule.accept(score) for score in rule.score(pairs)]
            names[f"{type(rule).__name__} {len(names)}"] = accepted.count(False)
            kept = [before and bool(now) for before, now in zip(kept, accepted, strict=True)]
        seconds = time.process_time() - began
        record = {"kept": kept, "seconds": seconds, "dropped_by": names}
        path.with_suffix(".opusfilter.json").write_text(json.dumps(record), encoding="utf-8")
        print(language, sum(kept), "of", len(kept), f"{seconds:.0f} s", names, flush=True)


if __name__ == "__main__":
    main()
