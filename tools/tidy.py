#!/usr/bin/env python3
# Runs clang-tidy over the sources of a configured build, on all cores; what passed before and is unchanged is skipped.
# Tests are left to the compilers' warnings: their macros and hooks break the rules of names.
"""usage: tidy.py BUILD [--changed]      (--changed: what the last commit or the working tree changed, headers too)"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

CLANG_TIDY = "clang-tidy-14"
ROOT = pathlib.Path(__file__).resolve().parent.parent
QUOTED_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def project_files(source: pathlib.Path) -> list[pathlib.Path]:
    """The source and all headers of this repository that it includes, however far down."""
    seen: dict[pathlib.Path, None] = {}
    waiting = [source]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen[path] = None
        for name in QUOTED_INCLUDE.findall(path.read_text(encoding="utf-8")):
            places = [path.parent / name, ROOT / "shardwise" / name, ROOT / name]
            waiting += [place.resolve() for place in places if place.is_file()][:1]
    return sorted(seen)


def stamp_of(entry: dict, config: bytes) -> str:
    """Changes when anything that clang-tidy could see of this source has changed."""
    digest = hashlib.sha256(config + entry.get("command", "").encode())
    for path in project_files(pathlib.Path(entry["file"])):
        digest.update(str(path).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def check(entry: dict, config: bytes, build: pathlib.Path) -> str:
    """What clang-tidy found in one source; empty when nothing."""
    passed = build / "tidy" / stamp_of(entry, config)
    if passed.exists():
        return ""
    quiet = ["--quiet", "--extra-arg=-Wno-unknown-warning-option"]  # the build's own flags may be another compiler's
    command = [CLANG_TIDY, *quiet, "-p", str(build), entry["file"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stdout.strip() or done.stderr.strip() or f"{entry['file']}: {CLANG_TIDY} failed"
    passed.touch()
    return ""


def changed_files() -> set[pathlib.Path] | None:
    """What differs from the commit before the last; None where there is no such commit to ask about."""
    git = ["git", "-c", "safe.directory=*", "-C", str(ROOT)]
    names: list[str] = []
    for question in (["diff", "--name-only", "HEAD~1"], ["ls-files", "--others", "--exclude-standard"]):
        try:
            done = subprocess.run(git + question, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        names += done.stdout.splitlines()
    return {ROOT / name for name in names}


def is_test(source: str) -> bool:
    return source.endswith("_test.cpp") or (ROOT / "tests") in pathlib.Path(source).resolve().parents


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0].startswith("-") or arguments[1:] not in ([], ["--changed"]):
        print(__doc__, file=sys.stderr)
        return 2
    build = pathlib.Path(arguments[0]).resolve()
    (build / "tidy").mkdir(exist_ok=True)
    version = subprocess.run([CLANG_TIDY, "--version"], capture_output=True, check=True).stdout
    config = version + (ROOT / ".clang-tidy").read_bytes()
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    entries = [entry for entry in entries if not is_test(entry["file"])]
    changed = changed_files() if "--changed" in arguments else None
    if changed is not None:
        entries = [entry for entry in entries if changed.intersection(project_files(pathlib.Path(entry["file"])))]
    faulty = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for text in pool.map(lambda entry: check(entry, config, build), entries):
            if text:
                faulty += 1
                print(text, flush=True)
    print(f"tidy: {len(entries)} sources, {faulty} with findings", file=sys.stderr)
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
