import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import texts, tsv

from isoglot.corpus.manifest import load_corpus
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.corpus.shards import HashSet, sampling_targets


@settings(max_examples=80, deadline=None)
@given(st.lists(st.lists(st.integers(0, 40), max_size=20), max_size=12))
def test_hash_set_equals_a_python_set(batches):
    ours, theirs = HashSet(), set()
    for batch in batches:
        expected = []
        for number in batch:
            expected.append(number not in theirs)
            theirs.add(number)
        assert ours.add(np.array(batch, dtype=np.uint64)).tolist() == expected


def test_first_n_after_filtering_and_duplicates_across_chunks(tmp_path, small_chunks):
    lines = [f"s{i % 30}\tt{i % 30}" if i % 2 else "\t" for i in range(200)]
    source = tsv(tmp_path, lines)
    every = prepare(source, tmp_path / "every", options=PrepareOptions(duplicates="pair"))
    assert every.rows == 15
    assert every.removed == {"empty": 100, "duplicates": 85}
    first = prepare(source, tmp_path / "first", options=PrepareOptions(duplicates="pair", limit=7))
    assert texts(tmp_path / "first") == texts(tmp_path / "every")[:7]
    assert first.rows == 7
    assert first.read == 20  # whole chunks of ten lines, and no more of them than needed


def test_language_sampling(tmp_path):
    sources = [
        tsv(tmp_path, [f"s{i}\tt{i}" for i in range(90)]),
        tsv(tmp_path, [f"u{i}\tv{i}" for i in range(10)], "b.tsv", target_language="fr"),
    ]
    summary = prepare(sources, tmp_path / "out", options=PrepareOptions(sampling_exponent=0.5))
    assert [(c.passed, c.kept) for c in summary.languages] == [(90, 75), (10, 25)]
    data = load_corpus(tmp_path / "out")
    german = [r["source"] for r in data if r["target_language"] == "de"]
    french = [r["source"] for r in data if r["target_language"] == "fr"]
    assert len(set(german)) == 75
    assert [int(s[1:]) for s in german] == sorted(int(s[1:]) for s in german)
    assert french[:20] == [f"u{i}" for i in range(10)] * 2
    assert len(set(french[20:])) == 5
    other = prepare(sources, tmp_path / "o2", options=PrepareOptions(sampling_exponent=0.5, seed=2))
    assert other.rows == 100
    assert [r["source"] for r in load_corpus(tmp_path / "o2")] != [r["source"] for r in data]


def test_sampling_targets():
    assert sampling_targets([900, 100], 1.0) == [900, 100]
    assert sampling_targets([900, 100], 0.0) == [500, 500]
    assert sampling_targets([900, 100], 0.5) == [750, 250]
    assert sampling_targets([4, 0, 3], 0.0) == [4, 0, 3]
    assert sampling_targets([0], 0.5) == [0]
    assert sum(sampling_targets([17, 3, 1000, 41], 0.7)) == 1061
