from __future__ import annotations

import pytest
from refusals import refused

from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.core.errors import ConfigurationError


def test_bad_options_name_all_mistakes():
    with pytest.raises(ConfigurationError) as caught:
        StatisticalAligner("hmm", iterations=0, alpha=0.0, prefix_length=-1)
    assert len(caught.value.problems) == 3
    with refused(ConfigurationError, "threshold ", "got 1.0"):
        StatisticalAligner("hmm", threshold=1.0)


def test_bad_options_of_fast_align_name_all_mistakes():
    with pytest.raises(ConfigurationError) as caught:
        StatisticalAligner(iterations=0, null_probability=1.0, alpha=0.0, tension=-1.0)
    assert len(caught.value.problems) == 4
