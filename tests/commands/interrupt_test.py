# Ctrl-C while an answer is written: the text so far stays, the figures follow, exit status 0. Run by commands_test.py.

import codecs
import json
import os
import signal
import subprocess

from program import MODEL, PATIENCE_S, PROGRAM, CommandTest

STORY = [str(MODEL), "--raw", "-p", "Once upon a time", "-n", "4000"]


class Interrupt(CommandTest):
    def start(self, *arguments: str, **options) -> subprocess.Popen:
        # A shell lets what it starts in the background ignore Ctrl-C.
        program = subprocess.Popen([str(PROGRAM), "run", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                                   **options)  # fmt: skip
        self.addCleanup(program.kill)
        return program

    def first_words(self, program: subprocess.Popen) -> bytes:
        """What it writes until twenty bytes are there, each portion in whole characters."""
        decoder, written = codecs.getincrementaldecoder("utf-8")(), b""
        while len(written) < 20:
            portion = os.read(program.stdout.fileno(), 4096)
            self.assertTrue(portion, "the answer ended early")
            decoder.decode(portion)
            self.assertEqual(decoder.getstate()[0], b"", "half a character was written")
            written += portion
        return written

    def test_the_text_so_far_stays(self):
        for plan in ("none", "tp=2", "pp=2"):
            program = self.start(*STORY, "--plan", plan)
            written = self.first_words(program)
            program.send_signal(signal.SIGINT)
            rest, errors = program.communicate(timeout=PATIENCE_S)
            self.assertEqual((program.returncode, errors), (0, b""), plan)
            stdout = (written + rest).decode()
            text = stdout[: stdout.index("\n\nplan " + plan)]
            whole = self.json("run", *STORY[:-1], "40")["text"]
            self.assertEqual(text[:20], whole[:20])
            self.assertIn("logits hash", stdout)

    def test_json_says_that_it_was_cancelled(self):
        # Nothing on stdout or stderr says when it begins to answer, so ever longer waits are tried.
        for wait_s in (1, 2, 4, 8, 16, 32):
            program = self.start(*STORY, "--json")
            try:
                program.wait(wait_s)
            except subprocess.TimeoutExpired:
                program.send_signal(signal.SIGINT)
            stdout, errors = program.communicate(timeout=PATIENCE_S)
            if program.returncode == -signal.SIGINT:
                continue  # it was not answering yet
            self.assertEqual((program.returncode, errors), (0, b""))
            found = json.loads(stdout)
            self.assertEqual(found["finish"], "cancelled")
            self.assertLess(len(found["tokens"]), 4000)
            self.assertEqual(len(found["tokens"]), len(found["margins"]))
            return
        self.fail("it never came to answer")

    def test_a_chat_ends_after_the_turn(self):
        program = self.start(str(MODEL), "-n", "2000", "--context", "4096", stdin=subprocess.PIPE)
        program.stdin.write(b"Count from one to one thousand in words.\nAnd now backwards.\n")
        program.stdin.flush()
        written = self.first_words(program)
        program.send_signal(signal.SIGINT)
        rest, errors = program.communicate(timeout=PATIENCE_S)
        self.assertEqual((program.returncode, errors), (0, b""))
        self.assertEqual((written + rest).count(b"\nplan none"), 1)
