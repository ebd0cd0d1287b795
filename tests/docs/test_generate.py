"""The lists of the reference pages are as the code is."""

from __future__ import annotations

import sys

import pytest
from pages import ROOT


@pytest.fixture(autouse=True)
def _docs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))


def test_the_reference_is_as_the_code_is() -> None:
    from generate import stale

    pages = [str(path.relative_to(ROOT)) for path, _ in stale()]
    assert not pages, f"not as the code is: {', '.join(pages)}; type `make docs-reference`"


def test_a_page_that_differs_is_found_and_written(
    tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import generate

    monkeypatch.setattr(generate, "PAGES", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# Mine\n\n<!-- generated: methods -->\nold\n<!-- end -->\n\nmore\n")
    monkeypatch.setattr(sys, "argv", ["generate.py", "--check"])
    assert generate.main() == 1 and "old" in page.read_text()
    monkeypatch.setattr(sys, "argv", ["generate.py"])
    assert generate.main() == 0 and "| `fast_align` |" in page.read_text()
    assert page.read_text().startswith("# Mine") and page.read_text().endswith("<!-- end -->\n\nmore\n")
    assert not list(generate.stale()) and str(page) in capsys.readouterr().out


def test_docstrings_explain_arguments_that_exist() -> None:
    from public_names import wrong_arguments

    assert not list(wrong_arguments())
