"""Studies of an encoder of one's own compare systems on equal terms."""

from __future__ import annotations

import json

from shipped_studies import calls_of

from isoglot.studies.alignment_steps import BestLinks
from isoglot.studies.training_steps import Pretrain


def test_real_systems_share_encoder_pairs_and_steps_and_are_chosen_on_other_links() -> None:
    sections = {c.name: c.step.sections for c in calls_of("real/transfer", "paper", Pretrain)}
    of_links = {c.name for c in calls_of("real/word_alignment", "paper", Pretrain)}
    assert len(sections) == 13 and of_links < set(sections)
    for shared in ("model", "batch", "steps", "train"):
        assert len({json.dumps(own[shared]) for own in sections.values()}) == 1
    assert len({json.dumps(own["streams"]["bitext"]) for own in sections.values()}) == 1
    links = calls_of("real/word_alignment", "paper", BestLinks)
    assert len(links) == 9
    assert all(".dev." in path for call in links for path in call.step.dev.values())
    assert not any(".dev." in path for call in links for path in call.step.test.values())
