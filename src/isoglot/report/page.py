"""One self-contained HTML page: style sheet, script and charts inside, nothing fetched."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from importlib.resources import files
from itertools import groupby

from isoglot.report.export import to_csv, to_latex
from isoglot.report.headline import Headline
from isoglot.report.html import Markup, element, join
from isoglot.report.languages import language_name
from isoglot.report.plots import Drawn
from isoglot.report.table import Column, Row, Table, TableCell, figure

__all__ = [
    "Section",
    "figure_block",
    "headline_cards",
    "page",
    "results_section",
    "table_block",
]


class Section:
    """A part of the page with an entry in its contents.

    Args:
        id: anchor, of letters, digits and hyphens.
        title: heading.
        parts: what it holds; an empty section is left out.
        tables: listed below it in the contents.
    """

    def __init__(
        self,
        id: str,  # noqa: A002 - the attribute's name
        title: str,
        parts: Iterable[Markup],
        tables: Sequence[Table] = (),
    ) -> None:
        self.id, self.title, self.parts, self.tables = id, title, list(parts), tables


def page(title: str, lead: Sequence[Markup], sections: Sequence[Section], foot: str) -> str:
    """The whole document. A content security policy admits this page's own style and script and nothing else."""
    style, script = _asset("report.css"), _asset("report.js")
    policy = f"default-src 'none'; style-src '{_sha(style)}'; script-src '{_sha(script)}'; img-src data:"
    shown = [section for section in sections if section.parts]
    contents = [element("li", element("a", section.title, href=f"#{section.id}")) for section in shown]
    listed = [element("li", element("a", element("bdi", table.title), href=f"#table-{table.id}"))
              for section in shown for table in section.tables]  # fmt: skip
    every = element(
        "details", element("summary", f"{len(listed)} tables"), element("ul", *listed), class_="contents"
    )
    head = [
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("title", title),
        element("style", Markup(style)),
    ]
    body = [
        element("a", "Skip to the results", href="#main", class_="skip"),
        element("header", element("h1", element("bdi", title)), *lead, class_="top"),
        element("nav", element("ul", *contents), every if len(listed) > 1 else None, aria_label="Contents")
        if len(contents) > 1
        else None,
        element("main", *(_section(section) for section in shown), id="main"),
        element("footer", element("p", foot)),
        element("script", Markup(script)),
    ]
    document = element("html", element("head", *head), element("body", *body), lang="en")
    return f"<!DOCTYPE html>\n{document}\n"


def headline_cards(lines: Sequence[Headline]) -> Markup | None:
    """The headline: a card a task."""
    if not lines:
        return None
    cards = []
    for line in lines:
        spread = "" if line.score.sd is None else f" ± {figure(line.score.sd)}"
        value = element(
            "p",
            element("strong", figure(line.score.mean)),
            element("span", spread, class_="sd"),
            class_="big",
        )
        told: list[Markup | str] = [element("bdi", line.best, class_="run")]
        if line.against:
            told += [
                ", ",
                element("b", figure(line.difference, signed=True)),
                " against ",
                element("bdi", line.against),
            ]
        verdict = element("p", line.verdict, class_="verdict") if line.verdict else None
        cards.append(
            element("li", element("p", element("b", element("bdi", line.task)), class_="task"), value,
                    element("p", *told), verdict, element("p", line.metric, class_="over"))
        )  # fmt: skip
    return element("ul", *cards, class_="cards")


def table_block(table: Table, *, heading: bool = True) -> Markup:
    """A table with caption, notes and buttons that save it as CSV and LaTeX."""
    grouped = any(column.group for column in table.columns)
    rows = []
    if grouped:
        cells = [element("th", table.corner, scope="col", rowspan="2", class_="corner")]
        for name, members in groupby(table.columns, key=lambda c: c.group):
            cells.append(
                element(
                    "th",
                    element("bdi", name),
                    scope="colgroup",
                    colspan=str(len(list(members))),
                    class_="group",
                )
            )
        rows.append(element("tr", *cells))
    corner = [] if grouped else [element("th", table.corner, scope="col", class_="corner")]
    rows.append(element("tr", *corner, *(_heading(table, i) for i in range(len(table.columns)))))
    body: list[Markup] = []
    for row in table.rows:
        if row.kind == "reference" and not any("divider" in shown for shown in body):
            wide = str(len(table.columns) + 1)
            body.append(
                element(
                    "tr",
                    element("th", "The paper's other rows", colspan=wide, scope="rowgroup"),
                    class_="divider",
                )
            )
        body.append(_row(table, row))
    notes = [element("li", note, id=f"{table.id}-note-{i}") for i, note in enumerate(table.notes, 1)]
    inner = element(
        "table",
        element("thead", *rows),
        element("tbody", *body),
        class_="scores" if any(row.kind != "plain" for row in table.rows) else "scores listing",
    )
    scroller = element("div", inner, class_="scroll", tabindex="0", role="region", aria_label=table.title)
    return element(
        "div", element("h3", element("bdi", table.title)) if heading else None,
        element("p", table.caption, class_="caption") if table.caption else None,
        scroller, element("ol", *notes, class_="notes") if notes else None, _downloads(table),
        class_="table-block", id=f"table-{table.id}",
    )  # fmt: skip


