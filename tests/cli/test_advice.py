"""What messages of readers say to type: every verb that reads pairs has these flags, and typing them helps."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_outcome import Isoglot
from commands import COMMANDS
from verb_calls import write_model

import isoglot
from isoglot.cli.spelling import FlagSpelling
from isoglot.core.named_options import NO_VALUE

PAIRS = [("a b", "c d"), ("e", "f"), ("g", "h"), ("i j", "k")]
TSV = "".join(f"{one}\t{other}\n" for one, other in PAIRS)
SIDES = [
    "".join(f'<tuv xml:lang="{tag}"><seg>{tag} {n}</seg></tuv>' for tag in ("en", "de", "fr"))
    for n in range(4)
]
READERS = Path(isoglot.__file__).parent / "formats"
FILES = {
    "unlike.csv": "id,x,y\n" + "".join(f"the river,{one},{other}\n" for one, other in PAIRS),
    "keys.jsonl": "".join(f'{{"en": "{one}", "de": "{other}"}}\n' for one, other in PAIRS),
    "x.jsonl": "".join(f'{{"x": "{one}", "y": "{other}"}}\n' for one, other in PAIRS),
    "pairs.foo": TSV,
    "three.tmx": '<tmx version="1.4"><header/><body>'
    + "".join(f"<tu>{s}</tu>" for s in SIDES)
    + "</body></tmx>",
}
NUMBERS = "numbers.parquet"
VALUES = {
    "unlike.csv": {"source=NAME": "source=x", "target=NAME": "target=y"},
    "x.jsonl": {"source=NAME": "source=x", "target=NAME": "target=y"},
    NUMBERS: {"source=NAME": "source=text"},
}
"""What a user knows of a file, and a message does not."""
CALLS = {
    "align": "align FILE --method fast_align --out OUT",
    "filter": "filter FILE --aligner none --out OUT.tsv",
    "prepare": "prepare FILE --source-lang en --target-lang de --out OUT",
    "derive": "derive FILE --kind bitext --transform trans --lang en --target-lang de --out OUT",
    "analyse similarity": "analyse similarity MODEL -c FILE --measure retrieval --layers 1 --out OUT",
}
ADVICE = (
    "--header",
    "--input-format",
    r"--source-lang \w+ --target-lang \w+",
    r"--column \w+=\w+( --column \w+=\w+)*",
)
"""Ways out, of which the first that is new is typed."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("advice")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    rows = {
        "source": [1, 2, 3, 4],
        "text": [one for one, _ in PAIRS],
        "target": [other for _, other in PAIRS],
    }
    pq.write_table(pa.table(rows), folder / NUMBERS)
    write_model(folder / "model")
    return folder


def flags_of(verb: str) -> set[str]:
    return {flag for parameter in COMMANDS[tuple(verb.split())].params for flag in parameter.opts}


@pytest.mark.parametrize("name", [*FILES, NUMBERS])
@pytest.mark.parametrize("verb", CALLS)
def test_typing_what_a_message_says_leads_to_a_result(
    isoglot: Isoglot, tmp_path: Path, folder: Path, verb: str, name: str
) -> None:
    places = {
        "FILE": folder / name,
        "MODEL": folder / "model",
        "OUT": tmp_path / "out",
        "OUT.tsv": tmp_path / "o.tsv",
    }
    words = [str(places.get(word, word)) for word in CALLS[verb].split()]
    typed: list[str] = []
    for _ in range(4):
        done = isoglot(*words, *" ".join(typed).split())
        if not done.returncode:
            break
        assert done.returncode == 2
        message = done.stderr.rpartition("isoglot: ")[2]
        assert set(re.findall(r"--[a-z][a-z-]+", message)) <= flags_of(verb), message
        ways = [match[0] for pattern in ADVICE if (match := re.search(pattern, message))]
        for unknown, value in VALUES.get(name, {}).items():
            ways = [way.replace(unknown, value) for way in ways]
        ways = [f"{way} tsv" if way == "--input-format" else way for way in ways]
        new = [way for way in ways if way not in typed]
        assert new, message
        typed.append(new[0])
    assert not done.returncode, done.stderr
    assert typed or verb in ("prepare", "derive")


@pytest.mark.parametrize("verb", CALLS)
def test_verbs_have_the_flags_that_readers_name(verb: str) -> None:
    """Those of word links are for the verbs that read these."""
    sources = [path.read_text("utf-8") for path in READERS.glob("*.py")]
    named = {name for source in sources for name in re.findall(r"\[\[(\w+)(?:=[^\[]*?)?\]\]", source)}
    assert {"header", "columns", "one_based", "languages"} <= named
    spelled = {FlagSpelling(COMMANDS[tuple(verb.split())])(name, NO_VALUE) for name in named - {"row", "0"}}
    flags = {flag for text in spelled for flag in re.findall(r"--[a-z][a-z-]+", text)}
    assert flags - flags_of(verb) <= ({"--one-based"} if verb in ("align", "filter") else set())
