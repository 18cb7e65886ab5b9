"""Checkpoints: exact, without pickle, whole or not at all; anything wrong gives one error that names the file."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers import random_model
from safetensors.torch import load_file, save_file

import elmo_lite as el
from elmo_lite import checkpoints
from elmo_lite.checkpoints import CheckpointError, read, write

TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b/c": torch.tensor(7), "yes": torch.tensor(True)}
DATA = {"word": "苹果", "list": [1, 2.5, None], "nested": {"ü": ["\u2028"]}}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    random_model().save(tmp_path / "model")
    return tmp_path / "model"


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# ---------------------------------------------------------------- there and back


def test_round_trip_is_exact(tmp_path: Path) -> None:
    strided = torch.arange(12.0).reshape(3, 4).t()
    write(tmp_path / "one", {**TENSORS, "strided": strided, "half": torch.ones(2).half()}, DATA)
    tensors, data = read(tmp_path / "one")
    assert set(tensors) == {*TENSORS, "strided", "half"}
    for name, tensor in TENSORS.items():
        assert torch.equal(tensors[name], tensor) and tensors[name].dtype == tensor.dtype
    assert torch.equal(tensors["strided"], strided) and tensors["half"].dtype == torch.float16
    assert data == {"version": checkpoints.VERSION, **DATA}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one"]  # nothing temporary is left


def test_model_round_trip_is_exact(saved: Path) -> None:
    model, again = random_model(), el.load(saved)
    assert again.config == model.config and not again.training
    assert again.vocabulary.words == model.vocabulary.words and again.vocabulary.counts == model.vocabulary.counts
    for name, tensor in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor)
    text = "我的iPhone是苹果手机"
    np.testing.assert_array_equal(model.embed([text])[0], again.embed([text])[0])
    assert model.guess(text, 2) == again.guess(text, 2)
    assert again.tokenize("苹果公司 Bank") == model.tokenize("苹果公司 Bank") == ["苹果", "公司", "bank"]


def test_model_without_vocabulary_and_with_other_settings(tmp_path: Path) -> None:
    model = random_model(lang="en", vocabulary=False, lower=False, keep=("x-y",), n_layers=1)
    model.save(tmp_path / "m")
    again = el.load(str(tmp_path / "m"))
    assert again.vocabulary is None and again.softmax is None and again.config == model.config
    np.testing.assert_array_equal(model.embed(["The Bank"])[0], again.embed(["The Bank"])[0])


@pytest.mark.parametrize("name", ["模型 一号", "with blank", "über/deep/er", "苹果.model", "a'b&c"])
def test_paths_with_chinese_and_blanks(tmp_path: Path, name: str) -> None:
    model = random_model()
    model.save(tmp_path / name)
    np.testing.assert_array_equal(el.load(tmp_path / name).embed(["苹果"])[0], model.embed(["苹果"])[0])
    model.save(str(tmp_path / name))  # and over it
    assert el.load(str(tmp_path / name)).config == model.config


def test_relative_path_and_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    write("here", TENSORS, DATA)
    write("~/there", TENSORS, DATA)
    assert read("here")[1] == read("~/there")[1]
    assert (tmp_path / "there").is_dir() and not (tmp_path / "~").exists()


def test_half_precision_on_disk(saved: Path) -> None:
    """Shipped models are stored in half precision; they compute in single precision."""
    tensors, data = read(saved)
    data.pop("version")
    write(saved, {name: tensor.half() for name, tensor in tensors.items()}, data)
    assert all(tensor.dtype == torch.float16 for tensor in load_file(saved / "tensors.safetensors").values())
    again, model = el.load(saved), random_model()
    assert all(parameter.dtype == torch.float32 for parameter in again.parameters())
    (one,), (other,) = again.embed(["苹果 bank"]), model.embed(["苹果 bank"])
    assert one.dtype == np.float32
    np.testing.assert_allclose(one, other, atol=0.02 * np.abs(other).max())


def test_L6_no_pickle(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sorted(path.name for path in saved.iterdir()) == ["data.json", "tensors.safetensors"]
    load_file(saved / "tensors.safetensors")  # safetensors alone can read it
    json.loads((saved / "data.json").read_text(encoding="utf-8"))

    def forbidden(*_: Any, **__: Any) -> None:
        raise AssertionError("a pickle was read")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(f"pickle.{name}", forbidden)
    monkeypatch.setattr(torch, "load", forbidden)
    el.load(saved)


# ---------------------------------------------------------------- one clear error


def cut(name: str, size: float) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: int(len(content) * size)])

    return damage


def put(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def edit(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        data = json.loads((folder / "data.json").read_text(encoding="utf-8"))
        change(data)
        (folder / "data.json").write_text(json.dumps(data), encoding="utf-8")

    return damage


def lose_tensor(folder: Path) -> None:
    tensors = load_file(folder / "tensors.safetensors")
    tensors.pop("encoder.projection.bias")
    save_file(tensors, folder / "tensors.safetensors")


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "data.json missing": (remove("data.json"), "data.json.*missing"),
    "data.json empty": (put("data.json", b""), "data.json.*damaged"),
    "data.json cut short": (cut("data.json", 0.5), "data.json.*damaged"),
    "data.json in another encoding": (put("data.json", '{"version": 1, "苹果": 2}'.encode("gbk")), "data.json.*damaged"),
    "data.json is no description": (put("data.json", b"[1, 2]"), "data.json"),
    "data.json without version": (edit(lambda data: data.pop("version")), "data.json.*version"),
    "newer version": (edit(lambda data: data.update(version=99)), "data.json.*version 99.*upgrade"),
    "tensors missing": (remove("tensors.safetensors"), "tensors.safetensors.*missing"),
    "tensors empty": (put("tensors.safetensors", b""), "tensors.safetensors.*damaged"),
    "tensors cut short": (cut("tensors.safetensors", 0.9), "tensors.safetensors.*damaged"),
    "tensors cut in the header": (cut("tensors.safetensors", 0.01), "tensors.safetensors.*damaged"),
    "tensors are something else": (put("tensors.safetensors", b"\x80\x04pickle" * 50), "tensors.safetensors.*damaged"),
    "config missing": (edit(lambda data: data.pop("config")), "data.json.*config"),
    "config with other sizes": (edit(lambda data: data["config"].update(dim=13)), "tensors.safetensors.*don't fit"),
    "config with an unknown field": (edit(lambda data: data["config"].update(heads=8)), "data.json.*heads"),
    "config with a wrong type": (edit(lambda data: data["config"].update(filters=3)), "data.json"),
    "vocabulary missing": (edit(lambda data: data.pop("vocabulary")), "data.json.*vocabulary"),
    "vocabulary with a word too few": (edit(lambda data: data["vocabulary"]["words"].pop()), "data.json"),
    "history missing": (edit(lambda data: data.pop("history")), "data.json.*history"),
    "a tensor missing": (lose_tensor, "tensors.safetensors"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_gives_one_clear_error(saved: Path, name: str) -> None:
    damage, message = DAMAGES[name]
    damage(saved)
    with pytest.raises(CheckpointError, match=message) as caught:
        el.load(saved)
    assert str(saved) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("field", ["lang", "dim", "n_layers", "char_dim", "filters", "n_highway", "dropout", "lower", "keep"])
@pytest.mark.parametrize("value", [None, "x", -1, [], [[1]], {}])
def test_nonsense_in_the_config_never_gives_another_error(saved: Path, field: str, value: Any) -> None:
    edit(lambda data: data["config"].update({field: value}))(saved)
    try:
        model = el.load(saved)
    except CheckpointError as error:
        assert str(saved) in str(error)
    else:  # what loads must work
        assert model.embed(["苹果 bank"])[0].shape[1] >= 2


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="nowhere"):
        el.load(tmp_path / "nowhere")
    (tmp_path / "file").write_text("text", encoding="utf-8")
    with pytest.raises(CheckpointError, match="file"):
        el.load(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match=r"data\.json.*missing"):
        el.load(tmp_path / "empty")


# ---------------------------------------------------------------- writing never destroys


@pytest.mark.parametrize("failing_call", [1, 2])
def test_failure_at_the_rename_leaves_the_old_one(saved: Path, monkeypatch: pytest.MonkeyPatch, failing_call: int) -> None:
    before, calls, real = content_of(saved), 0, os.replace

    def failing(*arguments: Any, **keywords: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == failing_call:
            raise OSError("no")
        real(*arguments, **keywords)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError, match="no"):
        random_model(seed=5).save(saved)
    monkeypatch.undo()
    assert calls >= failing_call
    assert content_of(saved) == before
    el.load(saved)
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def test_failure_while_writing_leaves_the_old_one(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = content_of(saved)

    def interrupted(*_: Any, **__: Any) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoints, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        random_model(seed=5).save(saved)
    assert content_of(saved) == before
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def test_failure_of_the_first_save_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise OSError("no")

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError, match="no"):
        random_model().save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_unwritable_data_leaves_the_old_one(saved: Path) -> None:
    before = content_of(saved)
    model = random_model(seed=5)
    model.record = {"bad": {1, 2}}
    with pytest.raises(TypeError):
        model.save(saved)
    assert content_of(saved) == before


def test_a_checkpoint_is_replaced_and_notes_beside_it_stay(saved: Path) -> None:
    (saved / "README.md").write_text("模型卡", encoding="utf-8")
    model = random_model(seed=5)
    model.save(saved)
    np.testing.assert_array_equal(el.load(saved).embed(["苹果"])[0], model.embed(["苹果"])[0])
    assert (saved / "README.md").read_text(encoding="utf-8") == "模型卡"
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def test_folders_beside_a_checkpoint_stay(saved: Path) -> None:
    (saved / "figures").mkdir()
    (saved / "figures" / "loss.txt").write_text("mine", encoding="utf-8")
    random_model(seed=5).save(saved)
    assert (saved / "figures" / "loss.txt").read_text(encoding="utf-8") == "mine"


def test_other_folders_and_files_are_never_overwritten(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "notes").mkdir(parents=True)
    (work / "thesis.txt").write_text("years", encoding="utf-8")
    with pytest.raises(FileExistsError, match="work"):
        random_model().save(work)
    (tmp_path / "file").write_text("years", encoding="utf-8")
    with pytest.raises(FileExistsError, match="file"):
        random_model().save(tmp_path / "file")
    assert content_of(tmp_path) == {"file": b"years", os.path.join("work", "thesis.txt"): b"years"}
    (tmp_path / "empty").mkdir()
    random_model().save(tmp_path / "empty")
    el.load(tmp_path / "empty")


def test_a_folder_with_another_data_json_is_never_overwritten(tmp_path: Path) -> None:
    """data.json is a common name: it alone does not make a folder a checkpoint."""
    (tmp_path / "site" / "pages").mkdir(parents=True)
    (tmp_path / "site" / "data.json").write_text('{"title": "my site"}', encoding="utf-8")
    (tmp_path / "site" / "pages" / "one.txt").write_text("years", encoding="utf-8")
    before = content_of(tmp_path)
    with pytest.raises(FileExistsError, match="site"):
        random_model().save(tmp_path / "site")
    assert content_of(tmp_path) == before


def test_a_damaged_checkpoint_can_be_replaced(saved: Path) -> None:
    cut("tensors.safetensors", 0.5)(saved)
    random_model(seed=5).save(saved)
    el.load(saved)


def test_copied_and_renamed_folder_loads(saved: Path) -> None:
    shutil.copytree(saved, saved.parent / "copy")
    shutil.rmtree(saved)
    assert el.load(saved.parent / "copy").config == random_model().config
