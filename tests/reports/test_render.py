from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_demo import write_demo, write_run, write_studies

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.reports.options import ReportOptions
from isoglot.reports.render import _distinguish_ids, report
from isoglot.reports.table import Table
from isoglot.results.rows import Cell, Result, append, write_cells

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' onmouseover='alert(3)"
VOID = {"meta", "br", "input", "circle", "line", "path", "rect", "polygon", "polyline"}


class Reader(HTMLParser):
    """Collects elements and checks that they are nested."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in {"meta", "br", "input"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, tag


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("demo")
    write_studies(root / "runs", weam_1="weam", weam_2="weam")
    out = report([write_demo(root / "runs")], out=root / "report.html")
    return out.read_text(encoding="utf-8")


def test_the_page_is_well_formed_and_its_ids_are_unique(page: str) -> None:
    elements = read(page).elements
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = [a["href"] for tag, a in elements if tag == "a" and (a.get("href") or "").startswith("#")]
    assert targets and all(target is not None and target[1:] in ids for target in targets)


def test_page_fetches_nothing(page: str) -> None:
    for tag, attributes in read(page).elements:
        assert tag not in {"link", "iframe", "object", "embed", "base"}
        for name in ("src", "href", "action", "srcset", "poster"):
            assert (attributes.get(name) or "#").startswith(("#", "data:text/csv", "data:application/x-tex"))
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None and "url(" not in style[1] and "@import" not in style[1]


def test_the_policy_admits_this_pages_script_and_style_alone(page: str) -> None:
    policy = next(
        a["content"] for _, a in read(page).elements if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None and "default-src 'none'" in policy and "unsafe-inline" not in policy
    assert not any(name.startswith("on") or name == "style" for _, a in read(page).elements for name in a)


def test_the_headline_comes_first(page: str) -> None:
    assert page.index('class="cards"') < page.index('id="tables"')
    assert "more than chance" in page


def test_table_of_a_page_can_be_saved(page: str) -> None:
    links = [a for tag, a in read(page).elements if tag == "a" and "download" in a]
    saved = {
        a["download"]: base64.b64decode((a["href"] or "").partition("base64,")[2]).decode() for a in links
    }
    assert len(links) == len(saved) == 2 * page.count('class="downloads screen"')
    assert saved["all-results.csv"].count("\r\n") == 253
    assert "weam-seed3" in saved["all-results.csv"]
    assert saved["weam-table1.tex"].startswith(r"\begin{table}")


def test_hostile_texts_stay_texts_everywhere(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shared = {"examples": 1, "recipe_hash": HOSTILE, "checkpoint_hash": HOSTILE}
    append(
        folder / "results.jsonl",
        [
            Result(
                run=HOSTILE + n,
                task=HOSTILE,
                language=lang,
                split=HOSTILE,
                metric=HOSTILE,
                value=v,
                seed=s,
                **shared,
            )
            for n in "ab"
            for lang, v in ((HOSTILE, 1), ("en", 2), ("de", 3))
            for s in (1, 2)
        ],
    )
    (folder / "run.json").write_text(
        json.dumps(
            {
                "name": HOSTILE,
                "seed": 1,
                "recipe_hash": HOSTILE,
                "versions": {HOSTILE: HOSTILE},
                "values": {"model": {"path": HOSTILE}},
            }
        )
    )
    checkpoint = folder / "checkpoint-1"
    checkpoint.mkdir()
    history = [{"step": s, HOSTILE: 1.0, "loss": s} for s in (1, 2)]
    (checkpoint / "trainer_state.json").write_text(json.dumps({"global_step": 2, "log_history": history}))
    figures = folder / "figures"
    figures.mkdir()
    point = {"x": 1, "y": 1, "word": HOSTILE, "language": HOSTILE}
    line = {"label": HOSTILE, "x": [1, 2], "y": [1, 2]}
    for name, figure in {
        "a": {
            "kind": "embedding_map",
            "title": HOSTILE,
            "note": HOSTILE,
            "panels": [{"title": HOSTILE, "points": [point, point], "pairs": [[0, 1]]}],
        },
        "b": {
            "kind": "scatter",
            "title": HOSTILE,
            "x_label": HOSTILE,
            "y_label": HOSTILE,
            "points": [{"x": 1, "y": 1, "label": HOSTILE, "group": HOSTILE}],
        },
        "c": {
            "kind": "layers",
            "title": HOSTILE,
            "x_label": HOSTILE,
            "y_label": HOSTILE,
            "series": [line],
            "better": "higher",
            "note": HOSTILE,
        },
    }.items():
        (figures / f"{name}.json").write_text(json.dumps(figure))
    pair = {
        "src": [HOSTILE],
        "tgt": [HOSTILE],
        "links": [[0, 0]],
        "sure": [[0, 0]],
        "src_language": HOSTILE,
        "id": HOSTILE,
    }
    (figures / "<img src=x>.jsonl").write_text(json.dumps(pair))
    options = ReportOptions(title=HOSTILE, tables=tmp_path / "tables")
    page = report([folder], out=tmp_path / "r.html", options=options).read_text(encoding="utf-8")
    elements = read(page).elements
    assert sum(tag == "script" for tag, _ in elements) == 1
    assert not any(tag == "img" for tag, _ in elements)
    assert not any(name.startswith("on") for _, attributes in elements for name in attributes)
    assert page.count("<script>alert") == 0 and "&lt;script&gt;alert" in page
    names = [p.name for p in (tmp_path / "tables").iterdir()]
    assert names and all(re.fullmatch(r"[a-z0-9-]+\.(csv|tex)", name) for name in names)


def test_a_run_without_results_still_has_curves(tmp_path: Path) -> None:
    folder = write_run(tmp_path, "tlm", 1)
    (folder / "results.jsonl").unlink()
    page = report([folder], out=tmp_path / "r.html").read_text(encoding="utf-8")
    assert 'id="curves"' in page and 'id="tables"' not in page and 'class="cards"' not in page


def test_the_page_names_no_path_of_the_machine(tmp_path: Path) -> None:
    write_run(tmp_path / "runs", "tlm", 1, encoder=str(tmp_path / "models" / "tiny"))
    page = report([tmp_path / "runs"], out=tmp_path / "r.html").read_text(encoding="utf-8")
    assert str(tmp_path) not in page
    assert "runs/tlm-seed1" in page and ">tiny<" in page


def test_a_file_of_results_alone_does(tmp_path: Path) -> None:
    folder = write_run(tmp_path, "tlm", 1)
    page = report([folder / "results.jsonl"], out=tmp_path / "deep" / "r.html").read_text(encoding="utf-8")
    assert 'id="tables"' in page and 'id="curves"' not in page


def test_a_headline_of_a_correlation_shows_three_decimals(tmp_path: Path) -> None:
    shared = {"task": "similarity", "language": "de", "metric": "spearman", "examples": 9}
    rows = []
    for run, values in {"mlm": (0.790, 0.792), "tlm": (0.812, 0.818)}.items():
        rows += [Result(run=run, seed=seed, value=value, **shared) for seed, value in enumerate(values)]
    page = report(rows, out=tmp_path / "report.html", baseline="mlm").read_text(encoding="utf-8")
    card = page[page.index('class="cards"') : page.index('id="tables"')]
    assert "<strong>0.815</strong>" in card
    assert "± 0.004" in card
    assert "+0.024" in card


def test_results_are_not_replaced_by_a_page(tmp_path: Path) -> None:
    folder = write_run(tmp_path, "tlm", 1)
    before = (folder / "results.jsonl").read_bytes()
    with pytest.raises(ConfigurationError, match="holds results, which the page would overwrite"):
        report([folder], out=folder / "results.jsonl")
    assert (folder / "results.jsonl").read_bytes() == before


def test_missing_parts_of_a_page_are_named_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for runs, message in (
        ([tmp_path / "none"], "run not found"),
        ([tmp_path / "empty"], "training curves or figures"),
    ):
        with pytest.raises(InputError, match=message):
            report(runs, out=tmp_path / "r.html")
    folder = write_run(tmp_path, "tlm", 1)
    with pytest.raises(ConfigurationError, match="`baseline`: no results of nobody; name one of tlm"):
        report([folder], out=tmp_path / "r.html", options=ReportOptions(baseline="nobody"))
    assert not list(tmp_path.glob("r.html*"))


def test_an_empty_file_of_results_is_an_error(tmp_path: Path) -> None:
    write_run(tmp_path, "tlm", 1)
    (tmp_path / "weam-seed1").mkdir()
    (tmp_path / "weam-seed1" / "results.jsonl").write_text("\n")
    with pytest.raises(InputError, match=r"weam-seed1/results\.jsonl: holds no result"):
        report([tmp_path], out=tmp_path / "r.html")


def test_a_study_brings_its_own_tables(tmp_path: Path) -> None:
    place = {"table": "align_mlm:Table3", "row": ("mlm", "trans"), "scale": "tiny"}
    cells = [Cell(**place, column=("xnli", "zs"), value=60.0 + s, seed=s) for s in (1, 2)]
    write_cells(
        tmp_path / "study" / "cells.jsonl",
        [*cells, Cell(**place, column=("ner", "zs"), unavailable="<none>")],
    )
    page = report([tmp_path / "study"], out=tmp_path / "r.html").read_text(encoding="utf-8")
    assert 'id="papers"' in page and 'id="tables"' not in page
    assert "MLM / trans" in page and "Not available: &lt;none&gt;." in page and "Scale tiny." in page


def test_evaluations_that_differ_in_options_are_lines_of_their_own(tmp_path: Path) -> None:
    base = {"run": "tlm", "task": "tatoeba", "language": "de", "metric": "accuracy", "examples": 1000}
    rows = [
        Result(**base, value=70.0, options={"layer": 3, "pooling": "cls"}),
        Result(**base, value=80.0, options={"layer": 8, "pooling": "cls"}),
        Result(**{**base, "task": "pos"}, value=90.0, options={"layer": 8}),
    ]
    append(tmp_path / "run" / "results.jsonl", rows)
    page = report([tmp_path / "run"], out=tmp_path / "r.html").read_text(encoding="utf-8")
    assert "measured again" not in page
    for value, label in (("70.0", "tlm (layer=3)"), ("80.0", "tlm (layer=8)"), ("90.0", "tlm")):
        row = re.search(
            rf'<tr class="ours"><th scope="row"><bdi dir="auto">{re.escape(label)}</bdi>.*?</tr>', page
        )
        assert row is not None and value in row[0], label
    assert ">layer=3 pooling=cls<" in page  # in the table of all results


def test_tables_whose_names_fold_into_one_get_ids_of_their_own(tmp_path: Path) -> None:
    base = {"run": "tlm", "language": "de", "metric": "accuracy", "value": 70.0, "examples": 10}
    append(tmp_path / "results.jsonl", [Result(**base, task="x y"), Result(**base, task="x-y")])
    page = report([tmp_path / "results.jsonl"], out=tmp_path / "r.html").read_text(encoding="utf-8")
    ids = [given["id"] for _, given in read(page).elements if "x-y" in (given.get("id") or "")]
    assert len(ids) == len(set(ids)) == 2


def test_long_ids_that_are_cut_alike_are_numbered() -> None:
    tables = [Table.listing("x" * 100, "", ["run"], []) for _ in range(11)]
    _distinguish_ids(tables)
    ids = [table.id for table in tables]
    assert ids[0] == "x" * 80 and ids[1] == "x" * 78 + "-2" and ids[10] == "x" * 77 + "-11"
    assert len(set(ids)) == 11


def test_the_page_says_where_runs_start(tmp_path: Path) -> None:
    run = tmp_path / "tlm"
    run.mkdir()
    row = {
        "run": "tlm",
        "task": "tatoeba",
        "language": "de",
        "metric": "accuracy",
        "value": 50,
        "examples": 9,
    }
    (run / "results.jsonl").write_text(json.dumps(row) + "\n")
    record = {"name": "tlm", "encoder": "0123456789abcdef", "values": {"model": {"path": "/home/me/xlmr"}}}
    (run / "run.json").write_text(json.dumps(record))
    page = report([tmp_path], out=tmp_path / "page.html").read_text()
    assert page.count("xlmr (01234567)") == 2 and "/home/me" not in page


def test_files_of_links_are_drawn_worst_first(tmp_path: Path) -> None:
    pair = {"src": ["the", "house"], "tgt": ["das", "Haus"]}
    links, gold = tmp_path / "links.jsonl", tmp_path / "gold.jsonl"
    links.write_text("".join(json.dumps({"id": k, **pair, "links": [[0, k]]}) + "\n" for k in (0, 1)))
    gold.write_text("".join(json.dumps({"id": k, **pair, "sure": [[0, 0]]}) + "\n" for k in (0, 1)))
    text = report([links], out=tmp_path / "page.html", options=ReportOptions(gold=gold, worst=1)).read_text()
    assert "2 pairs, the 1 worst shown; over all pairs precision 50.0, recall 50.0, AER 50.00" in text
    run = write_run(tmp_path, "tlm", 1)
    with pytest.raises(ConfigurationError, match="`gold` checks word links, but no input has any"):
        report([run], out=tmp_path / "page.html", options=ReportOptions(gold=gold))
    (run / "figures").mkdir(exist_ok=True)
    (run / "figures" / "links.jsonl").write_text(links.read_text())
    with pytest.raises(ConfigurationError, match="`gold` checks word links, but no input has any"):
        report([run], out=tmp_path / "page.html", options=ReportOptions(gold=gold))


def test_results_in_memory_are_shown_as_those_of_a_file(tmp_path: Path) -> None:
    rows = [
        Result(run=run, task="pos", language=language, metric="accuracy", value=value, examples=100)
        for run, language, value in (("mlm", "de", 61.25), ("tlm", "de", 73.5), ("tlm", "fr", 70.0))
    ]
    read = report([append(tmp_path / "results.jsonl", rows)], out=tmp_path / "read.html")
    held = report(rows, out=tmp_path / "held.html")
    both = report(
        [tmp_path / "results.jsonl", rows[0].model_copy(update={"run": "xlm"})], out=tmp_path / "both.html"
    )
    made = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
    one, other = (made.sub("", page.read_text(encoding="utf-8")) for page in (read, held))
    assert one == other and "73.5" in one
    assert "xlm" in both.read_text(encoding="utf-8")


def test_one_run_and_a_generator_are_runs_and_none_is_an_error(tmp_path: Path) -> None:
    row = Result(run="tlm", task="pos", language="de", metric="accuracy", value=91.25, examples=10)
    file = append(tmp_path / "results.jsonl", [row])
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    for number, runs in enumerate((file, str(file), row, (run for run in [file]))):
        assert "91.2" in report(runs, out=tmp_path / f"{number}.html").read_text()
    for runs, told in (([], "got none"), ([5], "got 5")):
        with pytest.raises(ConfigurationError, match=f"runs must be folders, .* {told}"):
            report(runs, out=tmp_path / "none.html")
    assert not (tmp_path / "none.html").exists()


def test_characters_that_xml_forbids_are_left_out_of_the_page_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    row = {"src": ["a\ufffe", "\x00b"], "tgt": ["\uffffc"], "links": [[0, 0]]}
    links = tmp_path / "links.jsonl"
    links.write_text(json.dumps(row), encoding="utf-8")
    out = report([links], out=tmp_path / "report.html")
    text = out.read_text(encoding="utf-8")
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", text)
    assert {"a", "b", "c"} <= set(re.findall(r">(\w)<", text))
    assert re.search(r"report\.html: characters that XML does not allow, left out: [1-9]", caplog.text)
