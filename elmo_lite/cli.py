"""The program ``elmo-lite`` (also ``python -m elmo_lite``): one function a subcommand, ``_COMMANDS`` lists them.

Subcommands import what they need themselves, so that ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import importlib.util
import json
import locale
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from . import __version__
from .language import LANGUAGES, Language, check_language, say, set_language


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit status: 0, 1 for an error that was reported, 130 after Ctrl-C."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a console that cannot show 苹果 shows ? instead of failing
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--language", choices=LANGUAGES, default=_language_of_system())
    set_language(first.parse_known_args(given)[0].language)  # before the help texts are chosen
    parser = _parser(first)
    options, rest = parser.parse_known_args(given)
    if rest and not options.passes_on:
        parser.error(say(zh=f"不认识的参数：{' '.join(rest)}", en=f"unknown arguments: {' '.join(rest)}"))
    options.rest = rest
    try:
        return int(options.run(options))
    except (ValueError, OSError, TypeError) as error:
        print(f"elmo-lite: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(say(zh="已中断。", en="interrupted"), file=sys.stderr)
        return 130


def _parser(first: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="elmo-lite",
        parents=[first],
        allow_abbrev=False,
        description=say(zh="静态与上下文词向量教学套件。", en="Static and contextual word vectors you can take apart."),
        epilog=say(zh="--language 选择提示的语言（zh 或 en）。", en="--language chooses the language of messages (zh or en)."),
    )
    parser.add_argument("--version", action="version", version=f"elmo-lite {__version__}")
    commands = parser.add_subparsers(title=say(zh="命令", en="commands"), metavar="COMMAND", required=True)
    for add in _COMMANDS:
        add(commands)
    return parser


def _command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], about: str, *, passes_on: bool = False
) -> argparse.ArgumentParser:
    """Add a subcommand; with ``passes_on`` unknown arguments are left for it in ``options.rest``."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=about, description=about, allow_abbrev=False)
    parser.set_defaults(run=run, passes_on=passes_on)
    return parser


# ---------------------------------------------------------------- lab


def _add_lab(commands: Any) -> None:
    about = say(
        zh="打开 JupyterLab，进入笔记本文件夹；其余参数原样交给 JupyterLab（如 --no-browser）",
        en="open JupyterLab in the notebooks folder; other arguments go to JupyterLab as they are (--no-browser ...)",
    )
    _command(commands, "lab", _lab, about, passes_on=True)


def _lab(options: argparse.Namespace) -> int:
    if importlib.util.find_spec("jupyterlab") is None:
        raise FileNotFoundError(
            say(
                zh="没有安装 JupyterLab；请运行：pip install jupyterlab",
                en="JupyterLab is not installed: pip install jupyterlab",
            )
        )
    from jupyterlab.labapp import LabApp

    folder = notebooks_folder()
    arguments = [f"--ServerApp.root_dir={folder}", *options.rest]
    if hasattr(os, "geteuid") and os.geteuid() == 0 and "--allow-root" not in arguments:
        arguments.append("--allow-root")  # in a container one is root; without this JupyterLab would not start
    print(say(zh=f"JupyterLab 的根文件夹：{folder}", en=f"JupyterLab opens in {folder}"), flush=True)
    LabApp.launch_instance(arguments)
    return 0


def notebooks_folder() -> Path:
    """``notebooks/`` of the checkout this package runs from; the current folder where there is none."""
    root = Path(__file__).resolve().parent.parent
    return root / "notebooks" if (root / "pyproject.toml").is_file() and (root / "notebooks").is_dir() else Path.cwd()


# ---------------------------------------------------------------- embed


def _add_embed(commands: Any) -> None:
    about = say(
        zh="打印一个句子的词元与各层向量的长度，或存为 .npz", en="print a sentence's tokens and the length of their vectors"
    )
    parser = _command(commands, "embed", _embed, about)
    parser.add_argument("sentence", help=say(zh="句子（加引号）", en="the sentence, in quotation marks"))
    parser.add_argument(
        "--model",
        help=say(
            zh="zh、en 或存档文件夹；默认按句子的文字选", en="zh, en or a checkpoint folder; by default chosen by the script"
        ),
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE.npz",
        help=say(
            zh="存为 npz：tokens，以及 layers（层数, 词元数, 维数）",
            en="write an npz file with tokens and layers (n_layers, n_tokens, dim)",
        ),
    )


