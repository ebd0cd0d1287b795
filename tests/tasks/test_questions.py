from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from datasets import Dataset
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.formats.labelled.questions import read_questions
from isoglot.formats.labelled.tags import read_tags
from isoglot.formats.schema import SPAN
from isoglot.tasks import build_task
from isoglot.tasks.questions import _cut, _first_answer, _positions
from isoglot.tasks.spans import Window
from isoglot.testing import tiny_model, tiny_tokenizer


def test_long_contexts_are_read_whole_and_answers_found_again() -> None:
    tokenizer = tiny_tokenizer("bert")
    context = " ".join(f"the river mountain {i}" for i in range(30)) + " captain"
    start = context.index("captain")
    row = {"id": ["1"], "question": [" who? "], "context": [context],
           "answers": [{"text": ["captain"], "start": [start]}], "language": ["en"]}  # fmt: skip
    data = Dataset.from_dict(row, features=SPAN)
    task = build_task("xquad", [], max_length=40, stride=8, max_question_length=8)
    model = tiny_model("bert", tokenizer=tokenizer)
    rows = task.encode(data, tokenizer, model, training=True)
    assert len(rows) > 3
    covered = {c for row in rows for a, b in row.detail.offsets.tolist() for c in range(a, b)}
    assert covered == {i for i, c in enumerate(context) if c != " "}
    outputs = []
    for item in (row.inputs for row in rows):
        scores = np.full((2, len(item["input_ids"])), -5.0)
        scores[0, item["start_positions"]] = scores[1, item["end_positions"]] = 5.0
        outputs.append(scores)
    assert task.decode(data, rows, outputs) == {"1": "captain"}
    assert sum(row.inputs["start_positions"] > 0 for row in rows) >= 1


def test_windows_share_or_advance_by_the_stride() -> None:
    tokenizer = tiny_tokenizer("bert")
    texts = [" ".join(f"the river mountain {i}" for i in range(n)) for n in (30, 9, 21)]
    rows = {"id": ["1", "2", "3"], "question": ["who?", "the river and the captain?", "who?"], "context": texts,
            "answers": [{"text": ["river"], "start": [4]}] * 3, "language": ["en"] * 3}  # fmt: skip
    data = Dataset.from_dict(rows, features=SPAN)
    model = tiny_model("bert", tokenizer=tokenizer)
    for windows in ("share", "advance"):
        task = build_task("xquad", [], max_length=40, stride=8, max_question_length=8, windows=windows)
        found = task.encode(data, tokenizer, model, training=False)
        examples = [row.example for row in found]
        assert examples == sorted(examples)
        for number, (question, text) in enumerate(zip(data["question"], texts, strict=True)):
            pieces = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
            room = 40 - 3 - min(8, len(tokenizer(question, add_special_tokens=False)["input_ids"]))
            expected, start = [], 0
            while (
                not expected or expected[-1][-1] != pieces[-1]
            ):  # BERT's loop: the next starts stride pieces on
                expected.append(pieces[start : start + room])
                start += 8 if windows == "advance" else room - 8
            own = [row.detail.offsets.tolist() for row in found if row.example == number]
            assert [list(map(tuple, offsets)) for offsets in own] == expected
    with refused(ConfigurationError, "windows: ", "'step'", "advance, share"):
        build_task("xquad", [], windows="step")


def test_questions_of_one_id_are_refused_where_they_are_scored() -> None:
    tokenizer = tiny_tokenizer("bert")
    model = tiny_model("bert", tokenizer=tokenizer)
    row = {"id": "1", "question": "who ?", "context": "the dog", "language": "en",
           "answers": {"text": ["dog"], "start": [4]}}  # fmt: skip
    data = Dataset.from_list([row, {**row, "context": "the old dog"}], features=SPAN)
    task = build_task("squad", [], max_length=32, stride=4, max_question_length=8)
    with refused(ConfigurationError, "squad: 1 ids ('1'"):
        task.encode(data, tokenizer, model, training=False)
    assert len(task.encode(data, tokenizer, model, training=True)) == 2


