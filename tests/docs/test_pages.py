"""Every code block of README and docs runs, or says why it cannot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import ROOT, Page, check_commands, pages

LONG = {
    "docs/coming_from.md",
    "docs/extend/task.md",
    "docs/guides/billion_pairs.md",
    "docs/guides/classify.md",
    "docs/guides/derived_languages.md",
    "docs/guides/inspect.md",
    "docs/guides/miniature_world.md",
    "docs/guides/python.md",
    "docs/guides/reproduce_a_table.md",
    "docs/guides/translation_memories.md",
    "docs/guides/continue_an_encoder.md",
    "docs/guides/export.md",
    "docs/guides/notebook.md",
    "docs/guides/project.md",
    "docs/guides/sweeps.md",
    "docs/guides/train_an_aligner.md",
    "docs/guides/transfer.md",
    "docs/guides/write_a_recipe.md",
    "docs/guides/align.md",
    "docs/guides/filter.md",
    "docs/guides/mine.md",
    "docs/guides/align_sentences.md",
    "docs/guides/gold_links.md",
    "docs/extend/aligner.md",
    "docs/extend/study_table.md",
}
"""Pages that train or convert an encoder, or run many commands: one to some ten seconds."""


@pytest.mark.timeout(1800)  # pages are long, and machines are busy
@pytest.mark.parametrize(
    "path",
    [pytest.param(p, id=str(p), marks=[pytest.mark.slow] if str(p) in LONG else []) for p in pages()],
)
def test_blocks_run(path: Path, tmp_path: Path) -> None:
    Page(path, tmp_path).run()


def test_long_pages_exist() -> None:
    assert {str(p) for p in pages()} >= LONG


@pytest.mark.parametrize("page", ["README.md", "docs/start/objectives.md"])
def test_figures_stand_in_the_results(page: str) -> None:
    tables = [line for line in (ROOT / page).read_text().splitlines() if line.startswith("|")]
    figures = set(re.findall(r"\d+\.\d+", " ".join(tables)))
    results = " ".join(path.read_text() for path in (ROOT / "docs/results").glob("*.md"))
    assert figures and not [figure for figure in sorted(figures) if figure not in results]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("isoglot prepair a b", "no command"),
        ("isoglot align a b --outt c", "no option --outt"),
        ("isoglot pretrain no/such --out x", "no recipe"),
        ("torchrun -m isoglot.cli pretrain tlm --resum", "no option --resum"),
        ("isoglot analyse alignment x --lexikon y", "no option --lexikon"),
    ],
)
def test_a_command_that_does_not_exist_is_found(line: str, problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        check_commands(line, "page:1")


def test_commands_in_running_text_and_tables_exist() -> None:
    spans = [
        (page, span)
        for page in pages()
        for span in re.findall(r"(?<!`)`(isoglot [^`]+)`", (ROOT / page).read_text())
        if not re.search(r"\b(COMMAND|KIND|weam/table3)\b", span)  # to be filled in, or made on that page
    ]
    assert len(spans) > 50
    for page, span in spans:
        check_commands(" ".join(span.split()), str(page))


def test_a_page_that_says_something_else_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text('```bash\necho one two\n```\n\n```text title="Output"\none ...\n```\n')
    done = Page(page, tmp_path)
    done.run()
    assert (done.ran, done.skipped) == (1, 0)
    page.write_text(page.read_text().replace("one ...", "two"))
    with pytest.raises(AssertionError, match="the page says"):
        Page(page, tmp_path).run()
    page.write_text('<!--- skip: next "needs a network" -->\n```bash\nexit 1\n```\n')
    done = Page(page, tmp_path)
    done.run()
    assert (done.ran, done.skipped) == (0, 1)
