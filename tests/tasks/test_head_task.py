from __future__ import annotations

import json
from pathlib import Path

import pytest
from labelled_files import json_lines
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.tasks import build_task
from isoglot.tasks.head_task import HeadTask, model_labels


def test_tables_have_the_tags_and_labels_of_the_model(tmp_path: Path) -> None:
    tagged = json_lines(tmp_path / "ner.jsonl", {"words": ["a", "b"], "tags": ["B-LOC", "O"]})
    task = build_task("ner", [tagged])
    assert len(task.load("en", "test")) == 1
    task.know(["O", "B-PER", "I-PER"])
    with refused(ConfigurationError, "ner.jsonl", "'B-LOC'", "B-PER, I-PER, O"):
        task.load("en", "test")
    pairs = json_lines(tmp_path / "nli.jsonl", {"first": "a", "second": "b", "label": "neutral"})
    task = build_task("xnli", [pairs])
    assert task.load("en", "test")["label"][:] == ["neutral"]
    task.know(["LABEL_0", "LABEL_1", "LABEL_2"])
    with refused(ConfigurationError, "xnli: label 'neutral' ", "id2label, LABEL_0, LABEL_1, LABEL_2"):
        task.load("en", "test")


@pytest.mark.parametrize(
    ("names", "numbers", "message"),
    [
        ({0: "a", 1: "b", 2: "c"}, {"a": 2, "b": 1, "c": 0}, "'a' is 0 in id2label and 2 in label2id"),
        ({0: "a", 1: "b"}, {"a": 0, "b": 1, "c": 2}, "'c' is not there in id2label and 2 in label2id"),
        ({0: "a", 1: "a"}, None, "id2label names several outputs 'a'"),
        ({0: "a", 2: "b"}, None, "id2label numbers the outputs 0, 2, and they count from 0"),
    ],
)
def test_a_head_whose_labels_contradict_each_other_is_refused(
    encoder: Path, tmp_path: Path, names: dict[int, str], numbers: dict[str, int] | None, message: str
) -> None:
    task = build_task("xnli", [])
    assert isinstance(task, HeadTask)
    model = task.head(encoder, labels=list(names.values()), seed=1)
    model.save_pretrained(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    config |= {"id2label": names, "label2id": numbers}
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigurationError, match=f"{message}; correct its config.json"):
        task.trained(tmp_path / "model")
    config |= {"id2label": {0: "a", 1: "b"}, "label2id": {"LABEL_0": 0, "LABEL_1": 1}}
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    if len(names) == 2:
        assert model_labels(task.trained(tmp_path / "model")) == ["a", "b"]
