"""Run notebooks from top to bottom in a fresh kernel and write their outputs back, tidied so that diffs stay small.

python tests/tools/run_notebooks.py            all of notebooks/zh and notebooks/en
python tests/tools/run_notebooks.py FILE...    these only

A notebook that fails is named with its cell and left as it was; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

ROOT = Path(__file__).resolve().parents[2]
SECONDS_A_CELL = 900


class NotebookError(Exception):
    """A notebook that did not run to its end; the message names notebook and cell."""


def all_notebooks() -> list[Path]:
    """Every notebook of both languages (solutions lie one folder deeper and are not among them)."""
    return sorted(path for lang in ("zh", "en") for path in (ROOT / "notebooks" / lang).glob("*.ipynb"))


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)


def run(path: Path, seconds_a_cell: int = SECONDS_A_CELL) -> nbformat.NotebookNode:
    """The notebook with fresh outputs, run in its own folder; ``NotebookError`` names the cell that failed."""
    notebook = read(path)
    client = NotebookClient(
        notebook,
        timeout=seconds_a_cell,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        store_widget_state=False,  # GitHub refuses a notebook whose widget state is incomplete
        record_timing=False,
    )
    place = [0]
    client.on_cell_start = lambda cell, cell_index: place.__setitem__(0, cell_index)
    try:
        client.execute()
    except CellExecutionError as error:
        raise NotebookError(f"{_where(path, notebook, place[0])}: {error.ename}: {error.evalue}\n{error.traceback}") from error
    except CellTimeoutError as error:
        raise NotebookError(f"{_where(path, notebook, place[0])}: took more than {seconds_a_cell} s") from error
    except DeadKernelError as error:
        raise NotebookError(f"{_where(path, notebook, place[0])}: the kernel died") from error
    tidy(notebook)
    for number, cell in enumerate(notebook.cells):
        if str(ROOT) in str(cell.get("outputs", "")):  # a path of one machine means nothing on another
            raise NotebookError(f"{_where(path, notebook, number)}: the output names the folder {ROOT}")
    return notebook


def _where(path: Path, notebook: nbformat.NotebookNode, number: int) -> str:
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return f"{name}, cell {number + 1} of {len(notebook.cells)} (id {notebook.cells[number].get('id', '?')})"


def tidy(notebook: nbformat.NotebookNode) -> None:
    """Take out what differs from machine to machine and what GitHub cannot show."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata["language_info"] = {
        "name": "python",
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "pygments_lexer": "ipython3",
        "version": f"{sys.version_info.major}.{sys.version_info.minor}",
    }
    for cell in notebook.cells:
        for stamp in ("execution", "ExecuteTime"):
            cell.metadata.pop(stamp, None)


def write(path: Path, notebook: nbformat.NotebookNode) -> None:
    """Write the notebook in one go, with the same line ends everywhere."""
    nbformat.validate(notebook)
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(nbformat.writes(notebook).rstrip("\n") + "\n", encoding="utf-8", newline="\n")
    os.replace(temporary, path)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run notebooks and write their outputs back.")
    parser.add_argument("notebooks", nargs="*", type=Path, help="notebooks to run (all when left out)")
    parser.add_argument("--seconds", type=int, default=SECONDS_A_CELL, help="longest time for one cell")
    options = parser.parse_args(arguments)
    paths = [path.resolve() for path in options.notebooks] or all_notebooks()
    if not paths:
        print("no notebooks found", file=sys.stderr)
        return 1
    failed = 0
    for path in paths:
        began = time.perf_counter()
        try:
            write(path, run(path, options.seconds))
        except (NotebookError, OSError, ValueError, nbformat.ValidationError) as error:
            failed += 1
            print(f"FAILED {error}", file=sys.stderr, flush=True)
        else:
            print(f"ran {path.name} in {path.parent.name}/ ({time.perf_counter() - began:.0f} s)", flush=True)
    if failed:
        print(f"{failed} of {len(paths)} notebooks failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
