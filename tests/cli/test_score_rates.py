"""What ``isoglot score`` prints."""

from __future__ import annotations

import json

import pytest

from isoglot.cli.alignment import _print_layers
from isoglot.results.link_counts import AlignmentScore


def test_scores_of_layers_have_all_rates(capsys: pytest.CaptureFixture[str]) -> None:
    score = AlignmentScore(links=4, sure=4, sure_hits=2, possible_hits=3)
    _print_layers([(8, score)], as_json=True)
    assert json.loads(capsys.readouterr().out) == [{"layer": 8, **score.to_dict()}]
    _print_layers([(8, score)], as_json=False)
    heading, line = capsys.readouterr().out.splitlines()
    assert heading.split() == ["layer", "precision", "recall", "F1", "AER"]
    assert line.split() == ["8", "75.00", "50.00", "60.00", "37.50"] and len(line) == len(heading)
