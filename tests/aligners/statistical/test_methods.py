from __future__ import annotations

import pytest
from repeated_bitext import SOURCE, TARGET, bitext, equal
from small_bitext import words

from isoglot.aligners.statistical import decoding, hmm_training, methods
from isoglot.aligners.statistical.methods import METHODS
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.errors import InputError


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
    for module in (decoding, hmm_training, methods):
        monkeypatch.setattr(module, "WORKERS", 1)
    other = (
        StatisticalAligner(method)
        .fit_words(words(SOURCE), words(TARGET))
        .tables(words(SOURCE), words(TARGET))
    )
    equal(one, other)


@pytest.mark.parametrize("method", METHODS)
def test_lexicon(method, tmp_path):
    aligner = StatisticalAligner(method, lowercase=True).fit(bitext())
    path = tmp_path / "lexicon.tsv"
    aligner.model.write_lexicon(path, minimum=0.0)
    entries = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(entries) == len(aligner.model.types[0])
    best = {source: (target, float(p)) for source, target, p in reversed(entries)}
    assert best["kind"][0] == "child"
    assert best["haus"][0] == "house"
    assert all(float(p) <= best[source][1] for source, _, p in entries)
    aligner.model.write_lexicon(path)
    assert path.read_text(encoding="utf-8").splitlines() == [
        "\t".join(entry) for entry in entries if float(entry[2]) >= 0.05
    ]


@pytest.mark.parametrize("name", ["model.json", "vocabulary.json", "tables.safetensors"])
def test_a_damaged_model_is_one_line(tmp_path, name):
    damages = (b"", b"[]", b"\xff\xfe", b'{"method": "fast_align", "format": 2}', b"[" * 99_999)
    for number, damage in enumerate(damages):
        StatisticalAligner().fit(bitext()).save(tmp_path / str(number))
        (tmp_path / str(number) / name).write_bytes(damage)
        with pytest.raises(InputError, match="alignment model"):
            StatisticalAligner.load(tmp_path / str(number))