def _embed(options: argparse.Namespace) -> int:
    import numpy as np

    from .elmo import load
    from .text import detect

    sentence = _as_typed(options.sentence)
    model = load(options.model or detect(sentence))
    tokens = model.tokenize(sentence)
    if not tokens:
        raise ValueError(say(zh="句子是空的", en="the sentence is blank"))
    (layers,) = model.embed([tokens])
    if options.out is not None:
        target = options.out if options.out.suffix == ".npz" else Path(f"{options.out}.npz")
        np.savez(target, tokens=np.array(tokens), layers=layers)
        print(say(zh=f"已写入 {target}：{layers.shape}", en=f"wrote {target}: {layers.shape}"))
        return 0
    norms = np.linalg.norm(layers, axis=-1)  # (n_layers, n_tokens)
    shape = f"{layers.shape[0]} × {layers.shape[1]} × {layers.shape[2]}"
    print(
        say(
            zh=f"{shape}（层 × 词元 × 维）；每层向量的长度：",
            en=f"{shape} (layers x tokens x dim); length of each layer's vector:",
        )
    )
    print("".join(f"{name:>14}" for name in model.layer_names))
    for token, row in zip(tokens, norms.T, strict=True):
        print("".join(f"{norm:14.3f}" for norm in row), "", token)  # tokens last: Chinese is of double width
    return 0


def _as_typed(argument: str) -> str:
    """An argument as it was typed, also where the system's locale cannot read UTF-8 (Python then keeps odd bytes)."""
    return os.fsencode(argument).decode("utf-8") if any("\udc80" <= c <= "\udcff" for c in argument) else argument


# ---------------------------------------------------------------- train


def _add_train(commands: Any) -> None:
    about = say(
        zh="用你自己的文本训练一个小 ELMo：UTF-8 文本文件，每行一句",
        en="train a small ELMo on your own text: UTF-8 text files, one sentence a line",
    )
    parser = _command(commands, "train", _train, about)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help=say(zh="文本文件", en="a text file"))
    parser.add_argument("--lang", choices=LANGUAGES, help=say(zh="文本的语言", en="language of the text"))
    parser.add_argument("--out", type=Path, metavar="FOLDER", help=say(zh="模型存放的文件夹", en="where the model is saved"))
    parser.add_argument("--epochs", type=_count, help=say(zh="轮数", en="passes over the text"))
    parser.add_argument("--dim", type=_count, help=say(zh="每个方向的宽度", en="width of each direction"))
    parser.add_argument("--seed", type=int, help=say(zh="随机种子", en="seed of all random choices"))
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="FOLDER",
        help=say(
            zh="从这个存档继续（同样的文件；其余设置取自存档）",
            en="go on from this checkpoint, with the same files; its settings are used",
        ),
    )


def _train(options: argparse.Namespace) -> int:
    if options.resume is None and (options.out is None or options.lang is None):
        raise ValueError(
            say(
                zh="需要 --lang 和 --out（或用 --resume 继续一个存档）",
                en="--lang and --out are needed (or --resume, to go on from a checkpoint)",
            )
        )
    out = options.resume if options.out is None else options.out
    if out != options.resume and out.exists() and (out.is_file() or any(out.iterdir())):
        raise FileExistsError(  # found now, not after the training
            say(
                zh=f"{out} 已经存在；请换一个文件夹，或用 --resume 继续",
                en=f"{out} is there already: choose another folder, or --resume",
            )
        )
    chosen = {name: getattr(options, name) for name in ("lang", "epochs", "dim", "seed") if getattr(options, name) is not None}
    lines = read_lines(options.files)  # cheap mistakes show before the heavy imports

    from .elmo import Elmo, load
    from .text import split_sentences, tokenize
    from .training import TrainConfig, train

    resume = None if options.resume is None else load(options.resume)
    config = TrainConfig(**{**({} if resume is None else _settings(resume.record, TrainConfig)), **chosen})
    shape = config.model_config() if resume is None else resume.config
    cut = functools.partial(tokenize, lang=shape.lang, keep=shape.keep, lower=shape.lower)
    sentences = [cut(sentence) for line in lines for sentence in split_sentences(line)]
    count = sum(map(len, sentences))
    print(say(zh=f"{len(sentences):,} 句，{count:,} 个词元", en=f"{len(sentences):,} sentences, {count:,} tokens"))

    def keep_safe(model: Elmo) -> None:
        if model.training_state:  # so that a power cut costs one epoch at most
            model.save(out)

    model = train(sentences, config, resume=resume, on_epoch=keep_safe)
    model.save(out)
    print(say(zh=f"已存入 {out}；用 el.load({str(out)!r}) 读取", en=f"saved in {out}; el.load({str(out)!r}) reads it"))
    if len(model.history) <= config.epochs:  # entry 0 is the start
        again = " ".join(map(str, options.files))
        print(say(zh="继续训练：", en="to go on: ") + f"elmo-lite train {again} --resume {out}")
    return 0


def _count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.strip().isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(
            say(zh=f"需要正整数，不是 {text!r}", en=f"a number of at least 1 is wanted, not {text!r}")
        )
    return int(text)


def _settings(record: dict[str, Any], kind: type) -> dict[str, Any]:
    """The training settings kept in a checkpoint, as ``kind`` (``TrainConfig``) wants them."""
    known = {field.name for field in dataclasses.fields(kind)}
    kept: dict[str, Any] = json.loads(json.dumps(record.get("config", {})))
    kept = {name: value for name, value in kept.items() if name in known}
    lists = {"filters": lambda pairs: tuple(map(tuple, pairs)), "keep": tuple}  # JSON knows no tuples
    return {name: lists[name](value) if name in lists else value for name, value in kept.items()}


