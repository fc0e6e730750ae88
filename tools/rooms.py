#!/usr/bin/env python3
# Checks the laws of the house that a compiler does not: who may include whom, how long files and functions are, names.
# Prints one line a fault, `file:line: sentence`, and exits with 1 when there is any.
"""usage: rooms.py [--self-test] [ROOT]"""

import ast
import pathlib
import re
import sys
from typing import Iterator, NamedTuple

# Who may include whom: DESIGN.md, "The house". What a room may include, those rooms' rooms may be included, too.
ROOMS = {
    "base": [],
    "tensor": ["base"],
    "mesh": ["base"],
    "text": ["base"],
    "kernel": ["tensor"],
    "comm": ["mesh"],
    "file": ["tensor"],
    "program": ["tensor", "mesh"],
    "model": ["program", "file"],
    "planner": ["program", "model"],
    "engine": ["program", "kernel", "comm", "file", "model", "text"],
    "serve": ["engine", "text"],
}
SOURCE_FOLDERS = ["shardwise", "apps", "tests", "bench", "tools"]
SOURCE_ENDS = {".h", ".cpp", ".inl", ".py", ".sh", ".cmake", ".js", ".html", ".css"}
CPP_ENDS = {".h", ".cpp", ".inl"}
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60

UNFINISHED = re.compile(r"\b(TO[D]O|FIX[M]E|X[X]X)\b")
EMPTY_WORDS = {"util", "utils", "common", "misc", "manager", "helper", "helpers"}
EMPTY_TYPE = re.compile(r"\b(?:[A-Z][A-Za-z0-9]*)?(?:Utils?|Misc|Manager|Helpers?|Common)\b(?!\s*::)")
EMPTY_NAMESPACE = re.compile(r"\bnamespace\s+(?:\w+::)*(?:utils?|common|misc|helpers?)\b")
GETTER = re.compile(r"(?<![\w.>:])get_\w+\s*\(")  # what libraries call so comes after a dot, an arrow or a colon
INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')
LITERAL_OR_COMMENT = re.compile(
    r'//(?:\\\n|[^\n])*|/\*.*?\*/|R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)
ACCESS_WORDS = ("public", "protected", "private")
SCOPE_WORD = re.compile(r"^(?:inline\s+|export\s+|typedef\s+|static\s+)*(?:namespace|class|struct|union|enum|extern)\b")
CONTROL_WORD = re.compile(r"^(?:else\s+)?(?:if|for|while|switch|do|else|try|catch)\b")
FUNCTION_TAIL = re.compile(
    r"\)\s*(?:const|noexcept|override|final|mutable|&{1,2}|\s|->.*|requires.*|:(?!:).*)*$", re.DOTALL
)
LAMBDA = re.compile(r"\[[^\[\]]*\]\s*(?:\([^{}]*|mutable\s*)?$", re.DOTALL)


class Fault(NamedTuple):
    path: str
    line: int
    what: str


class Span(NamedTuple):
    """A function: its first words, and the lines from those to its closing brace, both counted."""

    head: str
    first: int
    last: int

    @property
    def lines(self) -> int:
        return self.last - self.first + 1


def closure(rooms: dict[str, list[str]]) -> dict[str, set[str]]:
    """For each room all that it may include, itself among them."""
    reach: dict[str, set[str]] = {}

    def visit(room: str) -> set[str]:
        if room not in reach:
            reach[room] = {room}.union(*(visit(below) for below in rooms[room]))
        return reach[room]

    for room in rooms:
        visit(room)
    return reach


def blank_literals(text: str) -> str:
    """C++ text of the same lines without its comments and with empty literals."""

    def blank(match: re.Match) -> str:
        found = match.group(0)
        lines = "\n" * found.count("\n")
        return lines if found.startswith("/") else found[-1] + lines + found[-1]

    return LITERAL_OR_COMMENT.sub(blank, text)


def blank_directives(text: str) -> str:
    """Takes out preprocessor lines with their continuations: the braces of a macro need not balance."""
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda match: "\n" * match.group(0).count("\n"), text, flags=re.MULTILINE)


def without_template(head: str) -> str:
    """The head of a declaration behind its `template <...>`, whose parameters hold `class` and brackets."""
    while head.startswith("template"):
        depth, i = 0, head.find("<")
        for i in range(max(i, 0), len(head)):
            depth += (head[i] == "<") - (head[i] == ">" and head[i - 1] != "-")
            if depth == 0:
                break
        head = head[i + 1 :].lstrip()
    return head


