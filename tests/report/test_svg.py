from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from isoglot.report.html import Markup, element, join
from isoglot.report.svg import legend, nice_ticks, tick_text

FINITE = st.floats(-1e9, 1e9, allow_nan=False)


@given(FINITE, FINITE)
@example(0.0, 5e-324)
@example(1e9, 1e9 + 1e-6)
def test_ticks_cover_the_interval_and_are_few(a: float, b: float) -> None:
    low, high = sorted((a, b))
    ticks = nice_ticks(low, high)
    slack = 1e-6 * max(1.0, abs(low), abs(high))
    assert ticks[0] <= low + slack and ticks[-1] >= high - slack
    assert 2 <= len(ticks) <= 8
    assert ticks == sorted(ticks)


@pytest.mark.parametrize(
    ("value", "step", "text"),
    [
        (0.25, 0.05, "0.25"),
        (2.5, 2.5, "2.5"),
        (-4, 2, "−4"),
        (20000, 5000, "20k"),
        (7500, 2500, "7,500"),
        (0.025, 0.025, "0.025"),
    ],
)
def test_ticks_have_the_places_their_step_needs(value: float, step: float, text: str) -> None:
    assert tick_text(value, step) == text


@given(st.text())
def test_text_can_only_enter_as_text(text: str) -> None:
    made = element("td", text, title=text)
    assert made.count("<") == 2 and made.count(">") == 2
    assert made.count('"') == 2
    assert join([text]).count("<") == 0


def test_markup_is_not_escaped_again_and_attributes_follow_html() -> None:
    assert element("p", Markup("<b>x</b>"), class_="a b", hidden=True, title=None, data_n="1") == (
        '<p class="a b" hidden data-n="1"><b>x</b></p>'
    )
    assert element("br") == "<br>" and element("circle", r=2.0) == '<circle r="2"/>'


def test_a_single_unnamed_series_needs_no_legend() -> None:
    assert legend([""], lines=True) is None and legend([], lines=True) is None
    shown = legend(["a", ""], lines=False)
    assert shown is not None and "other" in shown
