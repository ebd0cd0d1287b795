"""The page in a real browser: what it shows, wide and narrow, and what pointing, tapping and typing do."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_demo import write_demo, write_studies

from isoglot.reports.options import ReportOptions
from isoglot.reports.render import report
from isoglot.results.rows import Result, append

pytest.importorskip("selenium")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

Show = Callable[..., Any]


def all_of(driver: Any, selector: str) -> list[Any]:
    return driver.find_elements(By.CSS_SELECTOR, selector)


def word(driver: Any, text: str) -> Any:
    return driver.execute_script(
        "return [...document.querySelectorAll('.w')].find(w => w.textContent === arguments[0])", text
    )


def lit(driver: Any) -> dict[str, str]:
    """Lit words with the class they are lit in."""
    script = """return Object.fromEntries([...document.querySelectorAll("[class*='lit-']")].map(
        w => [w.textContent, [...w.classList].find(c => c.startsWith('lit-'))]))"""
    found: dict[str, str] = driver.execute_script(script)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "width", [1280, *(pytest.param(narrow, marks=pytest.mark.slow) for narrow in (768, 390)), 320]
)
def test_the_page_never_scrolls_sideways_and_logs_nothing(show: Show, demo_page: Path, width: int) -> None:
    driver = show(demo_page, width=width)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    assert driver.get_log("browser") == []
    assert driver.execute_script("return performance.getEntriesByType('resource').length") == 0


@pytest.mark.slow
def test_pointing_at_a_word_lights_its_links_in_their_colours(show: Show, demo_page: Path) -> None:
    driver = show(demo_page)
    ActionChains(driver).scroll_to_element(word(driver, "müssen")).move_to_element(
        word(driver, "müssen")
    ).perform()
    assert lit(driver) == {"have": "lit-possible", "to": "lit-possible"}
    assert len(all_of(driver, ".wires .link.on")) == 2
    ActionChains(driver).move_to_element(word(driver, "house")).perform()  # from the other side
    assert lit(driver) == {"Haus": "lit-sure", "noch": "lit-error"}
    colours = {name: word(driver, name).value_of_css_property("background-color") for name in lit(driver)}
    assert len(set(colours.values())) == len(colours)
    ActionChains(driver).move_to_element(driver.find_element(By.TAG_NAME, "h1")).perform()
    assert lit(driver) == {} and not all_of(driver, ".pair-view.lit")


@pytest.mark.slow
def test_tapping_pins_a_word_and_tapping_again_lets_it_go(show: Show, demo_page: Path) -> None:
    driver = show(demo_page, width=390)
    chosen = word(driver, "Fluss")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", chosen)
    chosen.click()
    assert lit(driver) == {"river": "lit-sure"}
    chosen.click()
    assert lit(driver) == {}


@pytest.mark.slow
def test_the_keyboard_reaches_every_word_and_follows_links(show: Show, demo_page: Path) -> None:
    driver = show(demo_page)
    first = word(driver, "Wir")
    driver.execute_script("arguments[0].focus()", first)
    assert lit(driver) == {"We": "lit-sure"}
    driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert driver.switch_to.active_element.text == "müssen"
    driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    assert driver.switch_to.active_element.text == "have"
    said = driver.find_element(By.CSS_SELECTOR, ".viewer .said").get_attribute("textContent")
    assert said == "have: müssen (found, a possible gold link)"
    arabic = word(driver, "ذهب")
    driver.execute_script("arguments[0].focus()", arabic)
    driver.switch_to.active_element.send_keys(Keys.ARROW_LEFT)  # forwards where one writes from right to left
    assert driver.switch_to.active_element.text == "الولد"
    tabbable = all_of(driver, ".source .w[tabindex='0']")
    assert len(tabbable) == len(all_of(driver, ".pair-view"))


@pytest.mark.slow
def test_right_to_left_words_run_from_right_to_left(show: Show, demo_page: Path) -> None:
    for width in (1280, 390):
        driver = show(demo_page, width=width)
        assert word(driver, "ذهب").rect["x"] > word(driver, "الولد").rect["x"]
        assert word(driver, "went").rect["x"] > word(driver, "boy").rect["x"]
        assert word(driver, "היא").rect["x"] > word(driver, "קוראת").rect["x"]  # as the target, too
        assert word(driver, "reads").rect["x"] > word(driver, "she").rect["x"]


@pytest.mark.slow
def test_wires_join_the_words_also_after_the_window_has_changed(show: Show, demo_page: Path) -> None:
    driver = show(demo_page)
    script = """
        const view = document.querySelector('.pair-view'), frame = view.querySelector('.wires').getBoundingClientRect();
        const path = view.querySelector('.wires path'), start = path.getPointAtLength(0);
        const end = path.getPointAtLength(path.getTotalLength());
        const a = view.querySelector('.source .w').getBoundingClientRect();
        const b = view.querySelector('.target .w').getBoundingClientRect();
        return [start.x + frame.left - a.left - a.width / 2, start.y + frame.top - a.bottom,
                end.x + frame.left - b.left - b.width / 2];"""
    for width in (1280, 390):
        driver = show(demo_page, width=1280)
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                               {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})  # fmt: skip
        driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        assert all(abs(gap) < 2 for gap in driver.execute_script(script))
    assert len(all_of(driver, ".wires path")) == 11 + 7 + 3 + 4


@pytest.mark.slow
def test_pairs_without_errors_can_be_hidden(show: Show, demo_page: Path) -> None:
    driver = show(demo_page)
    driver.execute_script("document.querySelector('.only-errors').click()")
    assert [view.is_displayed() for view in all_of(driver, ".pair-view")] == [True, True, False, False]


@pytest.mark.slow
def test_results_are_filtered_by_text(show: Show, demo_page: Path) -> None:
    driver = show(demo_page)
    assert driver.find_element(By.CSS_SELECTOR, ".count").text == "252 rows"
    box = driver.find_element(By.CSS_SELECTOR, "input[type=search]")
    box.send_keys("WEAM xnli zh")
    assert driver.find_element(By.CSS_SELECTOR, ".count").text == "3 of 252 rows"
    script = """return [...document.querySelectorAll('.all-results tbody tr')].filter(r => r.offsetHeight)
        .map(r => [...r.cells].map(c => c.textContent).join(' '))"""
    shown = driver.execute_script(script)
    assert len(shown) == 3 and all("weam" in text and " zh " in text for text in shown)


@pytest.mark.slow
def test_results_are_sorted_by_number_and_by_text(show: Show, demo_page: Path) -> None:
    driver = show(demo_page)
    button = next(b for b in all_of(driver, ".all-results thead button") if b.text.startswith("value"))
    read = "return [...document.querySelectorAll('.all-results tbody tr')].map(r => Number(r.cells[5].dataset.value))"
    for state, flip in (("ascending", 1), ("descending", -1)):
        driver.execute_script("arguments[0].click()", button)
        values = [flip * value for value in driver.execute_script(read)]
        assert values == sorted(values) and len(values) == 252
        assert button.find_element(By.XPATH, "..").get_attribute("aria-sort") == state
    names = next(b for b in all_of(driver, ".all-results thead button") if b.text.startswith("run"))
    driver.execute_script("arguments[0].click()", names)
    assert (
        driver.execute_script("return document.querySelector('.all-results tbody th').textContent")
        == "mlm-seed1"
    )


@pytest.mark.slow
def test_text_stands_out_in_both_themes_and_in_print(show: Show, demo_page: Path) -> None:
    driver = show(demo_page)
    for theme in ("light", "dark"):
        feature = [{"name": "prefers-color-scheme", "value": theme}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": feature})
        for selector in (
            "h1",
            ".caption",
            ".scores tbody td",
            ".scores tr.paper td",
            ".best b",
            ".chart text",
            ".save",
        ):
            found = driver.find_element(By.CSS_SELECTOR, selector)
            colour = found.value_of_css_property("fill" if selector.startswith(".chart") else "color")
            background = driver.find_element(By.TAG_NAME, "body").value_of_css_property("background-color")
            assert contrast(colour, background) >= 4.5, (theme, selector)
        for series in range(7):
            colour = driver.execute_script(
                f"return getComputedStyle(document.body).getPropertyValue('--c{series}')"
            )
            assert contrast(colour, background) >= 3, (theme, series)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    assert not any(e.is_displayed() for e in all_of(driver, ".downloads, .filters, nav"))
    pdf = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert pdf.startswith(b"%PDF")


def contrast(first: str, second: str) -> float:
    """The contrast of two colours by the Web Content Accessibility Guidelines, from 1 to 21."""
    a, b = sorted((luminance(first), luminance(second)), reverse=True)
    return (a + 0.05) / (b + 0.05)


def luminance(colour: str) -> float:
    text = colour.strip()
    if text.startswith("#"):
        parts = [int(text[i : i + 2], 16) for i in (1, 3, 5)]
    else:
        parts = [int(float(p)) for p in text[text.index("(") + 1 : -1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (p / 255 for p in parts)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.slow
def test_many_tables_beside_the_papers_fold_and_a_link_opens_one(show: Show, tmp_path: Path) -> None:
    rows = {"weam_1": "weam", "weam_2": "weam", "ppa_2": "Ours (2M)", "ppa_4": "Ours (2M)"}
    write_studies(tmp_path / "runs", **rows, xlm_align_2="fast_align")
    driver = show(report([write_demo(tmp_path / "runs")], out=tmp_path / "r.html"))
    folds = all_of(driver, "#papers .beside")
    assert len(folds) == 5 and not any(fold.get_attribute("open") for fold in folds)
    driver.execute_script("document.querySelector('nav details').open = true")
    link = next(a for a in all_of(driver, "nav a") if a.text.startswith("WEAM, Table 2"))
    link.click()
    table = driver.find_element(By.CSS_SELECTOR, link.get_attribute("href").partition("html")[2])
    assert table.is_displayed() and "mBERT+WEAM" in table.text
    assert [fold.get_attribute("open") for fold in all_of(driver, "#papers .beside")].count("true") == 1
    assert driver.get_log("browser") == []


@pytest.mark.slow
def test_cards_and_figures_leave_no_holes(show: Show, demo_page: Path) -> None:
    """Every row of cards and of figures reaches the edge of the page."""
    edges = """const edge = e => Math.round(e.getBoundingClientRect().right);
        return ['.cards', '#figures .figures', '#curves .figures'].map(name => {
            const box = document.querySelector(name), rows = new Map();
            [...box.children].forEach(e => rows.set(Math.round(e.getBoundingClientRect().top), edge(e)));
            return [edge(box), ...rows.values()]; })"""
    for width in (1280, 768, 390):
        for rows in show(demo_page, width=width).execute_script(edges):
            assert all(abs(edge - rows[0]) <= 1 for edge in rows), (width, rows)


def test_points_of_charts_say_what_they_are(show: Show, demo_page: Path) -> None:
    driver = show(demo_page)
    script = """return [...document.querySelectorAll('#figures path title')]
        .map(t => [t.textContent, t.parentNode.getBoundingClientRect().width])"""
    titles = driver.execute_script(script)
    said = [text for text, _ in titles]
    assert "house (en)" in said and any(text.startswith("weam: ") and "at layer 8" in text for text in said)
    assert all(width > 0 for _, width in titles)


def test_hostile_texts_run_nothing(show: Show, tmp_path: Path) -> None:
    owns = "document.title='owned'"
    bad = f'</title></style></script><script>{owns}</script><img src=x onerror="{owns}">'
    rows = [Result(run=bad, task=bad, language=bad, metric=bad, value=1, examples=1)]
    append(tmp_path / "run" / "results.jsonl", rows)
    figures = tmp_path / "run" / "figures"
    figures.mkdir()
    pair = {"src": [bad, "b"], "tgt": [bad], "links": [[0, 0]], "id": bad}
    (figures / "a.jsonl").write_text(json.dumps(pair))
    page = report([tmp_path / "run"], out=tmp_path / "r.html", options=ReportOptions(title="safe"))
    driver = show(page)
    ActionChains(driver).scroll_to_element(word(driver, "b")).perform()
    driver.execute_script("arguments[0].focus()", all_of(driver, ".w")[0])
    assert driver.title == "safe"
    assert all_of(driver, "img") == [] and len(all_of(driver, "script")) == 1
    assert driver.find_element(By.CSS_SELECTOR, ".all-results tbody th").text == bad
    assert driver.get_log("browser") == []


def test_the_policy_stops_a_script_that_is_put_in_all_the_same(
    show: Show, demo_page: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.html"
    text = demo_page.read_text(encoding="utf-8")
    broken.write_text(
        text.replace("<footer>", "<script>document.title='owned'</script><footer>"), encoding="utf-8"
    )
    assert show(broken).title == "Demo"
