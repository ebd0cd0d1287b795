"""Tables as CSV, LaTeX and plain text."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from isoglot.reports.table import Table, TableCell, TableRow
from isoglot.runs.files import write_text

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "−": "$-$", "±": r"$\pm$", "–": "--", "—": "---", "×": r"$\times$", "·": r"$\cdot$",
    "∘": r"$\circ$", "†": r"$\dagger$", "‡": r"$\ddagger$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "→": r"$\to$",
    "≤": r"$\leq$", "≥": r"$\geq$", "≈": r"$\approx$", "…": r"\ldots{}", "“": "``", "”": "''", "‘": "`", "’": "'",
    "α": r"$\alpha$", "β": r"$\beta$", "λ": r"$\lambda$", "μ": r"$\mu$", "ρ": r"$\rho$", "τ": r"$\tau$",
    "Δ": r"$\Delta$",
    "\n": " ", "\r": " ", "\t": " ",
}  # fmt: skip


def to_csv(table: Table) -> str:
    """Comma-separated values with a heading; standard deviations in columns of their own, numbers unrounded.

    Texts that a spreadsheet would take for a formula are led in by an apostrophe.
    """
    spread = [any(row.cells[i].sd is not None for row in table.rows) for i in range(len(table.columns))]
    heading = [table.corner, "kind", "detail"]
    for column, has_sd in zip(table.columns, spread, strict=True):
        name = f"{column.group} {column.label}".strip()
        heading += [name, f"{name} sd"] if has_sd else [name]
    lines = [[_plain(text) for text in heading]]
    for row in table.rows:
        line = [_plain(row.header), row.kind, _plain(row.detail)]
        for cell, has_sd in zip(row.cells, spread, strict=True):
            line.append(_plain(cell.text) if cell.value is None else f"{cell.value:.10g}")
            if has_sd:
                line.append("" if cell.sd is None else f"{cell.sd:.10g}")
        lines.append(line)
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(lines)
    return out.getvalue()


def to_latex(table: Table) -> str:
    """A ``table`` float for LaTeX with ``booktabs`` and ``inputenc``; letters beyond Latin need XeLaTeX or LuaLaTeX."""
    count = len(table.columns)
    lines = [r"\begin{table}", r"\centering", f"\\caption{{{_tex(table.title)}. {_tex(table.caption)}}}",
             f"\\label{{tab:{table.id}}}", f"\\begin{{tabular}}{{l{'r' * count}}}", r"\toprule"]  # fmt: skip
    if table.groups:
        cells = [f"\\multicolumn{{{size}}}{{c}}{{{_tex(name)}}}" for name, size in table.groups]
        lines.append(" & ".join(["", *cells]) + r" \\")
    lines.append(" & ".join([_tex(table.corner), *(_tex(column.label) for column in table.columns)]) + r" \\")
    lines.append(r"\midrule")
    lines += [_tex_row(row) for row in table.rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [
        f"\\par\\footnotesize $^{{{number}}}$ {_tex(note)}" for number, note in enumerate(table.notes, 1)
    ]
    return "\n".join([*lines, r"\end{table}", ""])


def to_text(table: Table) -> str:
    """The table for a terminal, columns lined up, notes below."""
    heading = [table.corner, *(f"{column.group} {column.label}".strip() for column in table.columns)]
    lines = [heading]
    for row in table.rows:
        header = row.header if row.kind in ("ours", "reference", "plain") else f"  {row.header}"
        detail = f" ({row.detail})" if row.detail else ""
        lines.append([header + detail, *(_text(cell) for cell in row.cells)])
    shown = aligned(lines, right=True)
    notes = [f"[{number}] {note}" for number, note in enumerate(table.notes, 1)]
    return "\n".join([f"{table.title}", table.caption, "", *shown, *([""] if notes else []), *notes, ""])


def aligned(lines: Sequence[Sequence[str]], *, right: bool = False) -> list[str]:
    """Lines of cells as texts with columns of one width; with ``right`` all columns but the first end together."""
    from rich.cells import cell_len  # noqa: PLC0415 - knows the width of wide characters

    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    shown = []
    for line in lines:
        gaps = [" " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True)]
        cells = [g + c if right and i else c + g for i, (c, g) in enumerate(zip(line, gaps, strict=True))]
        shown.append("  ".join(cells).rstrip())
    return shown


FORMS = {"text": to_text, "csv": to_csv, "latex": to_latex}
"""Forms that the commands print tables in."""


def write_tables(tables: Sequence[Table], folder: str | Path) -> list[Path]:
    """Write each table as ``<id>.csv`` and ``<id>.tex``."""
    return [
        write_text(Path(folder) / f"{table.id}{suffix}", text)
        for table in tables
        for suffix, text in ((".csv", to_csv(table)), (".tex", to_latex(table)))
    ]


def _plain(text: str) -> str:
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _tex(text: str) -> str:
    shown = (c for c in text if c in _LATEX or c.isprintable())
    return "".join(_LATEX.get(c, c) for c in shown)


def _tex_row(row: TableRow) -> str:
    header = _tex(row.header) + (f" {{\\footnotesize ({_tex(row.detail)})}}" if row.detail else "")
    indent = "" if row.kind in ("ours", "reference", "plain") else r"\quad "
    if header.startswith(("[", "*")):  # LaTeX would take them for options of the line's end before
        indent = "{}"
    return " & ".join([indent + header, *(_tex_cell(cell) for cell in row.cells)]) + r" \\"


def _tex_cell(cell: TableCell) -> str:
    text = _tex(cell.text)
    if cell.best:
        text = f"\\textbf{{{text}}}"
    if cell.sd is not None:
        text += f" {{\\footnotesize $\\pm$ {cell.sd:.{cell.digits}f}}}"
    return text + (f"$^{{{cell.note}}}$" if cell.note else "")


def _text(cell: TableCell) -> str:
    spread = f" {cell.spread}" if cell.spread else ""
    star = "*" if cell.best else ""
    return f"{star}{cell.text}{spread}" + (f" [{cell.note}]" if cell.note else "")
