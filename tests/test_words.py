"""Messages, docstrings, comments and pages read as plain English."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
AVOIDED = re.compile(
    r"\btold\b|(?<!\bas )(?<!\bare )(?<!\bis )(?<!\bnot )\bgiven;|\bin per cent\b|\bthat are no (?!longer)"
    r"|\bmade anew\b|\bcannot be had\b|\bmend(ed|s)?\b|\bLOOK OUT\b"
)
"""Say: reported, recorded, detected; got; in %; that are not; rebuilt; is not available; fix; Warning."""
BRACES = re.compile(r"\{[^{}]*\}")
PROSE = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def prose_of(source: str) -> Iterator[tuple[int, str]]:
    """Comments and strings of several words, without the names in braces, and their first lines."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in PROSE and " " in token.string:
            yield token.start[0], BRACES.sub("…", token.string)


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ('raise ValueError(f"{name!r} given; name another")', True),
        ('"""What a worker is told once."""', True),
        ("x = 1  # pairs that are no texts", True),
        ('told = found["told"]  # a name is not prose', False),
        ('"the pair as given; the words as they are"', False),
        ('"options that are no longer read"', False),
    ],
)
def test_avoided_words_are_seen(source: str, seen: bool) -> None:
    assert any(AVOIDED.search(text) for _, text in prose_of(source)) == seen


def test_the_package_reads_as_plain_english() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for line, text in prose_of(path.read_text(encoding="utf-8"))
        for match in AVOIDED.finditer(text)
    ]
    assert not found


def test_the_pages_read_as_plain_english() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for match in AVOIDED.finditer(line)
    ]
    assert not found