def test_three_letters_name_the_same_language(tmp_path: Path) -> None:
    row = {"id": "1", "question": "q", "context": "das Haus", "language": "de",
           "answers": {"text": ["Haus"], "start": [4]}}  # fmt: skip
    data = Dataset.from_list([row], features=SPAN)
    for name in ("mlqa", "xquad"):
        task = build_task(name, [])
        assert task.score(data, {"1": "das Haus"}, language="deu") == task.score(
            data, {"1": "das Haus"}, language="de"
        )
    qas = [{"id": "finnish-1", "question": "q", "answers": []}]
    document = {"data": [{"paragraphs": [{"context": "c", "qas": qas}]}]}
    (tmp_path / "tydi.json").write_text(json.dumps(document))
    assert len(read_questions(tmp_path / "tydi.json", language="fin")) == 1
    lines = ["1-2\tdel\t_\t_\t_\t_\t_\t_\t_\t_", "1\tde\tde\tADP\t_\t_\t0\troot\t_\t_",
             "2\tel\tel\tDET\t_\t_\t0\troot\t_\t_", "3\tno\tno\tADV\t_\t_\t0\troot\t_\t_"]  # fmt: skip
    (tmp_path / "es.conllu").write_text("\n".join(lines) + "\n\n")
    own, same = (read_tags(tmp_path / "es.conllu", language=c, surface=True)["tags"] for c in ("es", "spa"))
    assert own == same


def test_an_answer_is_labelled_in_the_windows_that_hold_all_of_it() -> None:
    window = Window(first=5, offsets=np.array([[10, 13], [14, 18], [19, 25]], np.int32), null=0)
    assert _positions(window, (14, 18)) == (6, 6)
    assert _positions(window, (11, 20)) == (5, 7), "a part of a token counts as the token"
    assert _positions(window, (8, 13)) == (0, 0), "it begins before the window"
    assert _positions(window, (19, 30)) == (0, 0), "it ends after the window"
    for answer in (None, (-1, 4)):
        assert _positions(window, answer) == (0, 0)
    assert _first_answer({"text": ["Haus", "das Haus"], "start": [4, 0]}) == (4, 8)
    assert _first_answer({"text": [], "start": []}) is None


def test_spaces_around_an_answer_do_not_count() -> None:
    tokenizer = tiny_tokenizer("bert")
    model = tiny_model("bert", tokenizer=tokenizer)
    task = build_task("squad", [], max_length=32, stride=4, max_question_length=8)
    characters = {" the": (1, 4), " dog ": (5, 8), "barks ": (9, 14), " the dog barks ": (1, 14)}
    rows = []
    for answer in characters:
        context = " the dog barks "
        row = {"id": answer, "question": "who ?", "context": context, "language": "en"}
        rows.append({**row, "answers": {"text": [answer], "start": [context.index(answer)]}})
    encoded = task.encode(Dataset.from_list(rows, features=SPAN), tokenizer, model, training=True)
    labelled = []
    for row in encoded:
        offsets, first = row.detail.offsets, row.detail.first
        begin, end = row.inputs["start_positions"] - first, row.inputs["end_positions"] - first
        labelled.append((offsets[begin, 0], offsets[end, 1]))
    assert labelled == list(characters.values())


def test_a_question_is_cut_in_its_text() -> None:
    tokenizer = tiny_tokenizer("bert")
    texts, lengths = _cut(["the river and the mountain", "the river"], tokenizer, 3)
    assert lengths == [3, len(tokenizer.tokenize("the river"))]
    assert texts[1] == "the river"
    assert "the river and the mountain".startswith(texts[0])
    assert len(tokenizer.tokenize(texts[0])) == 3


def test_options_that_leave_no_room_for_a_context_are_refused() -> None:
    row = {"id": ["1"], "question": ["who?"], "context": ["the river"],
           "answers": [{"text": ["river"], "start": [4]}], "language": ["en"]}  # fmt: skip
    tokenizer = tiny_tokenizer("bert")
    task = build_task("xquad", [], max_length=32, stride=16, max_question_length=16)
    with refused(ConfigurationError, "max_length 32 ", "stride", "max_question_length", "35"):
        task.encode(
            Dataset.from_dict(row, features=SPAN),
            tokenizer,
            tiny_model("bert", tokenizer=tokenizer),
            training=False,
        )


def test_questions_without_a_span_are_left_out_of_training_alone() -> None:
    rows = {"id": ["1", "2"], "question": ["who?"] * 2, "context": ["the river"] * 2,
            "answers": [{"text": ["lake"], "start": [-1]}, {"text": [], "start": []}],
            "language": ["en"] * 2}  # fmt: skip
    data, tokenizer = Dataset.from_dict(rows, features=SPAN), tiny_tokenizer("bert")
    task, model = build_task("squad", []), tiny_model("bert", tokenizer=tokenizer)
    (learned,) = task.encode(data, tokenizer, model, training=True)
    assert learned.example == 1, "no answer is an answer"
    found = task.encode(data, tokenizer, model, training=False)
    assert [row.example for row in found] == [0, 1]
    assert all(row.inputs["start_positions"] == row.inputs["end_positions"] == 0 for row in found)
