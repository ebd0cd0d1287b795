from __future__ import annotations

import re
from pathlib import Path
from statistics import fmean, stdev

import pytest
from cli_outcome import Isoglot
from commands import invoke

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.evaluation.prediction_folders import prediction_folders
from isoglot.finetuning.options import FinetuneOptions
from isoglot.results.rows import read
from isoglot.tasks import TASKS, task_options
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer


def test_finetune_and_evaluate(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer("bert")
    tiny_model("bert", tokenizer=tokenizer).save_pretrained(tmp_path / "tiny")
    tokenizer.save_pretrained(tmp_path / "tiny")
    text = "\n".join("".join(f"en:{w}\tO\n" for w in s.split()) for s in tiny_bitext(8)["source"])
    for split in ("train", "dev", "test"):
        (tmp_path / f"en-{split}.txt").write_text(text.replace("O\n", "B-PER\n", 1))
    data = str(tmp_path / "{language}-{split}.txt")
    done = invoke("finetune", tmp_path / "tiny", "--task", "ner", "--data", data, "--out",
                            str(tmp_path / "ner"), "--epochs", "1", "--seed", "1,2", "--set", "batch_size=4",
                            "--set", "overlap=2")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert (tmp_path / "ner" / "seed-2" / "manifest.json").is_file()
    out = tmp_path / "results.jsonl"
    folders = [str(tmp_path / "ner" / f"seed-{n}") for n in (1, 2)]
    done = invoke("evaluate", *folders, "--task", "ner", "--languages", "en", "--data", data,
                            "--out", str(out), "--name", "ner_x")  # fmt: skip
    first = done
    done = invoke("evaluate", *folders, "--task", "ner", "--languages", "en", "--data", data, "--out",
                            str(out), "--predictions", str(tmp_path / "predictions"))  # fmt: skip
    assert done.exit_code == 0, done.output
    assert (tmp_path / "predictions" / "seed-2" / "panx" / "test-en.tsv").is_file()
    done = first
    assert done.exit_code == 0, done.output
    values = [r.value for r in read(out) if (r.task, r.metric) == ("ner_x", "f1")]
    lines = [line.split() for line in done.output.splitlines()]
    assert ["tiny", "(2", "seeds)", f"{fmean(values):.1f}", f"±{stdev(values):.1f}"] in lines
    assert {(r.task, r.seed) for r in read(out)} == {("ner_x", 1), ("ner_x", 2), ("ner", 1), ("ner", 2)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "nrr"], "did you mean 'ner'"),
        (["--task", "ner", "--preset", "xtrem"], "did you mean 'xtreme'"),
        (["--task", "ner", "--set", "learningrate=1"], "did you mean 'learning_rate'"),
        (["--task", "ner", "--seed", "a"], "--seed: got 'a'"),
        (
            ["--task", "ner", "--epochs", "0"],
            "--epochs: got 0.0; it should be greater than 0",
        ),
        (["--task", "ner", "--set", "words=written"], "fine-tuning on ner has no setting 'words'"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, arguments: list[str], message: str) -> None:
    given = ["finetune", "nowhere", "--data", "x", "--out", str(tmp_path / "o"), *arguments]
    done = invoke(*given)
    assert isinstance(done.exception, ConfigurationError)
    assert message in str(done.exception)
    assert not (tmp_path / "o").exists()


def test_tasks_are_listed_with_the_meaning_of_every_option() -> None:
    for command in ("finetune", "evaluate"):
        done = invoke(command, "--tasks")
        assert done.exit_code == 0
        assert max(map(len, done.output.splitlines())) <= 80
        entries = re.split(r"\n(?=    ?\S)|\n\n", done.output)
        told = {match[1]: match[2] for e in entries if (match := re.match(r"    (\w+)=\S*\s\s(.+)", e))}
        names = {option for task in TASKS for option in task_options(task).model_fields} - {"name"}
        settings = set(FinetuneOptions.model_fields) if command == "finetune" else set()
        assert set(told) >= names | settings
    assert "untranslated=drop  Drop rows" in done.output and re.search(
        r"ner: .*\n.*Presets: xtreme", done.output
    )


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "en.tsv").write_text("en:a\tO\nen:b\n")
    tokenizer = tiny_tokenizer("bert")
    tiny_model("bert", tokenizer=tokenizer).save_pretrained(tmp_path / "tiny")
    tokenizer.save_pretrained(tmp_path / "tiny")
    given = ["finetune", str(tmp_path / "tiny"), "--task", "ner", "--data", f"train={tmp_path}/en.tsv", "--set",
             "select=last", "--out", str(tmp_path / "o")]  # fmt: skip
    done = invoke(*given)
    assert isinstance(done.exception, InputError)
    assert f"{tmp_path}/en.tsv:2: " in str(done.exception)
    assert not (tmp_path / "o").exists(), "nothing is left behind"


def test_one_process_evaluates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    done = invoke("evaluate", tmp_path, "-t", "ner", "-l", "de", "-d", "x")
    assert "without torchrun" in str(done.exception)


def test_an_adapter_that_is_not_there_cannot_be_kept(isoglot: Isoglot, tmp_path: Path) -> None:
    (tmp_path / "en.tsv").write_text("a\tDET\n")
    data = ("--data", f"train={tmp_path}/en.tsv", "--out", tmp_path / "out")
    found = isoglot("finetune", tmp_path, "--task", "pos", *data, "--keep-adapter")
    assert found.returncode == 2 and "add --set 'adapter={type: lora, rank: 8}'" in " ".join(
        found.stderr.split()
    )
    assert not (tmp_path / "out").exists()


def test_a_folder_of_predictions_is_called_as_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = Path("p")
    for others in (["runs/b"], ["/elsewhere/seed-2"], ["org/name", "c"]):
        assert prediction_folders(["runs/a/checkpoint", *others], out)[0] == out / "runs/a"
    assert prediction_folders([str(tmp_path / "runs/a"), "/x/b"], out) == [out / "runs/a", out / "b"]
    assert prediction_folders(["runs/a"], out) == [out]
    sweep = [f"/x/lr/learning_rate={rate}/seed-1/checkpoint" for rate in (0.1, 0.01)]
    assert prediction_folders(sweep, out) == [out / f"learning_rate={rate}/seed-1" for rate in (0.1, 0.01)]
    with pytest.raises(ConfigurationError, match="both go to p/seed-1"):
        prediction_folders(["/x/a/seed-1", "/x/b/seed-1"], out)
