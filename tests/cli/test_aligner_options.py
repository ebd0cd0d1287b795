"""`align_many` and `isoglot align` take the same options, and refuse the same, in the same words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli_outcome import Isoglot
from commands import COMMANDS

import isoglot as iso
from isoglot.aligners.options import aligner_options
from isoglot.cli.spelling import FlagSpelling
from isoglot.core.errors import ConfigurationError
from isoglot.testing import tiny_bitext

ROWS = tiny_bitext(30)
PAIRS = [*zip(ROWS["source"], ROWS["target"], strict=True)]
CASES: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    ({"lowercase": True}, "--lowercase"),
    ({"iterations": 2}, "--set iterations=2"),
    ({"symmetrisation": "union"}, "--symmetrise union"),
    ({"symmetrisation": "forward"}, "--symmetrisation forward"),
    ({"symmetrisation": "unionn"}, "--symmetrisation unionn"),
    ({"symmetrisation": "agreement", "threshold": 0.9}, "--symmetrise agreement --set threshold=0.9"),
    ({"symmetrisation": "union", "threshold": 0.01}, "--symmetrise union --set threshold=0.01"),
    ({"symmetrisation": "union", "threshold": 0.99}, "--symmetrise union --set threshold=0.99"),
    ({"threshold": 0.99}, "--set threshold=0.99"),
    ({"threshold": 1.5}, "--set threshold=1.5"),
    ({"min_probability": 0.6}, "--min-probability 0.6"),
    ({"min_score": 0.6}, "--min-score 0.6"),
    ({"min_score": 6.0}, "--min-score 6"),
    ({"any_language": True}, "--any-language"),
    ({"layer": 3}, "--layer 3"),
    ({"train_on": "pairs.tsv"}, "--train-on pairs.tsv"),
    ({"train_on": [Path("pairs.tsv")]}, "--train-on pairs.tsv"),
    ({"lexicon": "lexicon.tsv", "save": "model"}, "--lexicon lexicon.tsv --save model"),
    ({"kind": "hmm"}, "--set kind=hmm"),
    ({"lowercas": True}, "--set lowercas=true"),
]


def by_python(**options: Any) -> list[str] | str:
    """The links of the pairs, or the refusal with the command's flags."""
    try:
        return [
            pair.to_pharaoh() for pair in iso.align_many(PAIRS, words="whitespace", progress=False, **options)
        ]
    except ConfigurationError as error:
        error.spelling = FlagSpelling(COMMANDS[("align",)])
        return str(error)


def by_command(isoglot: Isoglot, *flags: str) -> list[str] | str:
    """The links that the command prints, or its refusal."""
    done = isoglot("align", "pairs.tsv", "--quiet", *flags)
    refusal = done.stderr.rpartition("isoglot: ")[2].strip()
    return refusal if done.returncode else done.stdout.splitlines()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    return tmp_path


@pytest.mark.fast_variants(1)
@pytest.mark.parametrize("method", ["hmm", "fast_align", "eflomal"])
def test_a_method_that_learns_has_the_same_options_at_both_doors(isoglot: Isoglot, method: str) -> None:
    for options, flags in CASES:
        expected = by_command(isoglot, "--method", method, *flags.split())
        assert by_python(method=method, **options) == expected, options
    if method != "eflomal":
        assert Path("lexicon.tsv").stat().st_size and Path("model/model.json").is_file()


def test_a_saved_model_has_the_same_options_at_both_doors(isoglot: Isoglot) -> None:
    assert by_python(method="hmm", save="model", symmetrisation="union") != []
    for options, flags in [*CASES, ({"method": "hmm"}, "--method hmm"), ({"method": "ot"}, "--method ot")]:
        here = {
            name: value.replace("model", "copy") if name == "save" else value
            for name, value in options.items()
        }
        typed = flags.replace("--save model", "--save copy").split()
        assert by_python(model="model", **here) == by_command(isoglot, "--model", "model", *typed), options


def test_a_threshold_that_nothing_reads_is_refused_by_the_class_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"method fast_align is read by grow-diag-final-and"):
        iso.StatisticalAligner(threshold=0.5)
    trained = iso.StatisticalAligner().fit_words([["a"]], [["b"]])
    trained.save(tmp_path / "model")
    assert iso.StatisticalAligner.load(tmp_path / "model").threshold == 0.3
    changed = iso.StatisticalAligner.load(tmp_path / "model", symmetrisation="agreement", threshold=0.9)
    assert changed.threshold == 0.9
    with pytest.raises(ConfigurationError, match=r"model is read by union; leave the threshold out"):
        iso.StatisticalAligner.load(tmp_path / "model", symmetrisation="union", threshold=0.9)


def test_tags_of_models_are_no_options() -> None:
    assert "kind" not in aligner_options()
    assert {"threshold", "lowercase", "layer", "program", "links", "load"} <= aligner_options()


def test_a_file_of_links_has_one_name(isoglot: Isoglot, tmp_path: Path) -> None:
    tree = "1\tOld\told\tADJ\t_\t_\t2\tx\t_\t_\n2\tbirds\tbird\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    Path("en.conllu").write_text(tree)
    Path("de.txt").write_text("Alte Voegel\n")
    Path("links").write_text("0-0 1-1\n")
    call: dict[str, Any] = {"target_language": "de", "progress": False}
    with pytest.raises(ConfigurationError, match="give a file of links as links_file=FILE"):
        iso.project("en.conllu", "de.txt", "o.tsv", links="does/not/exist", **call)
    with pytest.raises(ConfigurationError, match=r"`foo`: unknown option; known: .*\blinks_file\b") as caught:
        iso.project("en.conllu", "de.txt", "o.tsv", foo=1, **call)
    assert "kind, " in str(caught.value), "the kind of labels is an option of project"
    counts = iso.project("en.conllu", "de.txt", "o.tsv", links_file="links", **call)
    assert counts.summary().startswith("1 example, 1 written")
    for flag in ("--links", "--links-file"):
        assert isoglot("project", "en.conllu", "de.txt", flag, "links", "-o", flag).returncode == 0
        assert Path(flag).read_bytes() == Path("o.tsv").read_bytes()


@pytest.mark.parametrize("name", ["candidates", "tokenizer", "with_best"])
def test_tune_refuses_an_option_that_it_gives_itself(isoglot: Isoglot, name: str) -> None:
    Path("gold.jsonl").write_text('{"src": ["a"], "tgt": ["b"], "sure": [[0, 0]]}\n')
    Path("encoder").mkdir()
    Path("encoder/config.json").write_text("{}")
    refused = isoglot("tune", "encoder", "--gold", "gold.jsonl", "--set", f"{name}=1")
    assert refused.returncode == 2
    assert f"--set {name}: this command gives it itself" in refused.stderr
