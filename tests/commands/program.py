# Running the program under test: what every command must keep to is checked on each call.

import json
import os
import pathlib
import subprocess
import unittest

PROGRAM = pathlib.Path(os.environ.get("SHARDWISE_PROGRAM", "shardwise"))
MODEL = pathlib.Path(os.environ.get("SHARDWISE_MODELS", "")) / "smollm2.gguf"
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden" / "models"
PATIENCE_S = 120


def run(*arguments: object, text: bytes = b"") -> subprocess.CompletedProcess:
    """Stdout and stderr are bytes; stdin is `text`."""
    command = [str(PROGRAM), *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, timeout=PATIENCE_S, check=False)


class CommandTest(unittest.TestCase):
    maxDiff = None

    def done(self, *arguments: object, text: bytes = b"") -> str:
        """Stdout of a command that must succeed without a word on stderr."""
        result = run(*arguments, text=text)
        self.assertEqual((result.returncode, result.stderr.decode()), (0, ""), arguments)
        return result.stdout.decode()  # strict: never half a character

    def json(self, *arguments: object) -> dict:
        """The one object that --json prints."""
        stdout = self.done(*arguments, "--json")
        self.assertEqual(stdout.count("\n"), 1, "one line")
        found = json.loads(stdout)
        self.assertIsInstance(found, dict)
        return found

    def refused(self, *arguments: object, words: list[str], text: bytes = b"") -> None:
        """Exit status 1, nothing on stdout, and one sentence with all of `words` on stderr."""
        result = run(*arguments, text=text)
        sentence = result.stderr.decode()
        self.assertEqual((result.returncode, result.stdout), (1, b""), sentence)
        self.assertRegex(sentence, r"\Ashardwise: [^\n]+[^.\n]\n\Z")
        for word in words:
            self.assertIn(word, sentence)

    def wrong_usage(self, *arguments: object, words: list[str]) -> None:
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stdout), (2, b""), arguments)
        for word in [*words, "--help"]:
            self.assertIn(word, result.stderr.decode())

    def check_report(self, found: dict, plan: str, ranks: int) -> None:
        """The keys of every command that runs a model."""
        self.assertEqual((found["plan"], found["ranks"]), (plan, ranks))
        for key in ("weight_bytes", "cache_bytes"):
            self.assertEqual(len(found[key]), ranks)
            self.assertTrue(all(isinstance(n, int) and n > 0 for n in found[key]), found[key])
        self.assertGreater(found["peak_bytes"], max(found["weight_bytes"]))
        self.assertEqual(found["wire_bytes_per_token"] > 0, ranks > 1)

    def check_times(self, found: dict) -> None:
        for key in ("ttft_ms", "tpot_ms", "prefill_tps", "decode_tps"):
            self.assertGreater(found[key], 0, key)
