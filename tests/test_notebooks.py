"""The notebooks: same code in both languages, committed executed, and running from top to bottom in a fresh kernel."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from tools.run_notebooks import ROOT, all_notebooks, read, run

NAMES = sorted({path.name for path in all_notebooks()})
LANGUAGE_CELL = re.compile(r'^el\.set_language\("(zh|en)"\)$', re.MULTILINE)


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def label(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def test_the_three_lessons_are_there_in_both_languages() -> None:
    assert {name[:2] for name in NAMES} >= {"01", "03", "05"}
    for lang in ("zh", "en"):
        assert sorted(path.name for path in (ROOT / "notebooks" / lang).glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_hold_the_same_code(name: str) -> None:
    chinese, english = (read(ROOT / "notebooks" / lang / name) for lang in ("zh", "en"))
    assert [cell.id for cell in chinese.cells] == [cell.id for cell in english.cells]
    assert [cell.cell_type for cell in chinese.cells] == [cell.cell_type for cell in english.cells]
    choices = []
    for ours, theirs in zip(code_cells(chinese), code_cells(english), strict=True):
        choices.append((LANGUAGE_CELL.findall(ours.source), LANGUAGE_CELL.findall(theirs.source)))
        assert LANGUAGE_CELL.sub("", ours.source) == LANGUAGE_CELL.sub("", theirs.source)
    assert [pair for pair in choices if pair != ([], [])] == [(["zh"], ["en"])]


@pytest.mark.parametrize("path", all_notebooks(), ids=label)
def test_committed_as_executed_and_readable(path: Path) -> None:
    notebook = read(path)
    assert "widgets" not in notebook.metadata
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    assert any("image/png" in output.get("data", {}) for output in outputs), "no figure in it"
    assert max(len(cell.source.splitlines()) for cell in cells) <= 15
    assert path.stat().st_size < 1_500_000


@pytest.mark.parametrize("path", all_notebooks(), ids=label)
def test_a_still_figure_stands_before_each_widget(path: Path) -> None:
    pictured = False
    for cell in code_cells(read(path)):
        for output in cell.outputs:
            data = output.get("data", {})
            pictured = pictured or "image/png" in data
            progress_bar = "%|" in str(data)
            if "application/vnd.jupyter.widget-view+json" in data and not progress_bar:
                assert pictured, f"{label(path)}: a widget before any figure"


@pytest.mark.notebooks
@pytest.mark.parametrize("path", all_notebooks(), ids=label)
def test_runs_from_top_to_bottom_in_a_new_kernel(path: Path) -> None:
    fresh = run(path)
    assert all(cell.execution_count for cell in code_cells(fresh))
