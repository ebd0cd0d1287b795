"""Links of words as links of pieces: SentencePiece and fast tokenizers, beside a naive reading of the text."""

from __future__ import annotations

from pathlib import Path

import pytest
import sentencepiece
from pydantic import ValidationError
from refusals import refused

from isoglot.aligners.align_file import align_file
from isoglot.aligners.load_aligner import aligner_request
from isoglot.aligners.options import LinkFormat
from isoglot.aligners.pieces import load_cut, piece_links
from isoglot.core.errors import ConfigurationError
from isoglot.corpus.open_corpus import corpus_sources
from isoglot.formats.links import Alignment
from isoglot.formats.sentence_pair import SentencePair
from isoglot.testing import tiny_bitext


@pytest.fixture(scope="module")
def spm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spm")
    (folder / "text").write_text("\n".join(f"{row['source']}\n{row['target']}" for row in tiny_bitext(200)))
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text"), model_prefix=str(folder / "tiny"), vocab_size=120, minloglevel=2
    )
    return folder / "tiny.model"


def test_every_piece_of_a_word_has_its_links(spm: Path) -> None:
    cut = load_cut(str(spm))
    for row in tiny_bitext(20):
        source, target = row["source"].split(), row["target"].split()
        links = [(i, i) for i in range(min(len(source), len(target)))]
        probabilities = [1 / (i + 1) for i in range(len(links))]
        pair = SentencePair((row["source"], row["target"]), (source, target), links, probabilities, 0.5)
        [found] = piece_links([pair], [str(spm)])
        words = []  # a piece that begins with the mark begins a word
        for side, text in zip(found.words, (row["source"], row["target"]), strict=True):
            assert side == cut(text)[0] and "".join(side).replace("▁", " ").strip() == text
            numbers, word = [], -1
            for piece in side:
                word += piece.startswith("▁")
                numbers.append(word)
            words.append(numbers)
        wanted = {
            (i, j): 1 / (a + 1)
            for i, a in enumerate(words[0])
            for j, b in enumerate(words[1])
            if (a, b) in links
        }
        assert dict(zip(found.links, found.probabilities, strict=True)) == wanted and found.score == 0.5


def test_a_piece_of_several_words_has_the_links_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = ["▁", "一家", "商", "场", " "], [(0, 1), (1, 3), (3, 4), (4, 5), (5, 6)]
    monkeypatch.setattr("isoglot.aligners.pieces.load_cut", lambda _: lambda _: pieces)
    words = {(0, 0): 0.4, (1, 1): 0.9, (1, 3): 0.6, (2, 2): 0.5}
    pair = SentencePair((" 一家商场 ",) * 2, (list("一家商场"),) * 2, list(words), list(words.values()))
    [found] = piece_links([pair], ["x"])
    members = {0: (0, 1), 1: (1,), 2: (2,), 3: (3,)}
    wanted: dict[tuple[int, int], float] = {}
    for (s, t), probability in words.items():
        for i in members[s]:
            for j in members[t]:
                wanted[i, j] = max(probability, wanted.get((i, j), 0))
    assert dict(zip(found.links, found.probabilities, strict=True)) == wanted


def test_links_of_whole_words_are_as_they_were(tmp_path: Path, encoder: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{row['source']}\t{row['target']}\n" for row in tiny_bitext(20)))
    for name, pieces in (("words", ()), ("pieces", (str(encoder),))):
        chosen = aligner_request(method="fast_align"), LinkFormat(pieces=pieces)
        align_file(corpus_sources([str(pairs)], languages=["en", "xx"]), tmp_path / name, *chosen)
    cut = load_cut(str(encoder))
    for row, words, linked_pieces in zip(
        tiny_bitext(20),
        (tmp_path / "words").read_text().splitlines(),
        (tmp_path / "pieces").read_text().splitlines(),
        strict=True,
    ):
        owners = []
        for text in (row["source"], row["target"]):
            places = cut(text)[1]
            owners.append([text[:start].count(" ") for start, _ in places])
        linked = {(owners[0][i], owners[1][j]) for i, j in Alignment.from_pharaoh(linked_pieces)}
        assert linked == Alignment.from_pharaoh(words).links


def test_pieces_of_what_is_no_tokenizer_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.model").write_text("no model")
    for name in ("x.model", "none.spm"):
        with refused(ConfigurationError, f"{name}: ", ".model or .spm"):
            load_cut(str(tmp_path / name))
    with refused(ValidationError, "[[pieces]]: ", "corpus", "pharaoh or jsonl"):
        LinkFormat(pieces=("x",), output="corpus")