def opens_function(head: str) -> bool:
    """Whether a brace behind `head` (all since the last brace or semicolon) opens the body of a function or lambda."""
    if LAMBDA.search(head):
        return True
    head = without_template(head.strip())
    if CONTROL_WORD.match(head) or not FUNCTION_TAIL.search(head):
        return False
    return not SCOPE_WORD.match(head) or head.endswith(")")


def cpp_functions(text: str) -> Iterator[Span]:
    """The outermost functions of C++ text; what is nested in one counts as its lines."""
    code = blank_directives(blank_literals(text))
    line, head, head_line = 1, "", 1
    open_scopes: list[tuple[bool, str, int]] = []  # is a function, its head, its first line
    for i, letter in enumerate(code):
        line += letter == "\n"
        if letter == "{":
            inside = any(scope[0] for scope in open_scopes)
            open_scopes.append((not inside and opens_function(head), head.strip(), head_line))
            head = ""
        elif letter == "}" and open_scopes:
            is_function, its_head, its_line = open_scopes.pop()
            if is_function and code[i + 1 :].lstrip()[:1] in (",", "{"):  # a member set by braces: the body comes later
                head, head_line = its_head + "{}", its_line
                continue
            if is_function:
                yield Span(" ".join(its_head.split())[:60], its_line, line)
            head = ""
        elif letter == ";" and head.count("(") <= head.count(")") or letter == ":" and head.strip() in ACCESS_WORDS:
            head = ""
        else:
            if not head.strip() and not letter.isspace():
                head, head_line = "", line
            head += letter


def python_functions(text: str) -> Iterator[Span]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Span(f"def {node.name}", node.lineno, node.end_lineno or node.lineno)


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def include_faults(path: str, text: str) -> Iterator[Fault]:
    """An include of another room must go down the table; apps, tests and bench may include every room."""
    parts = path.split("/")
    room = parts[1] if parts[0] == "shardwise" and len(parts) > 2 else None
    allowed = closure(ROOMS)
    if room is not None and room not in ROOMS:
        yield Fault(path, 1, f"the room '{room}' is not in the table of tools/rooms.py")
        return
    for number, row in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(row)
        if not match:
            continue
        quote, target = match.groups()
        if not target.startswith("shardwise/"):
            if quote == '"' and room is not None:
                yield Fault(path, number, f'include "{target}" by its path from the root: "shardwise/ROOM/FILE.h"')
            continue
        other = target.split("/")[1]
        if other not in ROOMS:
            yield Fault(path, number, f"there is no room '{other}'")
        elif room is not None and other not in allowed[room]:
            below = ", ".join(sorted(allowed[room] - {room})) or "no other room"
            yield Fault(path, number, f"{room} must not include {other}; it may include {below}")


def link_faults(path: str, text: str) -> Iterator[Fault]:
    """The build must link no room to one that it may not include."""
    allowed = closure(ROOMS)
    for match in re.finditer(r"shardwise_room\(\s*(\w+)([^)]*)\)", text):
        room, rest = match.groups()
        for other in re.findall(r"\bshardwise_(\w+)", rest):
            if other not in allowed.get(room, set()):
                yield Fault(path, line_of(text, match.start()), f"{room} must not link {other}")


def name_faults(path: str, text: str) -> Iterator[Fault]:
    """Names that say nothing about what a thing is."""
    for part in re.split(r"[/_.\-]", path):
        if part.lower() in EMPTY_WORDS:
            yield Fault(path, 1, f"'{part}' in a file's name says nothing; name what the file holds")
    if pathlib.PurePath(path).suffix not in CPP_ENDS:
        return
    code = blank_literals(text)
    for pattern in (EMPTY_TYPE, EMPTY_NAMESPACE, GETTER):
        for match in pattern.finditer(code):
            found = match.group(0).rstrip("( \t")
            yield Fault(path, line_of(code, match.start()), f"'{found}' says nothing; name what it is or gives")


