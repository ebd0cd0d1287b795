"""Every verb of the command line is a function too."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import altair as alt
import pytest
from datasets import Dataset

import isoglot as iso
from isoglot.cli.program import app
from isoglot.core.errors import ConfigurationError
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer

NOT_FUNCTIONS = {
    "recipes": "lists what iso.load_recipe reads",
    "demo": 'is iso.study("demo")',
    "world": "writes data for trying things out",
    "fit-order": "fits models for derive",
    "filter": "is iso.filter_pairs",
    "inspect": "is iso.inspect_recipe",
}
"""Commands without a function of their name."""


def test_every_command_has_a_function() -> None:
    commands = {c.name or str(getattr(c.callback, "__name__", "")) for c in app.registered_commands}
    commands |= {group.name or group.typer_instance.info.name for group in app.registered_groups}
    names = {str(name).replace("_", "-") for name in commands}
    lacking = {name for name in names if not callable(getattr(iso, name.replace("-", "_"), None))}
    assert lacking <= set(NOT_FUNCTIONS), lacking - set(NOT_FUNCTIONS)
    assert len(names) > 20


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    folder = tmp_path / "encoder"
    tiny_model("bert").save_pretrained(folder)
    tiny_tokenizer("bert").save_pretrained(folder)
    return folder


def test_an_encoder_is_tuned_packed_exported_and_begun_from(encoder: Path, tmp_path: Path) -> None:
    gold = [iso.SentencePair.of(["the", "river"], ["ta", "potamo"], sure=[(0, 0), (1, 1)])]
    iso.tune(encoder, gold, layers=[1, 2]).keep()
    packed = iso.pack(encoder, tmp_path / "aligner.safetensors")
    assert packed.is_file() and iso.align("the river", "ta potamo", model=packed).source == "the river"
    folder = iso.pack(packed, tmp_path / "unpacked")
    assert (folder / "config.json").is_file()
    with pytest.raises(ConfigurationError, match="`sentences` is for packing"):
        iso.pack(packed, tmp_path / "other", sentences=encoder)
    model, tokenizer = tiny_model("bert"), tiny_tokenizer("bert")
    for _ in range(2):  # the same object is the same export
        out = iso.export(model, tmp_path / "sentences", layer=2, tokenizer=tokenizer)
    assert (out / "modules.json").is_file()
    with pytest.raises(ConfigurationError, match="`to`: got"):
        iso.export(encoder, tmp_path / "other", to="tensorflow")
    rows = tiny_bitext(8)
    bitext = tmp_path / "en-xx.tsv"
    bitext.write_text("".join(f"{s}\t{t}\n" for s, t in zip(rows["source"], rows["target"], strict=True)))
    recipe = iso.init(bitext, tmp_path / "mine.yaml", model=encoder, languages="en,xx")
    assert iso.load_recipe(recipe).name == "mine"
    with pytest.raises(
        ConfigurationError, match="exists already; choose another name, or add overwrite=True"
    ):
        iso.init(bitext, recipe, model=encoder, languages=("en", "xx"))


def test_derive_writes_a_language_and_names_options_that_do_not_exist(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("the old house . a river .\n")
    settings: dict[str, Any] = {"languages": "en", "split_sentences": True, "seed": 3}
    done = iso.derive(tmp_path / "en.txt", tmp_path / "out", transform="trans+inv", **settings)
    assert (done.rows, done.language) == (2, "en-x-trans-inv")
    with pytest.raises(ConfigurationError, match="`transfrom`: unknown option; did you mean 'transform'"):
        iso.derive(tmp_path / "en.txt", tmp_path / "other", transform="inv", transfrom="inv")


def test_analyses_give_rows_and_charts(encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "lexicon.txt").write_text("river potamo\nhouse spiti\n")
    rows = iso.analyse(
        "alignment", encoder, out=tmp_path / "found", lexicon=str(tmp_path / "lexicon.txt"), languages="en,xx"
    )
    assert "alignment_score" in list(rows.to_frame()["metric"])
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"src": ["the", "river"], "tgt": ["ta", "potamo"], "sure": [[0, 0], [1, 1]]}\n' * 3)
    written = iso.analyse("layers", [encoder], out=tmp_path / "found", gold=(str(gold),))
    assert [path.name for path in written] == ["layers.json"]
    (chart,) = iso.figures(tmp_path / "found").values()
    assert isinstance(chart, alt.LayerChart | alt.Chart) and "var(--" not in chart.to_json()
    with pytest.raises(ConfigurationError, match="unknown analysis 'layer'; did you mean 'layers'"):
        iso.analyse("layer", encoder, out=tmp_path / "found")
    with pytest.raises(ConfigurationError, match="no figure; name a run's folder"):
        iso.figures(tmp_path / "found" / "results.jsonl")


@pytest.mark.slow
def test_transfer_takes_data_in_memory(tmp_path: Path) -> None:
    encoder = {"model": tiny_model("bert"), "tokenizer": tiny_tokenizer("bert")}
    topics = {"text": ["the old river", "a quiet horse"] * 8, "label": ["water", "animals"] * 8}
    other = {"text": ["ta potamo", "a hippos"] * 8, "label": ["water", "animals"] * 8}
    data = {
        code: {split: Dataset.from_dict(rows) for split in ("train", "dev")}
        for code, rows in (("en", topics), ("xx", other))
    }
    rows = iso.transfer(
        task="text_classification",
        languages="en,xx",
        data=data,
        out=tmp_path / "gap",
        epochs=1,
        preset="xtreme",
        **encoder,
    )
    assert [row.metric for row in rows] == [
        f"accuracy_{part}" for part in ("zero_shot", "supervised", "delta")
    ]
    assert set(rows.to_frame()["language"]) == {"xx"}


def test_studies_are_frames(tmp_path: Path) -> None:
    assert list(inspect.signature(iso.study).parameters)[:3] == ["names", "out", "scale"]
    with pytest.raises(ConfigurationError, match="weam/table9"):
        iso.study("weam/table9", out=tmp_path)


def test_options_are_given_one_by_one(encoder: Path, tmp_path: Path) -> None:
    result = iso.Result(run="a", task="pos", language="de", metric="f1", value=50.0, examples=3)
    page = iso.report(result, out=tmp_path / "page.html", title="Ours", baseline="a")
    assert "<title>Ours</title>" in page.read_text(encoding="utf-8")
    with pytest.raises(ConfigurationError, match="`titel`: unknown option; did you mean 'title'"):
        iso.report(result, out=page, titel="Ours")
    with pytest.raises(ConfigurationError, match="got options= and title; pass all of them in ReportOptions"):
        iso.report(result, out=page, options=iso.ReportOptions(), title="Ours")
    (tmp_path / "en.txt").write_text("the river\n")
    kept = iso.trim(encoder, tmp_path / "small", text=tmp_path / "en.txt", held_out=tmp_path / "en.txt")
    assert kept.held_out is not None and kept.held_out[1] == 0
    (tmp_path / "gold.txt").write_text("1-1 2-2\n")
    assert iso.score(["0-0 1-1"], tmp_path / "gold.txt", gold_base=1).aer == 0
    with pytest.raises(
        ConfigurationError, match="base: how a file of links is read, and links are in memory"
    ):
        iso.score(["0-0 1-1"], tmp_path / "gold.txt", base=1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"only": "3/2"}, "only=.3/2.: K/N is needed"),
        ({"engine": "slurm"}, "`engine`: got 'slurm'"),
        ({"seeds": -3}, "`seeds`: got -3; it should be greater than or equal to 0"),
        ({"seeds": 1, "sizes": {"seeds": 2}}, "`seeds`: the settings have them too"),
    ],
)
def test_options_of_a_study_are_refused_as_on_the_command_line(
    given: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        iso.study("weam/table2", out=tmp_path, **given)
