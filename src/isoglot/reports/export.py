"""Tables as CSV, LaTeX and plain text.

Pandas' Styler is not used: its HTML needs inline styles, which the page's policy forbids, and its LaTeX escapes ASCII
characters alone.
"""

import csv
import io
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from isoglot.reports.table import Table
from isoglot.runs.files import write_text

_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "−": "$-$", "±": r"$\pm$", "–": "--", "—": "---", "×": r"$\times$", "·": r"$\cdot$",
    "∘": r"$\circ$", "†": r"$\dagger$", "‡": r"$\ddagger$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "→": r"$\to$",
    "≤": r"$\leq$", "≥": r"$\geq$", "≈": r"$\approx$", "…": r"\ldots{}", "“": "``", "”": "''", "‘": "`", "’": "'",
    "α": r"$\alpha$", "β": r"$\beta$", "λ": r"$\lambda$", "μ": r"$\mu$", "ρ": r"$\rho$", "τ": r"$\tau$",
    "Δ": r"$\Delta$", "\n": " ", "\r": " ", "\t": " ",
})  # fmt: skip


def to_csv(table: Table) -> str:
    """Write a table as comma-separated values, numbers unrounded, with a line of headings.

    1. A column with standard deviations is followed by a column for them: ``de,de sd``.
    2. A text that a spreadsheet would take for a formula begins with an apostrophe: ``'=cmd``.
    """
    # Whether each column has standard deviations.
    have_sd = [any(row.cells[i].sd is not None for row in table.rows) for i in range(len(table.columns))]
    heading = [table.corner, "kind", "detail"]
    for name, has_sd in zip(table.full_headings, have_sd, strict=True):
        heading += [name, f"{name} sd"] if has_sd else [name]
    lines = [[_disarmed(text) for text in heading]]
    for row in table.rows:
        line = [_disarmed(row.header), row.kind, _disarmed(row.detail)]
        for cell, has_sd in zip(row.cells, have_sd, strict=True):
            line.append(_disarmed(cell.text) if cell.value is None else f"{cell.value:.10g}")
            if has_sd:
                line.append("" if cell.sd is None else f"{cell.sd:.10g}")
        lines.append(line)
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(lines)
    return out.getvalue()


_FORMULA_SIGNS = tuple("=+-@")
"""First characters of a formula in a spreadsheet (OWASP, *CSV injection*)."""


def _disarmed(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run.

    Some spreadsheets ignore blanks at the start, and take the full-width ``＝`` for ``=``.
    """
    first = unicodedata.normalize("NFKC", text.lstrip())[:1]
    return f"'{text}" if first in _FORMULA_SIGNS or text[:1] in ("\t", "\r", "\n") else text


def to_latex(table: Table) -> str:
    """Write a table as a float for LaTeX, for the packages ``booktabs`` and ``inputenc``.

    Letters beyond Latin need XeLaTeX or LuaLaTeX.
    """
    count = len(table.columns)
    lines = [r"\begin{table}", r"\centering", f"\\caption{{{_tex(table.title)}. {_tex(table.caption)}}}",
             f"\\label{{tab:{table.id}}}", f"\\begin{{tabular}}{{l{'r' * count}}}", r"\toprule"]  # fmt: skip
    if table.groups:
        cells = [f"\\multicolumn{{{size}}}{{c}}{{{_tex(name)}}}" for name, size in table.groups]
        lines.append(" & ".join(["", *cells]) + r" \\")
    lines.append(" & ".join(map(_tex, table.headings)) + r" \\")
    lines.append(r"\midrule")
    for row in table.rows:
        header = _tex(row.header) + (f" {{\\footnotesize ({_tex(row.detail)})}}" if row.detail else "")
        indent = r"\quad " if row.is_indented else ""
        # Behind the `\\` of the line before, LaTeX takes [ and * for its options; empty braces keep them apart.
        if header.startswith(("[", "*")):
            indent = "{}"
        cells = [indent + header]
        for cell in row.cells:
            text = f"\\textbf{{{_tex(cell.text)}}}" if cell.best else _tex(cell.text)
            spread = "" if cell.sd is None else f" {{\\footnotesize $\\pm$ {cell.sd:.{cell.digits}f}}}"
            cells.append(text + spread + (f"$^{{{cell.note}}}$" if cell.note else ""))
        lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [f"\\par\\footnotesize $^{{{i}}}$ {_tex(note)}" for i, note in enumerate(table.notes, 1)]
    return "\n".join([*lines, r"\end{table}", ""])


def _tex(text: str) -> str:
    """Escape a text for LaTeX; characters that cannot be printed are left out."""
    return "".join(c for c in text if c in "\n\r\t" or c.isprintable()).translate(_LATEX)


def to_text(table: Table) -> str:
    """Write a table for a terminal, with columns lined up and notes below."""
    lines = [[table.corner, *table.full_headings]]
    for row in table.rows:
        indent = "  " if row.is_indented else ""
        detail = f" ({row.detail})" if row.detail else ""
        line = [indent + row.header + detail]
        for cell in row.cells:
            # *72.3 ±0.4 [1] is the best of its column, with a deviation and note 1.
            best = "*" if cell.best else ""
            spread = f" {cell.spread}" if cell.spread else ""
            note = f" [{cell.note}]" if cell.note else ""
            line.append(best + cell.text + spread + note)
        lines.append(line)
    notes = [f"[{number}] {note}" for number, note in enumerate(table.notes, 1)]
    blank = [""] if notes else []
    return "\n".join([table.title, table.caption, "", *aligned(lines, right=True), *blank, *notes, ""])


def aligned(lines: Sequence[Sequence[str]], *, right: bool = False) -> list[str]:
    """Pad the cells of lines so that columns line up, and join each line to one text.

    ``right``: Whether columns after the first are flush right, as numbers are; otherwise all are flush left.

    Example:
        >>> aligned([["run", "de"], ["tlm", "7.5"]], right=True)
        ['run   de', 'tlm  7.5']
    """
    from rich.cells import cell_len  # noqa: PLC0415 - knows the width of wide characters

    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    texts = []
    for line in lines:
        gaps = [" " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True)]
        cells = []
        for place, (cell, gap) in enumerate(zip(line, gaps, strict=True)):
            is_flush_right = right and place > 0
            cells.append(gap + cell if is_flush_right else cell + gap)
        texts.append("  ".join(cells).rstrip())
    return texts


FORMS = {"text": to_text, "csv": to_csv, "latex": to_latex}
"""Values of ``--format`` and the functions that write them."""


def write_tables(tables: Sequence[Table], folder: str | Path) -> list[Path]:
    """Write each table as ``ID.csv`` and ``ID.tex``, and return the paths."""
    written = []
    for table in tables:
        written.append(write_text(Path(folder) / f"{table.id}.csv", to_csv(table)))
        written.append(write_text(Path(folder) / f"{table.id}.tex", to_latex(table)))
    return written