def length_faults(path: str, text: str) -> Iterator[Fault]:
    lines = len(text.splitlines())
    if lines > MAX_FILE_LINES:
        yield Fault(path, MAX_FILE_LINES + 1, f"the file has {lines} lines, at most {MAX_FILE_LINES}; split it")
    suffix = pathlib.PurePath(path).suffix
    spans = cpp_functions(text) if suffix in CPP_ENDS else python_functions(text) if suffix == ".py" else []
    for span in spans:
        if span.lines > MAX_FUNCTION_LINES:
            yield Fault(path, span.first, f"'{span.head}' has {span.lines} lines, at most {MAX_FUNCTION_LINES}")


def opening_faults(path: str, text: str) -> Iterator[Fault]:
    """A file opens by saying what it is."""
    rows = text.splitlines()[:2]
    if rows and rows[0].startswith("#!"):
        rows = rows[1:]
    marks = {".py": ("#", '"""'), ".js": ("//", "/*"), ".css": ("/*",), ".html": ("<!",)}
    marks.update({end: ("//", "/*") for end in CPP_ENDS})
    if not rows or not rows[0].startswith(marks.get(pathlib.PurePath(path).suffix, ("#",))):
        yield Fault(path, 1, "the first line must be a comment that says what the file is")


def unfinished_faults(path: str, text: str) -> Iterator[Fault]:
    for number, row in enumerate(text.splitlines(), 1):
        match = UNFINISHED.search(row)
        if match:
            yield Fault(path, number, f"'{match.group(0)}': finish it or write an issue")


def file_faults(path: str, text: str) -> Iterator[Fault]:
    """All faults of one file, `path` from the root."""
    name = pathlib.PurePath(path).name
    if name == "CMakeLists.txt":
        yield from link_faults(path, text)
    if pathlib.PurePath(path).suffix in CPP_ENDS:
        yield from include_faults(path, text)
    if name != "CMakeLists.txt":
        yield from name_faults(path, text)
        yield from length_faults(path, text)
    yield from opening_faults(path, text)
    yield from unfinished_faults(path, text)


def sources(root: pathlib.Path) -> list[pathlib.Path]:
    found = [root / name for name in ("CMakeLists.txt", "check", "demo", ".ci/run") if (root / name).is_file()]
    for folder in [*SOURCE_FOLDERS, "cmake"]:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and (path.suffix in SOURCE_ENDS or path.name == "CMakeLists.txt"):
                found.append(path)
    return found


