"""Lexicons as Moses and Marian read them, counted as Moses' own script counts."""

from collections import Counter
from pathlib import Path

import pytest
from commands import run
from refusals import refused

from isoglot import SentencePair, align_many
from isoglot.aligners.lexicon import with_lexicon
from isoglot.aligners.lexicon_options import LexiconOptions
from isoglot.core.errors import ConfigurationError

PAIRS = [
    ("the house", "das Haus", [(0, 0), (1, 1)]),
    ("the old house", "das Haus da", [(0, 0), (2, 1)]),
    ("the dog", "der Hund", [(0, 0), (1, 1)]),
    ("a big house", "ein großes Haus", [(0, 0), (1, 1), (2, 1), (2, 2)]),
]


def linked() -> list[SentencePair]:
    """Pairs with links, of which three words have none."""
    pairs = [SentencePair.of(source.split(), target.split()) for source, target, _ in PAIRS]
    for pair, (_, _, links) in zip(pairs, PAIRS, strict=True):
        pair.links = links
    return pairs


def moses_counts() -> tuple[Counter[tuple[str, str]], Counter[str], Counter[str]]:
    """What `LexicalTranslationModel.pm` counts: pairs of words, and each side's words, with NULL."""
    pairs, sources, targets = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    for source_text, target_text, links in PAIRS:
        source, target = source_text.split(), target_text.split()
        ends = [(source[i], target[j]) for i, j in links]
        ends += [(word, "NULL") for i, word in enumerate(source) if i not in {i for i, _ in links}]
        ends += [("NULL", word) for j, word in enumerate(target) if j not in {j for _, j in links}]
        for pair in ends:
            pairs[pair] += 1
            sources[pair[0]] += 1
            targets[pair[1]] += 1
    return pairs, sources, targets


def write(path: Path, form: str, **options: object) -> None:
    """Write the lexicon of :data:`PAIRS`."""
    chosen = LexiconOptions(lexicon=path, lexicon_format=form, **options)
    assert list(with_lexicon(linked(), chosen)) == linked()


def test_moses_reads_both_directions_with_null_and_their_counts(tmp_path: Path) -> None:
    write(tmp_path / "lex", "moses")
    pairs, sources, targets = moses_counts()
    assert pairs["old", "NULL"] == pairs["NULL", "da"] == 1
    expected = {
        "lex.f2e": [f"{t} {s} {count / sources[s]:.7f}" for (s, t), count in pairs.items()],
        "lex.e2f": [f"{s} {t} {count / targets[t]:.7f}" for (s, t), count in pairs.items()],
        "lex.counts.f2e": [f"{t} {s} {count} {sources[s]}" for (s, t), count in pairs.items()],
        "lex.counts.e2f": [f"{s} {t} {count} {targets[t]}" for (s, t), count in pairs.items()],
    }
    assert {path.name for path in tmp_path.iterdir()} == expected.keys()
    for name, lines in expected.items():
        assert sorted((tmp_path / name).read_text().splitlines()) == sorted(lines)
    forward = (tmp_path / "lex.f2e").read_text().splitlines()
    assert [line for line in forward if " the " in line] == ["das the 0.6666667", "der the 0.3333333"]


def test_marian_reads_target_source_probability_without_null(tmp_path: Path) -> None:
    write(tmp_path / "lex", "marian")
    pairs, sources, targets = moses_counts()
    known = {pair: count for pair, count in pairs.items() if "NULL" not in pair}
    read = {}
    for line in (tmp_path / "lex.s2t").read_text().splitlines():
        target, source, probability = line.split(" ")  # as data/shortlist.cpp reads it
        read[source, target] = float(probability)
    assert read == {pair: pytest.approx(count / sources[pair[0]], abs=1e-7) for pair, count in known.items()}
    back = [line.split(" ") for line in (tmp_path / "lex.t2s").read_text().splitlines()]
    assert {(s, t): float(p) for s, t, p in back} == {
        pair: pytest.approx(count / targets[pair[1]], abs=1e-7) for pair, count in known.items()
    }


@pytest.mark.parametrize("method", ["fast_align", "hmm"])
def test_a_statistical_model_counts_its_links(tmp_path: Path, method: str) -> None:
    """Learned, saved and loaded, from files and in memory."""
    source, target = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("".join(f"{s}\n" for s, _, _ in PAIRS * 5))
    target.write_text("".join(f"{t}\n" for _, t, _ in PAIRS * 5))
    asked = ("--lexicon-format", "moses", "--out", tmp_path / "links")
    run(
        "align", source, target, "-m", method, "--lexicon", tmp_path / "one", "--save", tmp_path / "m", *asked
    )
    written = (tmp_path / "one.counts.f2e").read_text()
    links = [line.split() for line in (tmp_path / "links").read_text().splitlines()]
    of_links = Counter[str]()
    for (s, t, _), numbers in zip(PAIRS * 5, links, strict=True):
        for link in numbers:
            i, j = map(int, link.split("-"))
            of_links[f"{t.split()[j]} {s.split()[i]}"] += 1
    lines = [line.split() for line in written.splitlines() if "NULL" not in line]
    assert {f"{t} {s}": int(count) for t, s, count, _ in lines} == of_links
    run("align", source, target, "--load", tmp_path / "m", "--lexicon", tmp_path / "two", *asked)
    texts = [(s.split(), t.split()) for s, t, _ in PAIRS * 5]
    align_many(texts, method=method, lexicon=tmp_path / "three", lexicon_format="moses", progress=False)
    assert (tmp_path / "three.counts.f2e").read_text() == written
    assert {path.name for path in tmp_path.glob("two.*")} == {
        "two.f2e", "two.e2f", "two.counts.f2e", "two.counts.e2f"
    }  # fmt: skip


def test_pieces_that_are_linked_are_those_of_the_lexicon(tmp_path: Path) -> None:
    codes = tmp_path / "codes.bpe"
    codes.write_text("#version: 0.2\nH a\nHa u\ns e</w>\n")
    source, target = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("a house\n" * 4)
    target.write_text("ein Haus\n" * 4)
    asked = ("--lexicon", tmp_path / "lex", "--lexicon-format", "marian", "--pieces", codes)
    run("align", source, target, "-m", "fast_align", *asked, "--out", tmp_path / "links")
    pieces = {tuple(line.split()[:2]) for line in (tmp_path / "lex.s2t").read_text().splitlines()}
    assert {("Hau@@", "se"), ("s", "se"), ("s", "h@@")} <= pieces


def test_options_that_do_nothing_are_refused(tmp_path: Path) -> None:
    with refused(ConfigurationError, "`lexicon_format`: ", "`lexicon`"):
        align_many([("a", "b")], method="fast_align", lexicon_format="moses")
    with refused(ConfigurationError, "`min_count`: ", 'lexicon_format="csv"'):
        align_many([("a", "b")], method="fast_align", lexicon=tmp_path / "l", min_count=3)
    source = tmp_path / "lex.f2e"
    source.write_text("a ||| b\n")
    fails = run("align", source, "-m", "hmm", "--lexicon", tmp_path / "lex", "--lexicon-format", "moses",
                fails=ConfigurationError)  # fmt: skip
    assert "lex.f2e" in fails
