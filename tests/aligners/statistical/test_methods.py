from __future__ import annotations

import json

import numpy as np
import pytest
from repeated_bitext import SOURCE, TARGET, bitext, equal, save_without_list
from safetensors.numpy import load_file, save_file
from small_bitext import words

from isoglot.aligners.statistical import decoding, hmm, hmm_training, ibm2
from isoglot.aligners.statistical.bitext import Vocabulary
from isoglot.aligners.statistical.merging import merge
from isoglot.aligners.statistical.methods import METHODS
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.core.errors import InputError


@pytest.mark.parametrize("method", METHODS)
def test_training_text_is_aligned_as_in_training_after_save_and_load(method, tmp_path):
    aligner = StatisticalAligner(method, lowercase=True)
    trained = aligner.fit_words(words(SOURCE), words(TARGET)).tables(words(SOURCE), words(TARGET))
    equal(aligner.tables(words(SOURCE), words(TARGET)), trained)
    aligner.save(tmp_path / "model")
    loaded = StatisticalAligner.load(tmp_path / "model")
    equal(loaded.tables(words(SOURCE), words(TARGET)), trained)
    assert loaded.options == aligner.options
    assert loaded.model.digest() == aligner.model.digest()
    assert len(trained.links) == len(SOURCE)
    assert trained.links.to_pharaoh()[3] == ""


@pytest.mark.parametrize("method", METHODS)
def test_two_runs_and_any_number_of_threads_are_identical(method, monkeypatch):
    one = (
        StatisticalAligner(method)
        .fit_words(words(SOURCE), words(TARGET))
        .tables(words(SOURCE), words(TARGET))
    )
    for few in (0, 1 << 20):  # threads for little text, and none
        monkeypatch.setattr(decoding, "_FEW", few)
        for module in (decoding, hmm_training, ibm2):
            monkeypatch.setattr(module, "WORKERS", 1 if few else 3)
        other = (
            StatisticalAligner(method)
            .fit_words(words(SOURCE), words(TARGET))
            .tables(words(SOURCE), words(TARGET))
        )
        equal(one, other)


@pytest.mark.parametrize("method", METHODS)
def test_a_call_does_not_walk_through_the_vocabulary(method, tmp_path, monkeypatch):
    """A second sentence pair costs what its words cost, however many the model knows."""
    StatisticalAligner(method).fit_words(words(SOURCE), words(TARGET)).save(tmp_path / "model")
    aligner = StatisticalAligner.load(tmp_path / "model")
    pair = words(SOURCE)[0], words(TARGET)[0]
    first = aligner.align_words(*pair)
    walked = []
    monkeypatch.setattr(Vocabulary, "__iter__", lambda words: walked.append(words) or tuple.__iter__(words))
    monkeypatch.setattr(hmm.PrefixClasses, "sums", lambda *_: walked.append("classes"))
    monkeypatch.setattr(decoding, "ThreadPoolExecutor", lambda *_: pytest.fail("a thread for one pair"))
    assert aligner.align_words(*pair) == first
    known = set(aligner.model.words)
    assert not [words for words in walked if words == "classes" or words in known]


@pytest.mark.parametrize("method", METHODS)
def test_lexicon(method, tmp_path):
    aligner = StatisticalAligner(method, lowercase=True).fit(bitext())
    path = tmp_path / "lexicon.tsv"
    aligner.model.write_lexicon(path, minimum=0.0)
    entries = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(entries) == len(aligner.model.word_pairs[0])
    best = {source: (target, float(p)) for source, target, p in reversed(entries)}
    assert best["kind"][0] == "child"
    assert best["haus"][0] == "house"
    assert all(float(p) <= best[source][1] for source, _, p in entries)
    aligner.model.write_lexicon(path)
    assert path.read_text(encoding="utf-8").splitlines() == [
        "\t".join(entry) for entry in entries if float(entry[2]) >= 0.05
    ]