def faults_of(root: pathlib.Path) -> list[Fault]:
    faults: list[Fault] = []
    for path in sources(root):
        faults += file_faults(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
    return faults


# Each case: a path, its text, and what the faults found in it must be, in order ("line: a part of the sentence").
SELF_TESTS = [
    ("shardwise/mesh/a.h", '// A.\n#include "shardwise/base/check.h"\n#include <vector>\n', []),
    ("shardwise/mesh/a.h", '// A.\n#include "shardwise/tensor/dtype.h"\n', ["2: mesh must not include tensor"]),
    ("shardwise/serve/a.cpp", '// A.\n#include "shardwise/kernel/kernel.h"\n#include "shardwise/base/check.h"\n', []),
    ("shardwise/planner/a.cpp", '// A.\n\n#include "shardwise/engine/job.h"\n', ["3: planner must not include engine"]),
    ("shardwise/engine/a.cpp", '// A.\n#include "shardwise/planner/price.h"\n', ["2: engine must not include planner"]),
    ("shardwise/kernel/a.cpp", '// A.\n#include "shardwise/comm/comm.h"\n', ["2: kernel must not include comm"]),
    ("shardwise/mesh/a.cpp", '// A.\n#include "range.h"\n', ["2: by its path from the root"]),
    ("shardwise/mesh/a.cpp", '// A.\n#include "shardwise/cloud/a.h"\n', ["2: there is no room 'cloud'"]),
    ("apps/a.cpp", '// A.\n#include "shardwise/planner/price.h"\n#include "shardwise/engine/executor.h"\n', []),
    ("shardwise/cloud/a.h", "// A.\n", ["1: 'cloud' is not in the table"]),
    ("shardwise/CMakeLists.txt", "# A.\nshardwise_room(mesh LINK shardwise_file)\n", ["2: mesh must not link file"]),
    ("shardwise/base/a.h", "#pragma once\n", ["1: first line"]),
    ("tools/a.py", "#!/usr/bin/env python3\nimport re\n", ["1: first line"]),
    ("tools/a.py", "#!/usr/bin/env python3\n# A.\n", []),
    ("tools/a.sh", "# A.\n# TO" "DO: more\n", ["2: finish it"]),
    ("shardwise/base/utils.h", "// A.\n", ["1: 'utils' in a file's name"]),
    ("shardwise/base/a.h", "// A.\nclass CacheManager {};\nint get_size();\n", ["2: CacheManager", "3: get_size"]),
    ("shardwise/base/a.h", '// get_size()\nint a = json.get_ref<int>() + std::get_id();\nauto b = "get_x(";\n', []),
    ("shardwise/base/a.h", "// A.\n" + "int a;\n" * 499, []),
    ("shardwise/base/a.h", "// A.\n" + "int a;\n" * 500, ["501: 501 lines"]),
    ("shardwise/base/a.cpp", "// A.\nint f() {\n" + "g();\n" * 58 + "}\n", []),
    ("shardwise/base/a.cpp", "// A.\nint f() {\n" + "g();\n" * 59 + "}\n", ["2: 'int f()' has 61 lines"]),
    ("shardwise/base/a.cpp", "// A.\nint\nf(int a,\n  int b) {\n" + "g();\n" * 57 + "}\n", ["2: 61 lines"]),
    ("tools/a.py", "# A.\ndef f():\n" + "    g()\n" * 60, ["2: 'def f' has 61 lines"]),
]
# Each case: C++ text, and the functions in it as "head first-last".
FUNCTION_TESTS = [
    ("namespace a {\nclass B {\n public:\n  int c() const { return d_{1}; }\n};\n}\n", ["int c() const 4-4"]),
    ("B::B(int c)\n    : c_{c},\n      d_(c) {\n  e();\n}\n", ["B::B(int c) : c_{}, d_(c) 1-5"]),
    ("const int kA[] = {f(1), {2}};\nA a{f(1)};\nint g();\n", []),
    ("TEST(A, b) {\n  for (;;) {\n  }\n}\n", ["TEST(A, b) 1-4"]),
    ("auto a = [](int b) {\n  return b;\n};\n", ["auto a = [](int b) 1-3"]),
    ('void f() {\n  s = "}";  // }\n  c = \'{\';\n}\nvoid g() {}\n', ["void f() 1-4", "void g() 5-5"]),
    ('auto a = R"({\n{{)";\nint f() { return 1\'000; }\n', ["int f() 3-3"]),
    ("#define F(x) if (x) {\n#define G \\\n  {\nint f() {\n}\n", ["int f() 4-5"]),
    ("template <class T, int N = 2>\nauto f(T t) -> A {\n}\n", ["template <class T, int N = 2> auto f(T t) -> A 1-3"]),
    ("struct alignas(64) A {\n  int b;\n};\nenum class C { kD };\n", []),
    ("bool operator==(A a, A b) noexcept {\n  return true;\n}\n", ["bool operator==(A a, A b) noexcept 1-3"]),
    ('extern "C" {\nint f() { return 1; }\n}\n', ["int f() 2-2"]),
]


def self_test() -> int:
    """Runs the checks on small texts with known faults; gives back how many cases went wrong."""
    wrong = 0
    for path, text, expected in SELF_TESTS:
        found = [(str(fault.line), fault.what) for fault in file_faults(path, text)]
        wanted = [row.split(": ", 1) for row in expected]
        if len(found) != len(wanted) or any(f[0] != w[0] or w[1] not in f[1] for f, w in zip(found, wanted)):
            wrong += 1
            print(f"self-test: {path} {text[:60]!r}: found {found}, expected {expected}")
    for text, expected in FUNCTION_TESTS:
        found_spans = [f"{span.head} {span.first}-{span.last}" for span in cpp_functions(text)]
        if found_spans != expected:
            wrong += 1
            print(f"self-test: {text!r}: found {found_spans}, expected {expected}")
    print(f"rooms: self-test of {len(SELF_TESTS) + len(FUNCTION_TESTS)} cases, {wrong} wrong")
    return wrong


def main(arguments: list[str]) -> int:
    if arguments == ["--self-test"]:
        return 1 if self_test() else 0
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent
    faults = faults_of(root)
    for fault in faults:
        print(f"{fault.path}:{fault.line}: {fault.what}")
    print(f"rooms: {len(sources(root))} files, {len(faults)} faults", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
