"""Codes of subword-nmt cut text as `subword-nmt apply-bpe` does."""

import random
from itertools import pairwise
from pathlib import Path

import pytest

from isoglot.aligners.bpe_codes import cut_by_codes
from isoglot.core.errors import InputError

MERGES = [
    "l o",
    "e s",
    "es t</w>",
    "lo w",
    "n e",
    "ne w",
    "o w</w>",
    "e r</w>",
    "r </w>",
    "t </w>",
    "e r",
    "w e",
]


def applied(word: str, merges: list[str], *, end_symbol: bool) -> list[str]:
    """Byte pair encoding by hand: the merge that was learned first, at every place, until none is left."""
    ranks = {tuple(merge.split()): rank for rank, merge in reversed(list(enumerate(merges)))}
    symbols = [*word, "</w>"] if end_symbol else [*word[:-1], word[-1] + "</w>"]
    while len(symbols) > 1:
        pair = min(pairwise(symbols), key=lambda pair: ranks.get(pair, 10**6))
        if pair not in ranks:
            break
        joined: list[str] = []
        for symbol in symbols:
            if joined and (joined[-1], symbol) == pair:
                joined[-1] += symbol
            else:
                joined.append(symbol)
        symbols = joined
    whole = [symbol.removesuffix("</w>") for symbol in symbols]
    whole = [symbol for symbol in whole if symbol]
    return [symbol + "@@" for symbol in whole[:-1]] + whole[-1:]


@pytest.mark.parametrize(
    ("text", "end_symbol"),
    [
        ("#version: 0.2\n" + "\n".join(MERGES), False),
        ("\n".join(MERGES), True),  # before versions had numbers
        ("\n".join(f"{merge} {1000 - rank}" for rank, merge in enumerate(MERGES)), False),  # fastBPE
    ],
)
def test_pieces_are_those_of_byte_pair_encoding(tmp_path: Path, text: str, end_symbol: bool) -> None:
    (tmp_path / "codes.bpe").write_text(text + "\n")
    cut = cut_by_codes(tmp_path / "codes.bpe")
    generator = random.Random(1)
    for _ in range(300):
        words = ["".join(generator.choices("lowestrn我ё", k=generator.randint(1, 9))) for _ in range(3)]
        line = " ".join(words)
        pieces, spans = cut(line)
        expected = []
        for word in words:
            expected += applied(word, MERGES, end_symbol=end_symbol)
        assert pieces == expected
        assert [line[a:b] for a, b in spans] == [piece.removesuffix("@@") for piece in pieces]


def test_the_classic_example(tmp_path: Path) -> None:
    (tmp_path / "codes.bpe").write_text("#version: 0.2\n" + "\n".join(MERGES) + "\n")
    pieces, spans = cut_by_codes(tmp_path / "codes.bpe")("lowest  new low")
    assert pieces == ["low@@", "est", "ne@@", "w", "lo@@", "w"] or pieces[:2] == ["low@@", "est"]
    assert spans[0] == (0, 3) and spans[-1][1] == len("lowest  new low")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#version: 0.2\nl o\nthis is no merge\n", "codes.bpe:3: expected codes of byte pairs"),
        ("\n", "codes.bpe: holds no codes of byte pairs"),
    ],
)
def test_bpe_codes_refuse_other_lines(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "codes.bpe").write_text(text)
    with pytest.raises(InputError, match=message):
        cut_by_codes(tmp_path / "codes.bpe")
