"""Layer and method of an aligner: chosen on gold links, kept beside the weights, read by every verb."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace

import pytest
import torch
from commands import invoke
from refusals import refused

import isoglot as iso
from isoglot.aligners.embedding import choice
from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.choice import CANDIDATES, keep_choice, kept_choice, kept_density
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.embedding.score_layers import best_choice
from isoglot.aligners.gold import gold_pairs
from isoglot.aligners.load_aligner import aligner_request
from isoglot.checkpoints.reading import ALIGNER_FILE
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.evaluation.evaluate import evaluate_checkpoint
from isoglot.evaluation.options import EvaluateOptions
from isoglot.formats.labelled.sources import DataSource
from isoglot.formats.sentence_pair import SentencePair
from isoglot.objectives.self_training import SelfTrainingObjective
from isoglot.runs.files import read_json
from isoglot.tasks.word_alignment import WordAlignmentTask
from isoglot.testing import tiny_model, tiny_tokenizer
from isoglot.training.export import export_encoder
from isoglot.training.model import AlignmentModel

WORDS = [
    (["the", "river", "is", "deep"], ["ta", "potamo", "bathy"]),
    (["a", "small", "house"], ["mikro", "spiti"]),
]


SHUFFLED = random.Random(1)


LONG = [
    tuple(SHUFFLED.choices([word for pair in WORDS for word in pair[side]], k=12) for side in (0, 1))
    for _ in range(8)
]


SOFTMAX = {"method": "softmax", "layer": 1, "compare": "cosine", "temperature": 0.1, "min_probability": 0.3}


@pytest.fixture
def encoder(tmp_path):
    folder = tmp_path / "encoder"
    tiny_model("bert").save_pretrained(folder)
    tiny_tokenizer("bert").save_pretrained(folder)
    return folder


@pytest.fixture
def gold(encoder, tmp_path):
    """What the encoder links at layer 2 by argmax, as gold links."""
    found = EmbeddingAligner(encoder, method="argmax", layer=2, dtype="float32").align_pairs(LONG)
    path = tmp_path / "dev.jsonl"
    rows = [
        {
            "id": str(n),
            "src": s,
            "tgt": t,
            "sure": [list(link) for link in links.links],
            "possible": [],
        }
        for n, ((s, t), links) in enumerate(zip(LONG, found, strict=True))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_the_layer_and_method_that_made_the_links_are_found(encoder, gold):
    tried = best_choice(encoder, {"dev": gold_pairs(gold)})
    assert tried[0].choice == {"method": "argmax", "layer": 2}
    assert {name: score.aer for name, score in tried[0].scores.items()} == {"dev": 0.0}
    errors = [one.aer for one in tried]
    assert errors == sorted(errors)
    assert len(tried) == len(CANDIDATES) * 4


def test_tune_keeps_the_choice_and_align_uses_it(encoder, gold, tmp_path):
    result = invoke("tune", encoder, "-g", gold)
    assert result.exit_code == 0, result.output
    assert f"{gold}: {len(LONG)} pairs" in result.stderr
    links = sum(len(row["sure"]) for row in map(json.loads, gold.read_text(encoding="utf-8").splitlines()))
    kept = {"method": "argmax", "layer": 2, "links_per_word": round(links / (12 * len(LONG)), 4)}
    assert json.loads((encoder / ALIGNER_FILE).read_text()) == kept
    assert kept_choice(encoder) == {"method": "argmax", "layer": 2}
    chosen = aligner_request(model=str(encoder)).options
    assert (chosen.method, chosen.layer) == ("argmax", 2)
    assert result.stdout.splitlines()[1].split() == ["0.00", "2", "argmax"]
    rates = ["0.00", "100.00", "100.00", f"{kept['links_per_word']:.2f}", str(gold)]
    assert result.stdout.splitlines()[-2].split() == rates
    found = iso.align("the river is deep", "ta potamo bathy", model=encoder, dtype="float32")
    expected = EmbeddingAligner(encoder, method="argmax", layer=2, dtype="float32").align_words(*WORDS[0])
    assert found.links == expected.links


@pytest.mark.slow
def test_sets_weigh_as_they_are_told(encoder, gold, tmp_path):
    """Two sets that want other layers: the heavier one has its way."""
    rows = [json.loads(line) for line in gold.read_text(encoding="utf-8").splitlines()]
    found = EmbeddingAligner(encoder, method="argmax", layer=0, dtype="float32").align_pairs(LONG)
    for row, links in zip(rows, found, strict=True):
        row["sure"] = [list(link) for link in links.links]
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for weights, layer in (((9, 1), 2), ((1, 9), 0)):
        named = [f"{path}={weight}" for path, weight in zip((gold, other), weights, strict=True)]
        result = invoke("tune", encoder, "-g", named[0], "-g", named[1])
        assert result.exit_code == 0, result.output
        assert kept_choice(encoder) == {"method": "argmax", "layer": layer}
        lines = {line.split()[-1]: float(line.split()[0]) for line in result.stdout.splitlines()[-3:-1]}
        mean = sum(lines[str(p)] * w for p, w in zip((gold, other), weights, strict=True)) / 10
        assert float(result.stdout.splitlines()[1].split()[0]) == pytest.approx(mean, abs=0.02)
    for wrong in ("0", "-1", "nan", "much"):
        result = invoke("tune", encoder, "-g", f"{gold}={wrong}")
        assert isinstance(result.exception, ConfigurationError)
        assert "a number above 0" in str(result.exception)


def test_a_set_with_few_links_is_named(encoder, gold, tmp_path):
    """Of one set the encoder links whole sentences, of the other pairs of which one side is short."""
    rows = [{"src": list("abcdefghijkl"), "tgt": ["the"], "sure": [[0, 0]], "possible": []}] * 3
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = invoke("tune", encoder, "-g", f"{gold}=9", "-g", other)
    assert result.exit_code == 0, result.output
    assert f"Warning: {other}: 0." in result.stderr and f"--gold {other}=3" in result.stderr


@pytest.mark.parametrize(
    ("density", "options", "warned"),
    [
        (9.0, (), True),
        (0.01, (), False),
        (None, (), False),
        (9.0, ("--layer", "1"), False),
        (9.0, ("-m", "itermax"), False),
    ],
)
def test_far_fewer_links_than_when_it_was_tuned_are_told(encoder, tmp_path, caplog, density, options, warned):
    keep_choice(encoder, {"method": "argmax", "layer": 2}, density=density)
    bitext = tmp_path / "pairs.txt"
    lines = [f"{' '.join(s)} ||| {' '.join(t)}\n" for s, t in LONG * 3]
    bitext.write_text("".join(lines), encoding="utf-8")
    arguments = [
        "align",
        str(bitext),
        "--model",
        str(encoder),
        "--out",
        str(tmp_path / "links.txt"),
        *options,
    ]
    assert invoke(*arguments).exit_code == 0
    assert ("links per word, and" in caplog.text and "9.00" in caplog.text) == warned
    bitext.write_text(lines[0], encoding="utf-8")
    caplog.clear()
    assert invoke(*arguments).exit_code == 0
    assert "links per word" not in caplog.text, "a sentence is too little to judge by"


def test_few_links_in_many_words_are_kept_as_a_number_above_zero(encoder):
    keep_choice(encoder, {"method": "argmax", "layer": 2}, density=0.00003)
    assert kept_density(encoder, EmbeddingOptions.build(**kept_choice(encoder))) == 0.00003


@pytest.mark.parametrize("density", ["many", -1, 0, [1]])
def test_links_per_word_that_are_no_number_are_named(encoder, density):
    (encoder / ALIGNER_FILE).write_text(json.dumps({"method": "argmax", "links_per_word": density}))
    with pytest.raises(
        ConfigurationError, match=rf"{ALIGNER_FILE}: links_per_word .*got {re.escape(repr(density))}"
    ):
        kept_choice(encoder)


def test_the_choice_holds_the_options_that_it_was_made_with(encoder, gold):
    how = {"dtype": "float32", "level": "word", "encode": "joint"}
    best, error, _ = best_choice(encoder, {"dev": gold_pairs(gold)}, **how)[0]
    assert (best["level"], best["encode"]) == ("word", "joint")
    assert "dtype" not in best
    keep_choice(encoder, best)
    task = WordAlignmentTask(DataSource([str(gold)]), aligner={"dtype": "float32"}).with_checkpoint(encoder)
    found, _ = task.measure(encoder, task.load("de-en", "test"), language="de-en")
    assert found["aer"] == error


def test_evaluate_uses_the_kept_choice_and_records_it(encoder, gold, tmp_path):
    (tmp_path / "de-en.test.jsonl").write_text(gold.read_text(encoding="utf-8"), encoding="utf-8")
    task = WordAlignmentTask(DataSource([str(tmp_path)]), aligner={"dtype": "float32"})

    def aer(task, **options):
        (row, *_) = evaluate_checkpoint(
            encoder, task, languages=["de-en"], options=EvaluateOptions(out=tmp_path / "rows.jsonl")
        )
        assert {**row.options, "aligner": None} == {"aligner": None, **options}
        return row.value

    before = aer(task)
    assert before > 0
    keep_choice(encoder, {"method": "argmax", "layer": 2})
    assert aer(task, method="argmax", layer=2) == 0
    keep_choice(encoder, {"method": "argmax", "layer": 0})  # chosen again: measured again
    assert aer(task, method="argmax", layer=0) > 0
    assert aer(replace(task, layer=2), method="argmax", layer=2) == 0
    (encoder / ALIGNER_FILE).unlink()
    assert aer(task) == before


def test_a_task_takes_what_is_kept_once(encoder, gold):
    """What is tuned after an evaluation began must not mix with what it began with."""
    task = WordAlignmentTask(DataSource([str(gold)]), aligner={"dtype": "float32"})
    rows, begun = task.load("de-en", "test"), task.with_checkpoint(encoder)
    before, _ = begun.measure(encoder, rows, language="de-en")
    keep_choice(encoder, {"method": "argmax", "layer": 2})
    assert begun.measure(encoder, rows, language="de-en")[0] == before
    assert (
        before["aer"] > 0 == task.with_checkpoint(encoder).measure(encoder, rows, language="de-en")[0]["aer"]
    )


def test_objectives_that_disagree_leave_the_choice_to_the_user(tmp_path, caplog):
    model = tiny_model("bert")
    for name, layers in (("one", (1, 1)), ("two", (1, 2))):
        objectives = {str(n): SelfTrainingObjective(model, layer=layer) for n, layer in enumerate(layers)}
        trained = AlignmentModel(model, objectives)
        export_encoder(trained, tmp_path / name, card={}, tokenizer=tiny_tokenizer("bert"))
    assert kept_choice(tmp_path / "one")["layer"] == 1
    assert kept_choice(tmp_path / "two") == {}
    assert "2 objectives were trained for different aligners" in caplog.text
    assert "isoglot tune" in caplog.text


def test_a_broken_file_is_named(encoder):
    (encoder / ALIGNER_FILE).write_text("[1", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=ALIGNER_FILE):
        aligner_request(model=str(encoder))


@pytest.mark.parametrize(
    ("choice", "named"),
    [
        ('{"method": "argmax", "treshold": 1}', "`treshold`"),
        ('{"method": "argmax", "layer": "x"}', "`layer`: got 'x'"),
        ('{"method": ["layer"]}', r"`method`: .*\['layer'\]"),
    ],
)
def test_a_wrong_option_in_the_file_is_named_with_it(encoder, choice, named):
    (encoder / ALIGNER_FILE).write_text(choice, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=rf"{ALIGNER_FILE}: {named}"):
        aligner_request(model=str(encoder))


def test_links_to_choose_by_are_needed(tmp_path):
    (tmp_path / "dev.jsonl").write_text('{"src": ["a"], "tgt": ["b"], "sure": []}\n', encoding="utf-8")
    with refused(ConfigurationError, "dev.jsonl: ", "sure link"):
        gold_pairs(tmp_path / "dev.jsonl")


def test_every_candidate_reads_the_same_states(encoder, gold, monkeypatch):
    calls, encode = [], EmbeddingAligner.encode

    def counted(self, *args, **kwargs):
        calls.append(self)
        return encode(self, *args, **kwargs)

    monkeypatch.setattr(EmbeddingAligner, "encode", counted)
    best_choice(encoder, {"dev": gold_pairs(gold)}, dtype="float32")
    assert len(calls) == 1


@pytest.mark.parametrize("name", ["layer", "method", "compare", "min_probability", "layers"])
def test_choice_of_layer_and_method_cannot_be_given_too(encoder, gold, name):
    """A layer was passed over; anything else ended in a traceback."""
    value = {"method": "argmax", "compare": "dot"}.get(name, "1")
    found = invoke("tune", encoder, "--gold", gold, "--set", f"{name}={value}")
    assert isinstance(found.exception, ConfigurationError)
    assert name in str(found.exception)


def test_a_choice_needs_a_folder():
    with refused(ConfigurationError, "some/hub-name", "hf download"):
        keep_choice("some/hub-name", SOFTMAX)


def test_statistical_links_stand_in_for_gold_ones(tmp_path, encoder):
    bitext = tmp_path / "pairs.txt"
    lines = [f"{' '.join(s)} ||| {' '.join(t)}" for s, t in WORDS] * 5
    bitext.write_text("\n".join(lines) + "\n", encoding="utf-8")
    folder = tmp_path / "aligned"
    arguments = ["align", str(bitext), "-m", "fast_align", "-q", "--format", "corpus", "--out", str(folder)]
    assert invoke(*arguments).exit_code == 0
    pairs = gold_pairs(folder, limit=4)
    assert [pair.words for pair in pairs] == [*WORDS, *WORDS]
    assert all(pair.sure == pair.possible for pair in pairs)
    assert gold_pairs(folder, limit=4, languages=("src", "tgt")) == pairs
    with refused(InputError, "from 'en' to 'de'; ", "src-tgt"):
        WordAlignmentTask(DataSource([str(folder)])).load("en-de", "test")
    with refused(ConfigurationError, "/aligned ", "folder", " base"):
        gold_pairs(folder, base=1)


@pytest.mark.parametrize("temperature", [0.05, 0.5])
def test_softmax_of_the_cosine_at_a_temperature_equals_loops(encoder, temperature):
    options = {"compare": "cosine", "temperature": temperature, "layer": 2, "dtype": "float32"}
    found = EmbeddingAligner(encoder, method="softmax", threshold=0.2, **options).align_words(*WORDS[0])
    model, tokenizer = tiny_model("bert").eval(), tiny_tokenizer("bert")
    states = []
    for words in WORDS[0]:
        encoded = tokenizer(" ".join(words), return_tensors="pt")
        with torch.no_grad():
            hidden = model(**encoded, output_hidden_states=True).hidden_states[2][0]
        states.append((hidden[1:-1], encoded.word_ids()[1:-1]))
    (source, source_words), (target, target_words) = states
    cosine = torch.nn.functional.cosine_similarity(source[:, None], target[None], dim=-1) / temperature
    forward, backward = cosine.softmax(1), cosine.softmax(0)
    expected = {
        (source_words[i], target_words[j])
        for i in range(len(source))
        for j in range(len(target))
        if forward[i, j] > 0.2 and backward[i, j] > 0.2
    }
    assert set(found.links) == expected


def test_links_without_words_cannot_be_aligned(tmp_path):
    (tmp_path / "gold.txt").write_text("0-0 1-1\n", encoding="utf-8")
    with refused(ConfigurationError, "gold.txt: ", "words"):
        gold_pairs(tmp_path / "gold.txt")


def test_a_task_measures_against_sure_links_of_a_file(tmp_path):
    possible = tmp_path / "en-xx.jsonl"
    possible.write_text(json.dumps({"src": ["a"], "tgt": ["b"], "sure": [], "possible": [[0, 0]]}) + "\n")
    with refused(ConfigurationError, "en-xx.jsonl: ", "sure link"):
        WordAlignmentTask(DataSource([str(possible)])).load("en-xx", "test")


def test_candidates_that_encode_otherwise_are_measured_as_they_encode(encoder, tmp_path):
    found = list(EmbeddingAligner(encoder, method="ot", layer=2, dtype="float32").align_pairs(LONG))
    gold = [SentencePair.of(*pair.words, sure=pair.links) for pair in found]
    tried = best_choice(
        encoder,
        {"dev": gold},
        candidates=[{"method": "argmax"}, {"method": "ot"}],
        dtype="float32",
    )
    assert (tried[0].choice["method"], tried[0].choice["layer"]) == ("ot", 2)
    assert tried[0].aer == 0 < tried[1].aer


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["some/hub-name"], "is not a folder"), (["ENCODER", "--set", "model=2"], "model")],
)
def test_tune_refuses_before_it_computes(encoder, gold, monkeypatch, arguments, message):
    monkeypatch.setattr("isoglot.aligners.embedding.score_layers.layer_errors", None)
    named = [str(encoder) if word == "ENCODER" else word for word in arguments]
    result = invoke("tune", *named, "-g", gold)
    assert isinstance(result.exception, ConfigurationError) and message in str(result.exception)
    assert not (encoder / ALIGNER_FILE).exists()


def test_an_aligner_of_a_folder_has_what_was_chosen_for_it(encoder):
    keep_choice(encoder, {"method": "softmax", "compare": "cosine", "min_probability": 0.25, "layer": 1})
    options = EmbeddingAligner(encoder).options
    assert (options.method, options.min_probability, options.layer) == ("softmax", 0.25, 1)
    assert EmbeddingAligner(str(encoder), min_probability=0.5).options.min_probability == 0.5
    named = EmbeddingAligner(encoder, method="softmax").options
    assert named == EmbeddingOptions.build(method="softmax"), "a method that is named has its own"
    loaded = EmbeddingAligner(tiny_model("bert"), tokenizer=tiny_tokenizer("bert")).options
    assert loaded.method == "itermax"


def test_a_choice_is_read_once_and_again_after_a_change(encoder, monkeypatch):
    keep_choice(encoder, {"method": "argmax", "layer": 1})
    reads = []
    monkeypatch.setattr(choice, "read_json", lambda file: reads.append(file) or read_json(file))
    first = kept_choice(encoder)
    first["layer"] = 7  # what a caller does with it stays with the caller
    assert kept_choice(encoder)["layer"] == 1 and len(reads) == 1
    keep_choice(encoder, {"method": "argmax", "layer": 2})
    assert kept_choice(encoder)["layer"] == 2 and len(reads) == 2
