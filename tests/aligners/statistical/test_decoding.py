from __future__ import annotations

import pytest
from refusals import refused
from small_bitext import SOURCE, TARGET, train_hmm, words

from isoglot.aligners.statistical import decoding
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.aligners.statistical.options import HmmOptions
from isoglot.core.errors import ConfigurationError


@pytest.mark.parametrize("count", [1, 3, 7])
def test_parts_change_nothing_but_rounding(count, monkeypatch):
    _, (whole, _) = train_hmm(HmmOptions())
    monkeypatch.setattr(decoding, "_PARTS", count)
    _, (other, _) = train_hmm(HmmOptions())
    assert other.counts == pytest.approx(whole.counts, abs=2e-4)


@pytest.mark.parametrize("method", ["hmm", "fast_align"])
def test_agreeing_links_are_those_of_both_posteriors(method):
    aligner = StatisticalAligner(method, symmetrisation="agreement").fit_words(words(SOURCE), words(TARGET))
    aligner.threshold = 1e-9
    loose = aligner.tables(words(SOURCE), words(TARGET))
    aligner.threshold = 0.5
    tight = aligner.tables(words(SOURCE), words(TARGET))
    assert (tight.links.probability >= 0.5).all()
    assert len(loose.links.source) > len(tight.links.source) > 0
    sides = (tight.links, loose.links, tight.forward, tight.reverse)
    for few, many, ahead, back in zip(*(side.alignments() for side in sides), strict=True):
        assert few.links <= many.links
        assert few.links <= (ahead | back).links


@pytest.mark.parametrize("method", ["hmm", "fast_align"])
def test_pieces_change_nothing(method, monkeypatch):
    source, target = words([*SOURCE, "", "one side"]), words([*TARGET, "other side", ""])

    def found():
        aligner = StatisticalAligner(method, symmetrisation="agreement").fit_words(source, target)
        result = aligner.tables(source, target)
        return aligner.trained().digest(), result.links.to_pharaoh(), result.score.tolist()

    whole = found()
    monkeypatch.setattr(decoding, "BATCH_ENTRIES", 1)
    assert found() == whole


def test_links_that_are_all_improbable_are_refused():
    source, target = words(["a b", *["a"] * 50, *["b"] * 50]), words(["x y", *["x"] * 50, *["y"] * 50])
    aligner = StatisticalAligner(alpha=1e-6, use_null=False, iterations=8).fit_words(source, target)
    with refused(ConfigurationError, "alpha", "alpha=0.01"):
        aligner.tables([["b"]], [["x"]])