def read_lines(files: Iterable[Path]) -> list[str]:
    """The lines of UTF-8 text files that are not blank; errors name the file and what to do."""
    lines: list[str] = []
    for path in files:
        try:
            found = path.read_text(encoding="utf-8-sig").splitlines()
        except FileNotFoundError:
            raise FileNotFoundError(say(zh=f"{path}：没有这个文件", en=f"{path}: no such file")) from None
        except IsADirectoryError:
            raise IsADirectoryError(
                say(zh=f"{path} 是文件夹，需要文本文件", en=f"{path} is a folder; a text file is wanted")
            ) from None
        except UnicodeDecodeError as error:
            guess = _guess_encoding(path)
            raise ValueError(
                say(
                    zh=f"{path}：不是 UTF-8（第 {error.start} 字节）{guess}；请在编辑器里另存为 UTF-8",
                    en=f"{path}: not UTF-8 (byte {error.start}){guess}; save it as UTF-8 in an editor",
                )
            ) from None
        full = [line for line in found if line.strip()]
        if not full:
            raise ValueError(say(zh=f"{path}：没有文字", en=f"{path}: holds no text"))
        if blank := len(found) - len(full):
            print(say(zh=f"{path}：跳过 {blank} 个空行", en=f"{path}: {blank} blank lines skipped"))
        lines += full
    return lines


def _guess_encoding(path: Path) -> str:
    """A hint at what the file may be in, for a message; empty where nothing fits."""
    content = path.read_bytes()
    for encoding in ("utf-16",) if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ("gb18030",):
        try:
            content.decode(encoding)
        except UnicodeDecodeError:
            return ""
        return say(zh=f"，可能是 {encoding.upper()}", en=f", maybe {encoding.upper()}")
    return ""


# ---------------------------------------------------------------- classroom


def _add_classroom(commands: Any) -> None:
    about = say(
        zh="做一次课堂训练（Word2Vec 加小 ELMo），打印词义分数和基线；--out 存下模型",
        en="train what a class trains (Word2Vec and the tiny ELMo) and print sense scores beside their baselines",
    )
    parser = _command(commands, "classroom", _classroom, about)
    parser.add_argument("lang", choices=LANGUAGES, help=say(zh="文本的语言", en="language of the text"))
    parser.add_argument("--out", type=Path, metavar="FOLDER", help=say(zh="存放模型", en="save the model there"))
    parser.add_argument("--words", nargs="*", metavar="WORD", help=say(zh="只看这些词", en="score these words only"))
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--model",
        metavar="FOLDER",
        help=say(
            zh="不训练，只给这个模型打分（zh、en 是随附的）", en="train nothing, score this model (zh, en: the shipped ones)"
        ),
    )
    which.add_argument(
        "--from-scratch", action="store_true", help=say(zh="不用热启动，从零训练", en="no warm start: train from scratch")
    )


def _classroom(options: argparse.Namespace) -> int:
    import time

    from . import corpora, senses, static
    from .elmo import load
    from .training import CLASSROOM_WORD2VEC, classroom

    began = time.perf_counter()
    if options.model is not None:
        model = load(options.model)
        if model.config.lang != options.lang:
            raise ValueError(
                say(
                    zh=f"{options.model} 是 {model.config.lang} 的模型，不是 {options.lang} 的",
                    en=f"{options.model} is a model of {model.config.lang}, not of {options.lang}",
                )
            )
        vectors = static.word2vec(corpora.classroom(options.lang).background, **CLASSROOM_WORD2VEC)
        how = str(options.model)
    else:
        model, vectors = classroom(options.lang, **({"warm_start": False} if options.from_scratch else {}))
        how = say(zh="从零训练", en="from scratch") if options.from_scratch else say(zh="热启动", en="warm start")
    print(f"{options.lang}, {how}: {time.perf_counter() - began:.0f} s", end="")
    if model.history:
        held_out = model.history[-1]["held_out"]
        print(say(zh="；留出文本困惑度", en="; held-out perplexity"), end=" ")
        print(f"-> {held_out['forward']:.0f} <- {held_out['backward']:.0f}", end="")
    print("\n")
    if options.out is not None:
        model.save(options.out, resumable=False, half=True)
    words = options.words or corpora.inventory(options.lang)
    print(senses.table({word: corpora.senses(options.lang, word, ("dev", "test")) for word in words}, model, vectors))
    return 0


# ---------------------------------------------------------------- all subcommands

_COMMANDS: tuple[Callable[[Any], None], ...] = (_add_lab, _add_embed, _add_train, _add_classroom)


def _language_of_system() -> Language:
    """Chinese where the system speaks Chinese, English elsewhere."""
    named = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := os.environ.get(name))), None)
    return check_language("zh" if (named or locale.getlocale()[0] or "").lower().startswith(("zh", "chinese")) else "en")
