from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isoglot.corpus.manifest import load_corpus
from isoglot.errors import ConfigurationError, InputError
from isoglot.runs.reporter import Silent
from isoglot.studies.data import build_maker
from isoglot.testing import tiny_bitext


def make(folder: Path, **entry: Any) -> dict[str, Any]:
    folder.mkdir(parents=True)
    return build_maker(entry, place="data.x").write(folder, Silent())


@pytest.fixture
def wiki(tmp_path: Path) -> str:
    path = tmp_path / "wiki.txt"
    path.write_text(" = Heading = \n\nThe cat, who sat.\nshort\nTwo more words\n", encoding="utf-8")
    return str(path)


def test_text_is_cut_filtered_and_limited(tmp_path: Path, wiki: str) -> None:
    facts = make(
        tmp_path / "a",
        make="text",
        sources=[{"path": wiki}],
        words="unicode",
        drop_headings=True,
        min_words=2,
    )
    assert (tmp_path / "a" / "text.txt").read_text() == "The cat , who sat .\nTwo more words\n"
    assert facts == {"lines": 2}
    make(tmp_path / "b", make="text", sources=[{"path": wiki}], min_words=2, limit=2)
    assert (tmp_path / "b" / "text.txt").read_text() == "= Heading =\nThe cat, who sat.\n"


def test_text_of_a_treebank_is_its_words(tmp_path: Path) -> None:
    tree = "1\tA\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tcat\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "a.conllu").write_text(tree)
    make(tmp_path / "x", make="text", sources=[{"path": str(tmp_path / "a.conllu"), "kind": "treebank"}])
    assert (tmp_path / "x" / "text.txt").read_text() == "A cat\n"


def test_a_smaller_share_of_pairs_is_part_of_a_larger_one(tmp_path: Path) -> None:
    for name in ("s", "t"):
        (tmp_path / name).write_text("".join(f"{name}{i}\n" for i in range(40)))
    drawn = {}
    for share in (0.1, 0.25, 1.0):
        facts = make(
            tmp_path / str(share),
            make="pairs",
            source=str(tmp_path / "s"),
            target=str(tmp_path / "t"),
            share=share,
        )
        lines = (tmp_path / str(share) / "pairs.tsv").read_text().splitlines()
        assert facts["pairs"] == len(lines) == round(40 * share)
        drawn[share] = lines
    assert set(drawn[0.1]) < set(drawn[0.25]) < set(drawn[1.0])
    assert all(a[1:] == b[1:] for a, b in (line.split("\t") for line in drawn[0.25]))


def test_sides_of_different_length_are_refused(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("a\n")
    (tmp_path / "t").write_text("a\nb\n")
    with pytest.raises(ConfigurationError, match="parallel files"):
        make(tmp_path / "x", make="pairs", source=str(tmp_path / "s"), target=str(tmp_path / "t"))
    with pytest.raises(InputError, match="nowhere"):
        make(tmp_path / "y", make="pairs", source=str(tmp_path / "nowhere"), target=str(tmp_path / "t"))


def test_a_bitext_gets_word_links(tmp_path: Path) -> None:
    rows = tiny_bitext(30)
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{r['source']}\t{r['target']}\n" for r in rows))
    source = {"path": str(path), "source_language": "en", "target_language": "xx"}
    facts = make(
        tmp_path / "x", make="align", sources=[source], method="fast_align", symmetrisation="intersect"
    )
    corpus = load_corpus(tmp_path / "x" / "aligned")
    assert facts["pairs"] == len(corpus) == 30
    assert sum(map(len, corpus["links"])) > 30


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"make": "txt"}, r"data\.x\.make: 'txt' given; did you mean 'text'"),
        ({"make": "text", "sources": []}, r"data\.x\.sources"),
        ({"make": "pairs", "source": "a", "target": "b", "shar": 1}, "did you mean 'share'"),
        ({"make": "nowhere_at_all:Maker"}, "cannot be imported"),
    ],
)
def test_mistakes_are_told(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build_maker(entry, place="data.x")
