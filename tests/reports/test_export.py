from __future__ import annotations

import csv
import io
from pathlib import Path

from isoglot.reports.export import to_csv, to_latex, to_text, write_tables
from isoglot.reports.table import Column, Table, TableCell, TableRow, shown_number

HOSTILE = '=cmd|"/c calc"!A1, & 50% of $x_1#{}~^\\ <b>'


def table() -> Table:
    rows = [
        TableRow(
            HOSTILE, (TableCell("71.3", 71.3456, 0.42, best=True), TableCell("−0.5", -0.5)), "ours", "3 seeds"
        ),
        TableRow("paper", (TableCell("70.0", 70.0, note=1), TableCell("–")), "paper"),
    ]
    return Table(
        "demo", "Title_1", "Caption 5%", "run", [Column("de"), Column("Δ", average=True)], rows, ["a_note"]
    )


def test_csv_reads_back_with_deviations_apart_and_formulas_disarmed() -> None:
    heading, first, second = csv.reader(io.StringIO(to_csv(table()), newline=""))
    assert heading == ["run", "kind", "detail", "de", "de sd", "Δ"]
    assert first == ["'" + HOSTILE, "ours", "3 seeds", "71.3456", "0.42", "-0.5"]
    assert second == ["paper", "paper", "", "70", "", "–"]


def test_latex_escapes_every_special_character() -> None:
    text = to_latex(table())
    for escaped in (r"\%", r"\&", r"\$", r"\_", r"\#", r"\{\}", r"\textasciitilde{}", r"\textasciicircum{}",
                    r"\textbackslash{}", r"\textless{}b\textgreater{}", r"\textbar{}"):  # fmt: skip
        assert escaped in text
    assert r"\textbf{71.3} {\footnotesize $\pm$ 0.4}" in text
    assert r"70.0$^{1}$" in text and r"$^{1}$ a\_note" in text
    lines = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert all(line.replace(r"\&", "").count("&") == 2 for line in lines)


def test_latex_holds_what_a_compiler_takes_or_says_what_it_needs() -> None:
    plain = Table("t", "Δ ↓ … “ρ ≥ 0”", "T∘S", "run", [Column("é")], [TableRow("[a] *", (TableCell("×"),))])
    text = to_latex(plain)
    assert {c for c in text if not c.isascii()} == {"é"}
    assert "\n{}[a] *" in text, "a bracket after a line's end would be its option"
    assert text.startswith(r"\begin{table}")
    arabic = Table("t", "", "", "word", [Column("x")], [TableRow("بيت\x00\u202e", (TableCell("1"),))])
    assert "بيت" in to_latex(arabic)
    assert "\x00" not in to_latex(arabic) and "\u202e" not in to_latex(arabic)


def test_text_lines_up() -> None:
    lines = to_text(table()).splitlines()
    assert lines[0] == "Title_1"
    assert lines[3].rstrip().endswith("Δ") and "*71.3 ±0.4" in lines[4] and "70.0 [1]" in lines[5]
    assert lines[-1] == "[1] a_note"


def test_columns_of_a_frame_have_names_of_their_own() -> None:
    columns = [Column("EM", group="en"), Column("F1", group="en"), Column("EM", group="de"), Column("avg")]
    table = Table("t", "t", "", "run", columns)
    assert list(table.to_frame().columns) == ["run", "en EM", "en F1", "de EM", "avg"]


def test_files_are_written_beside_each_other(tmp_path: Path) -> None:
    written = write_tables([table()], tmp_path / "tables")
    assert [p.name for p in written] == ["demo.csv", "demo.tex"]
    assert written[0].read_bytes().count(b"\r\n") == 3


def test_figures_have_a_true_minus_and_no_signed_zero() -> None:
    assert [
        shown_number(-1.26),
        shown_number(1.0, signed=True),
        shown_number(0.04, signed=True),
        shown_number(-0.04),
    ] == [
        "−1.3",
        "+1.0",
        "±0.0",
        "0.0",
    ]


def test_no_cell_of_csv_is_run_by_a_spreadsheet() -> None:
    for text in ("=1+1", "+1", "-1", "@A1", " =1+1", "\n=1", "\t=1", "＝1+1"):
        made = Table("t", "t", "", "run", [Column("de")], [TableRow(text, (TableCell(text),), "ours")])
        _, row = csv.reader(io.StringIO(to_csv(made), newline=""))
        assert row[0] == row[3] == f"'{text}"
