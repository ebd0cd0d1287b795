"""What studies make before they train."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.manifest import load_corpus
from isoglot.derivation.derive_corpus import derive_corpus
from isoglot.derivation.options import DeriveRequest
from isoglot.formats.link_files import read_links
from isoglot.runs.reporter import Silent
from isoglot.studies.lab import Lab
from isoglot.studies.step import Step
from isoglot.studies.steps import (
    Align,
    CollectText,
    Derive,
    MakeWorld,
    Prepare,
    SamplePairs,
    TextSource,
    WriteGold,
)
from isoglot.testing import tiny_bitext


def run(step: Step, folder: Path) -> dict[str, object]:
    folder.mkdir(parents=True, exist_ok=True)
    return dict(step.run(folder, Silent()))


def test_text_is_cut_and_filtered(tmp_path: Path) -> None:
    wiki = tmp_path / "wiki.txt"
    wiki.write_text(" = Heading = \n\nThe cat, who sat.\nshort\nTwo more words\n", encoding="utf-8")
    source = TextSource(path=str(wiki))
    assert run(CollectText(sources=[source], words="unicode", drop_headings=True, min_words=2), tmp_path) == {
        "lines": 2
    }
    assert (tmp_path / "text.txt").read_text() == "The cat , who sat .\nTwo more words\n"
    with pytest.raises(ConfigurationError, match="no line is left"):
        run(CollectText(sources=[source], min_words=9), tmp_path)


def test_text_of_a_treebank_is_its_words(tmp_path: Path) -> None:
    tree = "1\tA\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tcat\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "a.conllu").write_text(tree)
    run(CollectText(sources=[TextSource(path=str(tmp_path / "a.conllu"), kind="treebank")]), tmp_path)
    assert (tmp_path / "text.txt").read_text() == "A cat\n"


def test_a_smaller_share_of_pairs_is_part_of_a_larger_one(tmp_path: Path) -> None:
    for name in ("s", "t"):
        (tmp_path / name).write_text("".join(f"{name}{i}\n" for i in range(40)))
    drawn = {}
    for share in (0.1, 0.25, 1.0):
        folder = tmp_path / str(share)
        facts = run(SamplePairs(source=str(tmp_path / "s"), target=str(tmp_path / "t"), share=share), folder)
        lines = (folder / "pairs.tsv").read_text().splitlines()
        assert facts["pairs"] == len(lines) == round(40 * share)
        drawn[share] = lines
    assert set(drawn[0.1]) < set(drawn[0.25]) < set(drawn[1.0])
    assert all(a[1:] == b[1:] for a, b in (line.split("\t") for line in drawn[0.25]))


def test_sides_of_different_length_are_refused(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("a\n")
    (tmp_path / "t").write_text("a\nb\n")
    with pytest.raises(ConfigurationError, match="parallel files"):
        run(SamplePairs(source=str(tmp_path / "s"), target=str(tmp_path / "t")), tmp_path)
    with pytest.raises(InputError, match="nowhere"):
        run(SamplePairs(source=str(tmp_path / "nowhere"), target=str(tmp_path / "t")), tmp_path)


def test_a_bitext_gets_word_links(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{r['source']}\t{r['target']}\n" for r in tiny_bitext(30)))
    source = {"source_language": "en", "target_language": "xx"}
    aligner: dict[str, Any] = {"method": "fast_align", "symmetrisation": "intersect"}
    step = Align(path=str(path), source=source, **aligner)
    facts = run(step, tmp_path)
    corpus = load_corpus(tmp_path / "aligned")
    assert facts["pairs"] == len(corpus) == 30
    assert sum(map(len, corpus["links"])) > 30


def test_a_corpus_is_prepared_without_what_is_held_out(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("a b\tx y\tflores\nc d\tz w\t\n")
    source = {"path": str(tmp_path / "pairs.tsv"), "columns": {"source": 0, "target": 1, "flags": 2}}
    source |= {"source_language": "en", "target_language": "xx"}
    step = Prepare(source=source, options={"held_out_flags": ["flores"]})
    step.check()
    run(step, tmp_path)
    assert load_corpus(tmp_path / "corpus")["source"][:] == ["c d"]


def test_links_of_construction_are_gold_links(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("A cat sat .\nIt saw two dogs .\n", encoding="utf-8")
    request = DeriveRequest(transform="inv", kind="text", languages=("en",), derived_language="de")
    derive_corpus([str(tmp_path / "text.txt")], tmp_path / "derived", request)
    corpora = {"en-de": str(tmp_path / "derived" / "aligned")}
    run(WriteGold(corpora=corpora), tmp_path)
    found = read_links(tmp_path / "en-de.jsonl")
    assert found[0].words == (["A", "cat", "sat", "."], ["sat", "cat", "A", "."])
    assert found[0].sure == found[0].possible == {(0, 2), (1, 1), (2, 0), (3, 3)}
    assert len(found) == 2
    run(WriteGold(corpora=corpora, limit=1), tmp_path)
    assert len(read_links(tmp_path / "en-de.jsonl")) == 1


def test_inputs_are_derived_with_their_own_options(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A cat sat .\n", encoding="utf-8")
    inputs = {name: {"path": str(tmp_path / "a.txt"), "kind": "text"} for name in ("text", "more")}
    inputs["more"]["limit"] = 1  # type: ignore[assignment]
    step = Derive(inputs=inputs, transform="trans+inv", language="xx", options={"alphabet": "georgian"})
    assert [read.path for read in step.files("<studies>")] == [str(tmp_path / "a.txt")]
    assert run(step, tmp_path) == {}
    assert (tmp_path / "xx" / "more" / "original.txt").read_text() == "A cat sat .\n"


@pytest.mark.parametrize(
    ("step", "arguments", "message"),
    [
        (
            Prepare,
            {"source": {"path": "x"}, "options": {"limt": 3}},
            "options.limt: unknown key; did you mean 'limit'",
        ),
        (MakeWorld, {"options": {"txt": 3}}, "options.txt: unknown key; did you mean 'text'"),
        (CollectText, {"sources": [{"path": "x", "lang": "en"}]}, "sources.0.lang: unknown key; did you"),
        (
            Derive,
            {"inputs": {"a": {"path": "x", "kid": "text"}}, "transform": "inv", "language": "x"},
            "did you mean 'kind'",
        ),
        (
            Derive,
            {
                "inputs": {"a": {"path": "x"}},
                "transform": "inv",
                "language": "x",
                "rows": {"repare": "flip"},
            },
            "rows.repare: unknown key; did you mean 'repair'",
        ),
        (
            Derive,
            {
                "inputs": {"a": {"path": "x", "options": {"litral": True}}},
                "transform": "inv",
                "language": "x",
            },
            "options.litral: unknown key; did you mean 'literal'",
        ),
    ],
)
def test_mistakes_are_found_before_anything_runs(
    step: type[Step], arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Lab({"seeds": [1]}).make("one", step, **arguments).step.check()
