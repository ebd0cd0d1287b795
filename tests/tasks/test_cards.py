from __future__ import annotations

import json
from pathlib import Path

from isoglot.runs.folder import hash_checkpoint
from isoglot.tasks.cards import TASK_FILE, measured_hash, origin, seed_of


def test_a_checkpoint_is_called_as_its_run(encoder: Path, tmp_path: Path) -> None:
    assert origin(encoder)["run"] == "tiny"
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    place = tmp_path / "runs" / "mine" / "checkpoint"
    place.symlink_to(encoder)
    assert origin(place)["run"] == "mine", "the run's folder, not checkpoint"
    (place.parent / "run.json").write_text(json.dumps({"name": "tlm", "recipe_hash": "ab", "seed": 2}))
    assert seed_of(place, origin(place)) == 2
    (place.parent / "manifest.json").write_text(json.dumps({"seed": "of another program"}))
    assert seed_of(place, origin(place)) is None
    (place.parent / "manifest.json").unlink()
    assert origin(place) == {"run": "tlm", "pretrained_hash": hash_checkpoint(encoder), "recipe_hash": "ab"}


def test_a_fine_tuned_model_says_what_it_was_made_from(tmp_path: Path) -> None:
    card = {"run": "tlm", "task": "pos", "pretrained_hash": "ab", "seed": 3}
    (tmp_path / TASK_FILE).write_text(json.dumps(card))
    assert origin(tmp_path) == card
    assert seed_of(tmp_path, card) == 3
    assert measured_hash(tmp_path, card) == hash_checkpoint(tmp_path) != "ab"


def test_a_model_of_the_hub_goes_by_its_name() -> None:
    about = origin("some/model")
    assert about["run"] == "some/model"
    assert seed_of("some/model", about) is None
    assert measured_hash("some/model", about) == origin("some/model")["pretrained_hash"]
    assert about["pretrained_hash"] != origin("other/model")["pretrained_hash"]
