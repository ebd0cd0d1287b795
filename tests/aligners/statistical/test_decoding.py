from __future__ import annotations

import pytest
from small_bitext import SOURCE, TARGET, train_hmm, words

from isoglot.aligners.statistical import decoding
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.aligners.statistical.options import HmmOptions


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
