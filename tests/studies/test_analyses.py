from __future__ import annotations

import json
from pathlib import Path

import pytest

from isoglot.errors import ConfigurationError
from isoglot.studies.analyses import check_analysis, find_analysis
from isoglot.testing import tiny_bitext


def test_a_statistical_aligner_is_measured_on_gold_links(tmp_path: Path) -> None:
    rows = [(r["source"].split(), r["target"].split()) for r in tiny_bitext(40)]
    gold = [
        {"id": i, "src": s, "tgt": t, "sure": [[k, k] for k in range(min(len(s), len(t)))], "possible": []}
        for i, (s, t) in enumerate(rows[:10])
    ]
    (tmp_path / "en-xx.jsonl").write_text("".join(f"{json.dumps(g)}\n" for g in gold))
    more = tmp_path / "en-xx.tsv"
    more.write_text("".join(f"{' '.join(s)}\t{' '.join(t)}\n" for s, t in rows[10:]))
    measure = find_analysis("word_alignment")
    train = [{"path": str(tmp_path / "{language}.tsv"), "source_language": "en", "target_language": "xx"}]
    found = measure(
        None,
        language="en-xx",
        gold=str(tmp_path / "{language}.jsonl"),
        train=train,
        symmetrisation="intersect",
    )
    assert set(found) == {"aer", "precision", "recall", "f1"}
    assert next(iter(found)) == "aer"
    assert 0 <= found["aer"] <= 100
    assert found["recall"] > 20
    with pytest.raises(ConfigurationError, match="task word_alignment"):
        measure("somewhere", language="en-xx", gold="x")


def test_options_are_checked_before_anything_runs() -> None:
    check_analysis("word_alignment", {"gold": "x", "method": "ibm2"})
    with pytest.raises(ConfigurationError, match="did you mean 'gold'"):
        check_analysis("word_alignment", {"gld": "x"})
    with pytest.raises(ConfigurationError, match="'gold'"):
        check_analysis("word_alignment", {"method": "hmm"})
    with pytest.raises(ConfigurationError, match="did you mean 'alignment_score'"):
        check_analysis("alignment_scor", {})
    assert find_analysis("json:dumps") is json.dumps