def figure_block(drawn: Drawn) -> Markup:
    """A figure with its caption and its data behind a fold."""
    data = element(
        "details", element("summary", "The numbers"), table_block(drawn.data, heading=False), class_="data"
    )
    caption = element("figcaption", element("b", element("bdi", drawn.title)), " ", drawn.caption)
    return element("figure", caption, drawn.body, data, class_="wide" if drawn.wide else None)


def results_section(table: Table) -> list[Markup]:
    """All rows, with fields to filter by and headings to sort by; readable without the script, too."""
    kinds = ["run", "task", "language", "split", "metric"]
    selects = []
    for place, kind in enumerate(kinds):
        values = sorted({row.header if place == 0 else row.cells[place - 1].text for row in table.rows})
        options = [element("option", f"any {kind}", value="")]
        options += [element("option", value or "(none)", value=value or "(none)") for value in values]
        if len(values) > 1:
            choice = element("select", *options, data_column=str(place), aria_label=kind)
            selects.append(element("label", choice, class_="control"))
    search = element("input", type="search", placeholder="filter…", aria_label="Filter rows by text")
    heads = []
    for i, name in enumerate([table.corner, *(column.label for column in table.columns)]):
        heads.append(
            element(
                "th",
                element("button", name, type="button", data_column=str(i)),
                scope="col",
                aria_sort="none",
            )
        )
    body: list[Markup] = []
    for row in table.rows:
        cells = [element("th", element("bdi", row.header), scope="row", class_="run")]
        for cell in row.cells:
            number = None if cell.value is None else repr(cell.value)
            cells.append(
                element(
                    "td", element("bdi", cell.text), data_value=number, class_="number" if number else None
                )
            )
        body.append(element("tr", *cells))
    inner = element(
        "table", element("thead", element("tr", *heads)), element("tbody", *body), class_="all-results"
    )
    count = element("p", f"{len(table.rows):,} rows", class_="count", aria_live="polite")
    return [
        element("div", element("label", search, class_="control"), *selects, class_="filters screen"),
        count,
        element("div", inner, class_="scroll tall", tabindex="0", role="region", aria_label="All results"),
        _downloads(table),
    ]


def _section(section: Section) -> Markup:
    return element("section", element("h2", section.title), *section.parts, id=section.id)


def _heading(table: Table, place: int) -> Markup:
    column: Column = table.columns[place]
    named = element("bdi", column.label, title=column.title or None)
    full = column.title and column.title != column.label and not column.average and not column.group
    name = (
        element("span", element("bdi", column.title), class_="full")
        if full and column.title == language_name(column.label)
        else None
    )
    return element("th", named, name, scope="col", class_="average" if column.average else None)


def _row(table: Table, row: Row) -> Markup:
    detail = element("span", row.detail, class_="detail") if row.detail else None
    header = element(
        "th", element("bdi", row.header, dir="auto"), " " if detail else None, detail, scope="row"
    )
    return element(
        "tr", header, *(_cell(table, i, cell) for i, cell in enumerate(row.cells)), class_=row.kind
    )


def _cell(table: Table, place: int, cell: TableCell) -> Markup:
    text: Markup | str = element("b", cell.text) if cell.best else element("bdi", cell.text)
    spread = None if cell.sd is None else element("span", f" {cell.spread}", class_="sd")
    note = (
        element("sup", element("a", str(cell.note), href=f"#{table.id}-note-{cell.note}"))
        if cell.note
        else None
    )
    kinds = [
        name
        for name, on in (
            ("best", cell.best),
            ("muted", cell.muted),
            ("average", table.columns[place].average),
        )
        if on
    ]
    if cell.value is not None or cell.text in ("–", "n/c", ""):
        kinds.append("number")
    return element("td", text, spread, note, class_=" ".join(kinds) or None, title=cell.title or None)


def _downloads(table: Table) -> Markup:
    links = []
    for name, kind, text in (
        ("csv", "text/csv", to_csv(table)),
        ("tex", "application/x-tex", to_latex(table)),
    ):
        data = base64.b64encode(text.encode()).decode()
        label = "CSV" if name == "csv" else "LaTeX"
        links.append(
            element("a", label, href=f"data:{kind};charset=utf-8;base64,{data}", download=f"{table.id}.{name}",
                    class_="save", aria_label=f"Save {table.title} as {label}")
        )  # fmt: skip
    return element("p", "Save as ", join([links[0], " ", links[1]]), class_="downloads screen")


def _asset(name: str) -> str:
    return (files("isoglot.report") / "assets" / name).read_text(encoding="utf-8")


def _sha(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
