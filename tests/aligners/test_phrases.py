"""Phrase pairs beside NLTK's extractor, and their counts beside a naive count."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from pathlib import Path

import pytest
from nltk.translate.phrase_based import phrase_extraction
from pydantic import ValidationError
from refusals import refused
from unspaced import with_pieces

from isoglot.aligners.align_file import align_file
from isoglot.aligners.load_aligner import aligner_request
from isoglot.aligners.options import FastAlign, LinkFormat
from isoglot.aligners.phrases import PairCounts, phrase_pairs, with_phrases
from isoglot.core.errors import ConfigurationError
from isoglot.corpus.open_corpus import corpus_sources
from isoglot.formats.links import Alignment
from isoglot.formats.sentence_pair import SentencePair
from isoglot.testing import tiny_bitext


def test_the_pairs_are_nltk_s() -> None:
    draw = random.Random(7)
    for _ in range(1_000):
        source, target = draw.randint(1, 9), draw.randint(1, 9)
        links = {(draw.randrange(source), draw.randrange(target)) for _ in range(draw.randint(0, 12))}
        sides = [" ".join(str(n) for n in range(length)) for length in (source, target)]
        every = {(a, b) for a, b, *_ in phrase_extraction(*sides, sorted(links))} if links else set()
        for longest in (1, 3, 7, 20):
            found = list(phrase_pairs(links, source, target, longest=longest))
            wanted = {p for p in every if all(stop - first <= longest for first, stop in p)}
            assert set(found) == wanted and len(found) == len(wanted)


@pytest.mark.parametrize("most", [2, 1000])
def test_counts_and_probabilities(most: int) -> None:
    draw, counts, naive = random.Random(3), PairCounts(most=most), Counter[tuple[str, str]]()
    for _ in range(300):
        pair = draw.choice("abc"), draw.choice(["x", "y z"])
        naive[pair] += 1
        counts.add([pair[0]], pair[1].split())
    rows = list(counts.rows())
    assert {(s, t): n for s, t, n, *_ in rows} == naive
    for s, t, n, forward, backward in rows:
        assert forward == pytest.approx(n / sum(m for (a, _), m in naive.items() if a == s))
        assert backward == pytest.approx(n / sum(m for (_, b), m in naive.items() if b == t))
    assert rows == sorted(rows, key=lambda row: (row[0], -row[2], row[1]))


def read(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines()]


@pytest.mark.parametrize("method", ["itermax", "fast_align"])
def test_align_writes_phrases_and_an_encoder_s_lexicon(tmp_path: Path, encoder: Path, method: str) -> None:
    pairs = tmp_path / "pairs.tsv"
    rows = [(row["source"].split(), row["target"].split()) for row in tiny_bitext(30)]
    pairs.write_text("".join(f"{' '.join(s)}\t{' '.join(t)}\n" for s, t in rows))
    own = {"model": str(encoder), "layer": 2} if method == "itermax" else {}
    aligner = aligner_request(method=method, lexicon=tmp_path / "words", **own)
    chosen = aligner, LinkFormat(phrases=tmp_path / "phrases", phrase_length=3)
    align_file(corpus_sources([str(pairs)], languages=["en", "xx"]), tmp_path / "links", *chosen)
    links = [Alignment.from_pharaoh(line) for line in (tmp_path / "links").read_text().splitlines()]
    naive = Counter(
        (" ".join(s[a:b]), " ".join(t[c:d]))
        for (s, t), own in zip(rows, links, strict=True)
        for (a, b), (c, d) in phrase_pairs(own.links, len(s), len(t), longest=3)
    )
    assert {(s, t): int(n) for s, t, _, n, *_ in read(tmp_path / "phrases")} == naive
    words = read(tmp_path / "words")
    if method == "itermax":
        linked = Counter((s[i], t[j]) for (s, t), own in zip(rows, links, strict=True) for i, j in own.links)
        assert words and all(linked[s, t] == int(n) and float(p) >= 0.05 for s, t, p, n, *_ in words)
    else:
        assert words and all(len(row) == 3 for row in words)


@pytest.mark.parametrize("method", ["itermax", "fast_align"])
def test_words_that_hold_what_ends_columns_and_lines(tmp_path: Path, encoder: Path, method: str) -> None:
    pairs = tmp_path / "pairs.jsonl"
    rows = [{"source": ["a\tb", "the\nhouse"], "target": ["x\r", "Haus"]}] * 3
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    own = {"model": str(encoder), "layer": 2} if method == "itermax" else {}
    aligner = aligner_request(method=method, lexicon=tmp_path / "words", **own)
    chosen = aligner, LinkFormat(phrases=tmp_path / "phrases", output="words")
    align_file(corpus_sources([str(pairs)], languages=["en", "xx"]), tmp_path / "links", *chosen)
    assert len((tmp_path / "links").read_bytes().splitlines()) == 3
    for name in ("words", "phrases"):
        lines = read(tmp_path / name)
        assert lines and len({len(row) for row in lines}) == 1
        assert {word for row in lines for word in row[:2]} <= {
            "ab", "thehouse", "x", "Haus", "ab thehouse", "x Haus"
        }  # fmt: skip


def test_moses_table_by_hand(tmp_path: Path) -> None:
    """Four scores, links and counts; of two ways to link the same words the more frequent one."""
    linked = [
        ("das kleine Haus", "the small house", "0-0 1-1 2-2"),
        ("das Haus", "the house", "0-0 1-1"),
        ("das Haus", "the house", "1-1"),
        ("das Buch", "a book", "1-1"),
        ("das Haus [x|y]", "the house", "0-0 1-1"),
    ]
    pairs = [
        SentencePair.of(source.split(), target.split(), links=sorted(Alignment.from_pharaoh(links).links))
        for source, target, links in linked
    ]
    table = tmp_path / "table.gz"
    assert list(with_phrases(iter(pairs), phrases=table, longest=2, moses=True)) == pairs
    lines = gzip.decompress(table.read_bytes()).decode().splitlines()
    assert lines == sorted(lines, key=str.encode)
    rows = {tuple(row[:2]): row[2:] for row in (line.split(" ||| ") for line in lines)}
    scores, links, counts = rows["das Haus", "the house"]
    assert links == "0-0 1-1" and counts == "4 4 3", "sentence 3 links Haus to house alone"
    backward, lexical_backward, forward, lexical_forward = map(float, scores.split())
    assert (backward, forward) == (0.75, 0.75)
    # das: with the 3 times, alone twice; the: with das 3 times, alone once; Haus and house: 4 of 4
    assert lexical_forward == pytest.approx(3 / 5) and lexical_backward == pytest.approx(3 / 4)
    scores, links, counts = rows["Buch", "a book"]
    assert (links, counts) == ("0-1", "2 2 1")
    assert float(scores.split()[3]) == pytest.approx(1 / 2), "a is one of two target words without a link"
    assert rows["Haus &#91;x&#124;y&#93;", "house"][1] == "0-0"


def test_phrases_of_running_text_are_of_pieces(tmp_path: Path, encoder: Path) -> None:
    chinese = with_pieces(encoder, tmp_path / "chinese", ["▁", "北京", "漢字", "北", "Beijing", "sees"])
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("Beijing sees\t北京漢字\n", encoding="utf-8")
    sources = corpus_sources([str(pairs)], languages=["en", "zh"])
    aligner = aligner_request(model=str(chinese), method="forward", lexicon=tmp_path / "words", layer=2)
    form = LinkFormat(phrases=tmp_path / "phrases", words="unicode", write_words=tmp_path / "cut")
    align_file(sources, tmp_path / "links", aligner, form)
    for name in ("phrases", "words"):
        targets = {word for row in read(tmp_path / name) for word in row[1].split()}
        assert targets and targets <= {"北京", "漢字"}
    assert (tmp_path / "cut").read_text(encoding="utf-8") == "Beijing sees ||| 北 京 漢 字\n"
    learned = LinkFormat(phrases=tmp_path / "learned", words="unicode", pieces=(str(chinese),))
    align_file(sources, tmp_path / "links", FastAlign(), learned)
    assert {word for row in read(tmp_path / "learned") for word in row[1].split()} <= {"北京", "漢字"}


def test_a_lexicon_of_characters_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("Beijing sees\t北京漢字\n", encoding="utf-8")
    sources = corpus_sources([str(pairs)], languages=["en", "zh"])
    for words, reported in (("unicode", True), ("whitespace", False)):
        caplog.clear()
        aligner = FastAlign(lexicon=tmp_path / words)
        align_file(sources, tmp_path / "links", aligner, LinkFormat(words=words))
        assert ("segment the text first" in caplog.text) == reported


def test_words_are_written_as_their_links_number_them(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(
        '{"source": ["New York", "x"], "target": ["Nueva", "York"]}\n{"source": "", "target": "a"}\n'
    )
    sources = corpus_sources([str(pairs)], languages=["en", "es"])
    for reverse, wanted in (
        (False, "New_York x ||| Nueva York\n ||| a\n"),
        (True, "Nueva York ||| New_York x\na ||| \n"),
    ):
        form = LinkFormat(write_words=tmp_path / "words", reverse=reverse)
        align_file(sources, tmp_path / "links", FastAlign(), form)
        assert (tmp_path / "words").read_text() == wanted
    with refused(ConfigurationError, "/words and ", "/words: "):
        align_file(sources, tmp_path / "words", FastAlign(), LinkFormat(write_words=tmp_path / "words"))


def test_a_format_of_phrases_without_a_file_of_them() -> None:
    with refused(ValidationError, "[[phrases_format]]", "[[phrases]]"):
        LinkFormat(phrases_format="moses")


def test_counts_do_not_go_to_standard_output() -> None:
    for model, options in ((LinkFormat, {"phrases": "-"}), (FastAlign, {"lexicon": "-"})):
        with refused(ValidationError, "standard output (-)"):
            model.model_validate(options)


def test_moses_lines_are_in_the_order_in_which_they_are_written(tmp_path: Path) -> None:
    """A bracket is written as ``&#91;``, which stands before letters; as it is given it stands between Z and a."""
    phrases, words = PairCounts(), PairCounts()
    for source in ("[", "Zug", "1", "auf", "|"):
        phrases.add([source], ["x"], "0-0")
        words.add([source], ["x"])
    phrases.write_moses(tmp_path / "table", words)
    lines = (tmp_path / "table").read_text().splitlines()
    assert lines == sorted(lines, key=str.encode)
    assert [line.split(" ")[0] for line in lines] == ["&#124;", "&#91;", "1", "Zug", "auf"]