@pytest.mark.parametrize("method", ["fast_align", "hmm"])
def test_words_pairs_and_counts_that_do_not_belong_together_are_refused(tmp_path, method):
    save_without_list(StatisticalAligner(method).fit(bitext()), tmp_path)
    tables, vocabulary = load_file(tmp_path / "tables.safetensors"), tmp_path / "vocabulary.json"
    merged = StatisticalAligner.load(tmp_path)
    assert merged.settings["method"] == method
    for name, held in tables.items():
        wrong = [-1] if held.dtype.kind == "i" else [-1.0, np.nan, np.inf]
        wrong += [10**6] if held.dtype.kind == "i" else []
        for value in wrong:
            changed = held.copy()
            changed[0] = value
            save_file({**tables, name: changed}, tmp_path / "tables.safetensors")
            with pytest.raises(InputError, match="the alignment model is damaged"):
                StatisticalAligner.load(tmp_path)
        kinds: list[np.ndarray] = [held[:, None], held[None], np.array(held[0]), np.repeat(held, 2)]
        kinds += [held.astype(np.float16), held.astype(np.int64)]
        for wrong_kind in kinds:
            save_file({**tables, name: wrong_kind}, tmp_path / "tables.safetensors")
            with pytest.raises(InputError, match="the alignment model is damaged"):
                StatisticalAligner.load(tmp_path)
    save_file(tables, tmp_path / "tables.safetensors")
    held_words = json.loads(vocabulary.read_text())
    source = held_words["source"]
    for side in (source[:-1], [source[0]] * len(source), list(range(len(source))), "x" * len(source)):
        vocabulary.write_text(json.dumps({**held_words, "source": side}))
        with pytest.raises(InputError, match="the alignment model is damaged"):
            StatisticalAligner.load(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": "x"},
        {"threshold": float("nan")},
        {"symmetrisation": "foo"},
        {"foo": 1},
        {"method": []},
        {"options": {"foo": 1}},
        {"options": []},
    ],
)
def test_wrong_settings_of_a_saved_model_are_one_line_with_its_place(tmp_path, change):
    save_without_list(StatisticalAligner().fit(bitext()), tmp_path)
    about = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps({**about, **change}))
    with pytest.raises(InputError, match="alignment model") as caught:
        StatisticalAligner.load(tmp_path)
    assert str(caught.value).startswith(str(tmp_path)) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["model.json", "vocabulary.json", "tables.safetensors"])
def test_a_damaged_model_is_one_line(tmp_path, name):
    damages = (b"", b"[]", b"\xff\xfe", b'{"method": "fast_align", "format": 3}', b"[" * 99_999)
    for number, damage in enumerate(damages):
        save_without_list(StatisticalAligner().fit(bitext()), tmp_path / str(number))
        (tmp_path / str(number) / name).write_bytes(damage)
        with pytest.raises(InputError, match="alignment model"):
            StatisticalAligner.load(tmp_path / str(number))


@pytest.mark.parametrize("name", ["model.json", "vocabulary.json", "tables.safetensors"])
def test_a_file_that_was_changed_after_it_was_saved_is_refused(tmp_path, name):
    for folder in ("one", "two"):
        StatisticalAligner("hmm").fit(bitext()).save(tmp_path / folder)
    changed = tmp_path / "one" / name
    if name == "tables.safetensors":
        tables = load_file(changed)
        save_file({**tables, "forward.counts": tables["forward.counts"] * 2}, changed)
    else:
        changed.write_text(changed.read_text().replace("haus", "maus").replace("0.3", "0.4"))
    for use in (
        lambda: StatisticalAligner.load(changed.parent),
        lambda: merge([changed.parent, tmp_path / "two"]),
    ):
        with pytest.raises(InputError, match=f"{name} was changed after it was saved"):
            use()


def test_tables_of_a_saved_model_have_the_mode_of_any_new_file(tmp_path):
    StatisticalAligner().fit(bitext()).save(tmp_path / "model")
    modes = {path.stat().st_mode for path in (tmp_path / "model").iterdir()}
    assert len(modes) == 1
