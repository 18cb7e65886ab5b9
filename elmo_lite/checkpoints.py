"""Tensors and plain data <-> a folder: ``tensors.safetensors`` and ``data.json``. Knows no model class, reads no pickle.

A folder is written beside its final place and then renamed, so that an interrupted save leaves the old one intact.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

VERSION = 1
_DATA, _TENSORS = "data.json", "tensors.safetensors"


class CheckpointError(ValueError):
    """A checkpoint folder that cannot be read: the message names the file and what to do."""


def write(folder: str | Path, tensors: Mapping[str, Tensor], data: Mapping[str, Any]) -> None:
    """Write a checkpoint folder, replacing an older checkpoint there. ``FileExistsError`` if something else is there."""
    folder = Path(folder).expanduser().resolve()
    ours = (folder / _DATA).is_file() and (folder / _TENSORS).is_file()
    if folder.exists() and not ours and (folder.is_file() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} is there and is not a checkpoint; choose another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        temporary.chmod(0o755)
        content = json.dumps({"version": VERSION, **data}, ensure_ascii=False, indent=1)
        (temporary / _DATA).write_text(content + "\n", encoding="utf-8", newline="\n")
        (temporary / _TENSORS).write_bytes(save({name: t.detach().contiguous() for name, t in tensors.items()}))
        if folder.exists():
            for extra in folder.iterdir():  # a model card or notes beside the checkpoint stay
                if extra.name in (_DATA, _TENSORS):
                    continue
                if extra.is_dir():
                    shutil.copytree(extra, temporary / extra.name, symlinks=True)
                else:
                    shutil.copy2(extra, temporary / extra.name)
            old = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
            try:
                os.replace(folder, old / "checkpoint")
                try:
                    os.replace(temporary, folder)
                except BaseException:
                    os.replace(old / "checkpoint", folder)
                    raise
            except BaseException:
                old.rmdir()  # empty again: the old checkpoint is back in its place
                raise
            shutil.rmtree(old)
        else:
            os.replace(temporary, folder)
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(temporary)


def read(folder: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read a checkpoint folder: (tensors, data). ``CheckpointError`` names the file at fault and what to do."""
    folder = Path(folder).expanduser()
    if not folder.is_dir():
        raise CheckpointError(f"{folder}: no such checkpoint folder")
    try:
        data = json.loads((folder / _DATA).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{folder / _DATA} is missing: this is no checkpoint folder, or it is incomplete") from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{folder / _DATA} is damaged ({error}); save or copy the checkpoint again") from None
    if not isinstance(data, dict) or not isinstance(data.get("version"), int):
        raise CheckpointError(f"{folder / _DATA} is no checkpoint description: its version is missing")
    if data["version"] > VERSION:
        raise CheckpointError(
            f"{folder / _DATA} has version {data['version']}, this elmo_lite reads up to {VERSION}; upgrade elmo_lite"
        )
    try:
        tensors = load((folder / _TENSORS).read_bytes())
    except FileNotFoundError:
        raise CheckpointError(f"{folder / _TENSORS} is missing; copy the whole checkpoint folder") from None
    except (SafetensorError, ValueError, KeyError) as error:
        raise CheckpointError(f"{folder / _TENSORS} is damaged ({error}); save or copy the checkpoint again") from None
    return tensors, data
