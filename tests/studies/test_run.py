from __future__ import annotations

import json
from pathlib import Path

import pytest
from study_world import TEXT, write_study_file

from isoglot.errors import ConfigurationError
from isoglot.results import read
from isoglot.studies.check import check_plan
from isoglot.studies.file import find_studies, load_study
from isoglot.studies.plan import Plan, build_plan
from isoglot.studies.run import run_study
from isoglot.studies.store import UNIT, Store
from isoglot.studies.table import study_tables, write_study


def plan_of(folder: Path, *settings: str, text: str = TEXT) -> Plan:
    return build_plan(load_study(write_study_file(folder, text), "tiny", settings))


def test_a_study_from_nothing_to_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    plan, out = plan_of(tmp_path, "seeds=[1]"), tmp_path / "out"
    first = run_study(plan, out, part=(1, 2))
    assert first.made == {"data": 3, "pretrain": 1, "finetune": 2, "evaluate": 2, "analyse": 1}
    half = study_tables(plan, out)[0]
    assert [c.text for c in half.rows[3].cells] == ["…", "…", "…"]  # ALIGN-MLM is the other part
    assert all(c.value is not None for c in half.rows[0].cells)

    second = run_study(plan, out)
    assert second.made == {"pretrain": 1, "finetune": 2, "evaluate": 2}
    assert second.found == 3
    assert run_study(plan, out).made == {}

    tables, folder = write_study(plan, out)
    supervised, zero_shot, delta = (cell.value for cell in tables[0].rows[3].cells)
    assert supervised is not None and zero_shot is not None and delta == pytest.approx(supervised - zero_shot)
    rows = {(r.run, r.metric): r.value for r in read(folder)}
    assert rows["align_mlm dictionary=0.25", "f1_delta"] == pytest.approx(delta)
    assert ("mlm", "alignment_score") in rows
    assert tables[1].rows[0].cells[0].value == rows["mlm", "alignment_score"]
    assert "| **ALIGN-MLM / trans+inv** |" in (folder / "table.md").read_text(encoding="utf-8")

    store = Store(out)
    tuned = next(u for u in plan.units() if u.kind == "finetune")
    assert not store.is_done(tuned)  # its weights are gone, and nobody asks for them
    leaf = next(u for u in plan.leaves() if tuned in u.needs)
    before = store.manifest(leaf)
    (store.folder(leaf) / UNIT).unlink()
    again = run_study(plan, out)
    assert again.made == {"finetune": 1, "evaluate": 1}
    assert before is not None and store.manifest(leaf)["values"] == before["values"]  # type: ignore[index]


def test_one_bad_unit_leaves_the_others(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path, "seeds=[1]", "tables.table3.rows=[]", text=TEXT.replace("en.train.txt]", "no.txt]")
    )
    done = run_study(plan, tmp_path / "out")
    assert done.made == {"data": 1}
    assert "tokenizer" in done.failed
    cells = study_tables(plan, tmp_path / "out")[1].rows[0].cells
    assert [c.text for c in cells] == ["…"]


def test_an_unfinished_piece_of_data_is_made_anew(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "seeds=[1]")
    store = Store(tmp_path / "out")
    english = next(u for u in plan.units() if u.name == "english")
    folder = store.folder(english)
    folder.mkdir(parents=True)
    (folder / "left.txt").write_text("half")
    broken = TEXT.replace("vocab_size: 150", "vocab_size: 3")
    run_study(plan_of(tmp_path, "seeds=[1]", text=broken), tmp_path / "out")
    assert not (folder / "left.txt").exists()
    assert (folder / "text" / "en.train.txt").is_file()
    assert json.loads((folder / UNIT).read_text())["key"] == english.key


def test_a_plan_is_checked_without_running(tmp_path: Path) -> None:
    found = check_plan(plan_of(tmp_path), tmp_path / "out")
    assert len(found.units) == 4 + 3 + 8 + 8 + 2
    assert found.missing == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("hidden_size: 16", "hiden_size: 16", "hidden_size"),
        ("share: <dictionary>", "shar: <dictionary>", "did you mean 'share'"),
        ("train: {epochs: 1, select: last}", "train: {epoch: 1}", "did you mean 'epochs'"),
        ("type: alignment_score", "type: aligment_score", "did you mean 'alignment_score'"),
        ("task: pos\n", "task: poss\n", "did you mean 'pos'"),
    ],
)
def test_mistakes_are_found_before_anything_runs(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check_plan(plan_of(tmp_path, text=TEXT.replace(old, new)), tmp_path / "out")


def test_parts_out_of_range_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="k of n"):
        run_study(plan_of(tmp_path), tmp_path / "out", part=(3, 2))


@pytest.mark.slow
def test_every_system_of_align_mlm_runs_under_syntax(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two steps of each, on the studies that come with isoglot: trees of all tasks, folded language embeddings."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    small = ["seeds=[1]", "values.steps=2", "values.warmup=0", "values.vocabulary=300", "values.batch=4",
             "values.half_batch=2", "data.english.text=200", "data.english.dev=6"]  # fmt: skip
    small += [f"data.english.{kind}=20" for kind in ("pos", "ner", "nli")]
    small += [f"tasks.{task}.train.epochs=1" for task in ("pos", "ner", "xnli")]
    names = ("MLM", "XLM", "DICT-MLM", "ALIGN-MLM")
    rows = ", ".join(f"{{paper: {name} / trans+syn}}" for name in names)
    columns = "[xnli.sup, ner.zs, pos.zs]"
    wanted = [f"tables.table3.rows=[{rows}]", f"tables.table3.columns={columns}"]
    table3 = build_plan(load_study(find_studies(["align_mlm/table3"])[0], "tiny", [*small, *wanted]))
    done = run_study(table3, tmp_path)
    assert done.failed == {}
    assert (done.made["pretrain"], done.made["evaluate"]) == (4, 12)
    ours = [row for row in study_tables(table3, tmp_path)[0].rows if row.kind == "ours"]
    assert all(cell.value is not None for row in ours for cell in row.cells)
    rows = ", ".join(f"{{paper: {name} / trans+syn}}" for name in ("xlm", "align_mlm"))
    wanted = [f"tables.table8.rows=[{rows}]", "tables.table8.columns=[alignment]"]
    table8 = build_plan(load_study(find_studies(["align_mlm/table8"])[0], "tiny", [*small, *wanted]))
    assert run_study(table8, tmp_path).made == {"analyse": 2}  # the runs are those of Table 3
    folded = list((tmp_path / "pretrain").glob("xlm*/folded/config.json"))
    assert len(folded) == 1
