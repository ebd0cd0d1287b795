"""A lab makes what is asked of it once, takes cells, and says why something is not available."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_task import OWN_TASK

from isoglot.core.errors import ConfigurationError
from isoglot.studies.lab import Lab
from isoglot.studies.sizes import Setting, text_of_changes
from isoglot.studies.step import UnavailableError
from isoglot.studies.steps import SamplePairs
from isoglot.studies.training_steps import Evaluate, External, Pretrain, StudyTask
from isoglot.testing import tiny_model, tiny_tokenizer

SIZES = {"seeds": ([1, 2], [1], [1]), "steps": (10, 100, 1000), "text": (50, None, None)}
TASK = StudyTask("xnli", ["data/{language}.{split}.tsv"], ["de", "es"], train={"epochs": 2})


def test_sizes_are_of_the_scale_and_may_be_changed() -> None:
    lab = Lab(SIZES, scale="tiny", changes={"steps": 20})
    assert (lab.size, lab.seeds) == ({"seeds": [1, 2], "steps": 20, "text": 50}, [1, 2])
    assert lab.setting.paper_where_different == {"steps": 1000} and lab.setting.reported(lab.size) == {
        "steps": 20,
        "text": 50,
    }
    assert Lab(SIZES, scale="paper").setting.paper_where_different == {}
    assert [Lab(SIZES, scale=scale).at("t", "s", "p") for scale in ("tiny", "small", "paper")] == [
        "t",
        "s",
        "p",
    ]
    for seeds in (3, [], ["a"], [1.5], [1, 1], [-1]):
        with pytest.raises(ConfigurationError, match=r"seeds: got .*; different whole numbers"):
            Lab({"seeds": ([1], [1], [1])}, changes={"seeds": seeds})
    with pytest.raises(ConfigurationError, match="unknown size 'stepps'; did you mean 'steps'"):
        Lab(SIZES, changes={"stepps": 1})
    with pytest.raises(ConfigurationError, match="unknown scale 'papers'; did you mean 'paper'"):
        Lab(SIZES, scale="papers")


VARIANTS = {"literal": {"steps": (1, 2, 3)}, "authors": "no code was published"}


def test_a_variant_lies_over_the_scale_and_what_is_set_over_both() -> None:
    small = Setting.of(SIZES, VARIANTS, scale="small", changes={"variant": "literal"})
    assert (small.size["steps"], small.paper_where_different, small.variant) == (2, {"steps": 3}, "literal")
    assert text_of_changes(small.changes_of(small.size)) == "variant=literal"
    both = Setting.of(SIZES, VARIANTS, scale="paper", changes={"variant": "literal", "steps": 7, "text": [1]})
    assert both.size["steps"] == 7
    assert text_of_changes(both.changes_of(both.size)) == "variant=literal, steps=7, text=[1]"
    usual = Setting.of(
        SIZES, VARIANTS, scale="tiny", changes={"variant": "isoglot", "steps": 10, "seeds": (4,)}
    )
    assert (usual.size["variant"], usual.changes_of(usual.size), usual.changed) == (
        "isoglot",
        {},
        {"seeds": [4]},
    )
    assert usual.caption.startswith("Scale tiny, variant isoglot: isoglot's choices")
    assert Setting.of(SIZES, {}, scale="tiny").caption == "Scale tiny."
    for name, message in (
        ("authors", "variant=authors: no code was published; there is isoglot, literal"),
        ("litral", "unknown variant 'litral'; did you mean 'literal'"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            Setting.of(SIZES, VARIANTS, scale="tiny", changes={"variant": name})
    with pytest.raises(ConfigurationError, match="unknown size 'variant'"):
        Setting.of(SIZES, {}, scale="tiny", changes={"variant": "literal"})


def test_equal_steps_are_one_folder_and_results_say_what_they_were_read_from(tmp_path: Path) -> None:
    lab = Lab(SIZES, root=tmp_path)
    pairs = lab.make("pairs", SamplePairs, source="a", target="b")
    assert lab.make("again", SamplePairs, source="a", target="b").folder.name[-16:] == pairs.folder.name[-16:]
    encoder = lab.pretrain("tlm", "tlm", {"streams": {"bitext": {"path": pairs / "pairs.tsv"}}, "views": {}})
    assert isinstance(encoder.step, Pretrain) and encoder.step.label == "tlm"
    assert encoder.step.sections == {"streams": {"bitext": {"path": f"{pairs.folder}/pairs.tsv"}}}
    scores = lab.evaluate(encoder, TASK, trained_on="en", seed=3, setting="zero_shot")
    step = scores.work.step
    assert isinstance(step, Evaluate) and step.finetune is not None
    assert step.checkpoint == step.finetune.checkpoint == f"{encoder.folder}/checkpoint"
    assert (step.finetune.train, step.finetune.seed) == ({"epochs": 2, "setting": "zero_shot"}, 3)
    lab.notes.sources = []
    scores.value("de", "f1")
    scores.mean()
    assert [(source.work, source.metric) for source in lab.notes.sources] == [
        (scores.work, "de/f1"),
        (scores.work, "de/"),
        (scores.work, "es/"),
    ]
    with pytest.raises(UnavailableError, match="no data in this language at this scale"):
        scores.value("fr")
    other = lab.evaluate(encoder, TASK, trained_on="en", seed=4, setting="zero_shot")
    lab.keep = True
    again = External("another name", lab.checkpoint(encoder))
    kept = lab.evaluate(again, TASK, trained_on="en", seed=3, setting="zero_shot")
    assert kept.work.folder == scores.work.folder != other.work.folder, (
        "names and --keep are no part of the hash"
    )


def test_a_checkpoint_from_outside_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lab = Lab(SIZES, root=tmp_path)
    encoder = lab.external("mbert", "${CHECKPOINTS}/mbert")
    assert isinstance(encoder, External) and lab.checkpoint(encoder) == "${CHECKPOINTS}/mbert"
    tuned = lab.finetune(encoder, TASK, "en")
    assert tuned.step.label == "mbert" and tuned.title == "finetune mbert xnli en s1"
    monkeypatch.setattr("isoglot.studies.lab.find_spec", lambda name: None)
    with pytest.raises(UnavailableError, match="the tokenizer of xlm needs sacremoses"):
        lab.external("xlm", "${CHECKPOINTS}/xlm", module="sacremoses")
    with pytest.raises(UnavailableError, match="no TyDiQA here"):
        lab.evaluate(encoder, StudyTask("tydiqa", unavailable="no TyDiQA here"), trained_on="en")


def test_a_probe_of_ones_own_is_measured_in_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lengths_of_a_study.py").write_text(OWN_TASK)
    (tmp_path / "en.txt").write_text("a bc def ghij")
    monkeypatch.syspath_prepend(str(tmp_path))
    tiny_model("bert").save_pretrained(tmp_path / "encoder")
    tiny_tokenizer("bert").save_pretrained(tmp_path / "encoder")
    task = StudyTask(
        "lengths_of_a_study:Lengths", [f"{tmp_path}/{{language}}.txt"], ["en"], options={"longest": 1}
    )
    lab = Lab(SIZES, root=tmp_path / "out")
    encoder = External("encoder", str(tmp_path / "encoder"))
    lab.run(lab.evaluate(encoder, task).work)
    assert lab.evaluate(encoder, task).value("en") == 75


def test_settings_of_fine_tuning_without_a_language_to_train_on_are_refused(tmp_path: Path) -> None:
    lab = Lab(SIZES, root=tmp_path)
    with pytest.raises(ConfigurationError, match="xnli: give trained_on with epochs, or leave both out"):
        lab.evaluate(External("mbert", "mbert"), TASK, epochs=3)
