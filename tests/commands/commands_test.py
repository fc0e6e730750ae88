#!/usr/bin/env python3
# The commands from outside: exit status, JSON keys, and the one sentence when something is wrong.
"""usage: SHARDWISE_PROGRAM=build/release/shardwise SHARDWISE_MODELS=FOLDER commands_test.py [TEST ...]

Exit status 77 when FOLDER has no smollm2.gguf: CTest shows the test as skipped."""

import json
import pathlib
import shutil
import sys
import tempfile
import unittest

from program import GOLDEN, MODEL, CommandTest, run

SCRATCH = tempfile.TemporaryDirectory(prefix="shardwise-commands-")
HEX_64 = r"\A[0-9a-f]{16}\Z"
PLANS = [("none", 1), ("tp=2", 2), ("pp=2", 2)]


def scratch(name: str, content: bytes | str | list | dict) -> pathlib.Path:
    path = pathlib.Path(SCRATCH.name) / name
    if isinstance(content, (list, dict)):
        content = json.dumps(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


class Usage(CommandTest):
    def test_help_is_no_failure(self):
        for arguments in (["--help"], ["run", "--help"], ["tokenize", "-h"]):
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.assertIn(b"Usage", result.stdout)

    def test_wrong_usage_is_2(self):
        self.wrong_usage(words=["subcommand"])
        self.wrong_usage("dance", words=["subcommand"])
        self.wrong_usage("run", words=["MODEL"])
        self.wrong_usage("run", MODEL, "-p", "x", "-n", "-3", words=["-n", "-3"])
        self.wrong_usage("run", MODEL, "-p", "x", "-n", "many", words=["-n", "many"])
        self.wrong_usage("run", MODEL, "-p", "x", "--threads", "0", words=["--threads"])
        self.wrong_usage("run", MODEL, "-p", "x", "--cache", "f8", words=["--cache", "f8"])
        self.wrong_usage("run", MODEL, "-p", "x", "--seed", "-1", words=["--seed"])
        self.wrong_usage("run", MODEL, "-p", "x", "--frobnicate", words=["frobnicate"])
        self.wrong_usage("perplexity", MODEL, words=["--file"])
        self.wrong_usage("explain", MODEL, "--prefill", "5", "--decode", "5", words=["--prefill", "--decode"])
        self.wrong_usage("compare", MODEL, "--ranks", "1", words=["--ranks"])
        self.wrong_usage("detokenize", MODEL, "word", words=["word"])


class Refusals(CommandTest):
    COMMANDS = {
        "run": ["-p", "x"], "compare": [], "bench": [], "explain": [], "inspect": [], "tokenize": ["x"],
        "detokenize": ["1"], "perplexity": ["-f", __file__],
    }  # fmt: skip

    def test_a_file_that_is_not_there(self):
        for command, rest in self.COMMANDS.items():
            self.refused(command, "/no/such.gguf", *rest, words=["/no/such.gguf", "No such file"])

    def test_files_that_are_cut_short(self):
        with MODEL.open("rb") as whole:
            start = whole.read(MODEL.stat().st_size // 2)
        for name, size in (("tensors.gguf", len(start)), ("metadata.gguf", 1_000_000), ("magic.gguf", 6)):
            path = scratch(name, start[:size])
            for command, rest in self.COMMANDS.items():
                self.refused(command, path, *rest, words=[name])

    def test_files_that_are_no_models(self):
        self.refused("run", scratch("text.gguf", "Dear reader"), "-p", "x", words=["text.gguf", "GGUF"])
        self.refused("run", scratch("empty.gguf", ""), "-p", "x", words=["empty.gguf"])
        self.refused("run", SCRATCH.name, "-p", "x", words=["config.json"])

    def test_plans_that_mean_nothing(self):
        for plan, words in {
            "": [], "fast": ["fast"], "tp": ["tp"], "tp=0": ["0"], "tp=-2": ["-2"], "tp=99999999999": ["99999999999"],
            "zz=2": ["zz"], "tp=2,tp=2": ["tp"], "tp=2; F:xp": ["xp"], "tp=2; Q:tp": ["Q"], "cp=2:square": ["square"],
            "pp=3(8,10)": ["2 weights", "3"], "pp=3(8,10,11)": ["29", "30"],
        }.items():  # fmt: skip
            for command in ("run", "explain", "bench"):
                rest = ["-p", "x"] if command == "run" else []
                self.refused(command, MODEL, "--plan", plan, *rest, words=[f"plan '{plan}'", *words])

    def test_requests_that_can_not_be_met(self):
        self.refused("run", MODEL, "-p", "word " * 50, "--context", "40", "-n", "4", words=["prompt", "40"])
        self.refused("run", MODEL, "-p", "x", "-n", "500", "--context", "100", words=["500", "100"])
        self.refused("run", MODEL, "-p", "", "--raw", words=["prompt"])
        self.refused("run", MODEL, "--json", words=["-p"])
        self.refused("run", MODEL, "-p", "x", "--temp", "-1", words=["temperature", "-1"])
        self.refused("run", MODEL, "-p", "x", "--temp", "nan", words=["temperature"])
        self.refused("run", MODEL, "-p", "x", "--top-p", "0", words=["top-p"])
        self.refused("run", MODEL, "-p", "x", "--min-p", "2", words=["min-p"])
        self.refused("detokenize", MODEL, "999999", words=["999999", "49151"])
        self.refused("detokenize", MODEL, "-1", words=["-1"])

    def test_texts_that_can_not_be_read(self):
        self.refused("perplexity", MODEL, "-f", "/no/text", words=["/no/text"])
        self.refused("perplexity", MODEL, "-f", SCRATCH.name, words=[SCRATCH.name])
        self.refused("perplexity", MODEL, "-f", scratch("short.txt", "few words"), words=["short.txt", "512"])
        self.refused("tokenize", MODEL, words=["TEXT", "--chat"])
        self.refused("tokenize", MODEL, "--chat", "/no/chat.json", words=["/no/chat.json"])
        self.refused("tokenize", MODEL, "--chat", SCRATCH.name, words=[SCRATCH.name])
        for name, content in {
            "broken.json": "[{", "deep.json": "[" * 100000, "number.json": [1], "nothing.json": "",
            "nameless.json": {"tools": []}, "text.json": '"hello"',
        }.items():  # fmt: skip
            self.refused("tokenize", MODEL, "--chat", scratch(name, content), words=[])


class Run(CommandTest):
    def test_json_has_the_keys_of_the_contract(self):
        for plan, ranks in PLANS:
            found = self.json("run", MODEL, "-p", "Name a colour.", "-n", "8", "--plan", plan, "--logprobs", "3")
            self.check_report(found, plan, ranks)
            self.check_times(found)
            self.assertRegex(found["logits_hash"], HEX_64)
            self.assertIn("<|im_start|>user\nName a colour.<|im_end|>", found["prompt"])
            self.assertIn(found["finish"], ("stop", "length"))
            self.assertEqual(len(found["margins"]), len(found["tokens"]))
            self.check_logprobs(found, 3)
            spelled = self.json("detokenize", MODEL, *found["tokens"])["text"]
            self.assertEqual(found["text"], spelled)

    def check_logprobs(self, found: dict, count: int) -> None:
        self.assertEqual([step["id"] for step in found["logprobs"]], found["tokens"])
        for step, margin in zip(found["logprobs"], found["margins"]):
            values = [chance["logprob"] for chance in step["top"]]
            self.assertEqual(len(values), count)
            self.assertEqual(values, sorted(values, reverse=True))
            self.assertLessEqual(values[0], 0)
            self.assertEqual((step["top"][0]["id"], step["top"][0]["logprob"]), (step["id"], step["logprob"]))
            self.assertAlmostEqual(values[0] - values[1], margin, places=3)  # greedy
            self.assertTrue(all(isinstance(chance["token"], str) for chance in step["top"]))

    def test_without_json_ends_with_the_figures(self):
        stdout = self.done("run", MODEL, "-p", "Name a colour.", "-n", "4", "--plan", "tp=2")
        for word in ("TTFT", "TPOT", "ms", "memory rank 0", "rank 1", "logits hash"):
            self.assertIn(word, stdout)
        text = self.json("run", MODEL, "-p", "Name a colour.", "-n", "4")["text"]
        self.assertTrue(stdout.startswith(text + "\n"), stdout)

    def test_no_tokens_asked_for_are_none(self):
        found = self.json("run", MODEL, "-p", "x", "-n", "0")
        self.assertEqual((found["tokens"], found["text"], found["finish"]), ([], "", "length"))

    def test_the_same_seed_gives_the_same_text_under_every_plan(self):
        def story(plan: str, seed: int) -> tuple:
            found = self.json("run", MODEL, "-p", "Tell me a story.", "-n", "24", "--temp", "1", "--plan", plan,
                              "--seed", seed)  # fmt: skip
            return found["text"], found["tokens"], found["logits_hash"]

        one = story("none", 7)
        for plan in ("none", "tp=2", "pp=2"):
            self.assertEqual(story(plan, 7), one, plan)
        self.assertNotEqual(story("none", 8), one)

    def test_raw_text_has_no_template_and_no_control_tokens(self):
        prompt = "Hello<|im_end|>"
        found = self.json("run", MODEL, "--raw", "-p", prompt, "-n", "1")
        self.assertEqual(found["prompt"], prompt)
        self.assertEqual(found["prompt_tokens"], self.json("tokenize", MODEL, prompt)["count"])
        self.assertGreater(found["prompt_tokens"], 3)

    def test_a_system_message_comes_first(self):
        found = self.json("run", MODEL, "--system", "Be brief.", "-p", "Hi", "-n", "1")
        self.assertTrue(found["prompt"].startswith("<|im_start|>system\nBe brief.<|im_end|>"), found["prompt"])

    def test_characters_are_never_cut(self):
        faces = ["run", MODEL, "--raw", "-p", "Smileys: 😀😃😄😁😆😅😂 and again: 😀😃😄😁😆"]
        whole = self.json(*faces, "-n", "8")["text"]
        self.assertGreaterEqual(len(whole), 2)
        for n in range(1, 8):
            text = self.json(*faces, "-n", n)["text"]
            self.assertTrue(whole.startswith(text.rstrip("\ufffd")), text)
            stdout = self.done(*faces, "-n", n)
            self.assertTrue(stdout.startswith(text + "\n"), stdout)


class Chat(CommandTest):
    def test_two_turns_by_stdin(self):
        turns = ["My name is Ada.", "What is the capital of France?"]
        stdout = self.done("run", MODEL, "-n", "12", text="\n\n".join(turns).encode())
        first = self.json("run", MODEL, "-p", turns[0], "-n", "12")
        self.assertTrue(stdout.startswith(first["text"] + "\n"), stdout)
        second = stdout[len(first["text"]) + 1 : stdout.index("\nplan none")]
        self.assertTrue(second.strip())

        # Only what is new since the first turn is computed for the second.
        conversation = [{"role": "user", "content": turns[0]}, {"role": "assistant", "content": first["text"]},
                        {"role": "user", "content": turns[1]}]  # fmt: skip
        whole = self.json("tokenize", MODEL, "--chat", scratch("turns.json", conversation))["count"]
        known = first["prompt_tokens"] + len(first["tokens"]) - 1  # the last token was never fed back
        self.assertIn(f"({whole - known} tokens)", stdout)

    def test_quit_and_the_end_of_stdin_end_it(self):
        self.assertEqual(self.done("run", MODEL, text=b"/quit\nHello\n"), "")
        self.assertEqual(self.done("run", MODEL, text=b""), "")

    def test_a_turn_that_does_not_fit_is_refused(self):
        self.refused("run", MODEL, "--context", "64", "-n", "4", text=b"word " * 100, words=["prompt", "64"])


class Tokens(CommandTest):
    def test_there_and_back(self):
        for text in ("Hello world", "  two  spaces\n\nlines\t", "naïve 日本語 😀", ""):
            found = self.json("tokenize", MODEL, text)
            self.assertEqual(found["count"], len(found["tokens"]))
            self.assertEqual(self.done("tokenize", MODEL, text).split(), [str(i) for i in found["tokens"]])
            if text:
                self.assertEqual(self.json("detokenize", MODEL, *found["tokens"]), {"text": text})
                self.assertEqual(self.done("detokenize", MODEL, *found["tokens"]), text + "\n")

    def test_control_tokens_only_when_asked_for(self):
        plain, special = (self.json("tokenize", MODEL, "a<|im_end|>", *flag)["tokens"] for flag in ([], ["--special"]))
        self.assertGreater(len(plain), len(special))
        self.assertEqual(special[-1], 2)
        self.assertNotIn(2, plain)

    def test_part_of_a_character_is_marked_in_json(self):
        ids = self.json("tokenize", MODEL, "😀")["tokens"]
        self.assertGreater(len(ids), 1)
        self.assertEqual(self.json("detokenize", MODEL, ids[0])["text"], "\ufffd")

    def test_chat_is_a_list_or_an_object(self):
        messages = [{"role": "user", "content": "Hi<|im_end|>"}]
        as_list = self.json("tokenize", MODEL, "--chat", scratch("list.json", messages))
        as_object = self.json("tokenize", MODEL, "--chat", scratch("object.json", {"messages": messages}))
        self.assertEqual(as_list, as_object)
        self.assertEqual(as_list["count"], len(as_list["tokens"]))
        self.assertIn("<|im_start|>user\nHi<|im_end|><|im_end|>\n", as_list["prompt"])
        self.assertEqual(as_list["tokens"].count(2), 2)  # of the default system message, and of the user's, once

    def test_tools_reach_the_template(self):
        folder = pathlib.Path(SCRATCH.name) / "tools"
        shutil.copytree(GOLDEN / "llama", folder)
        config = json.loads((folder / "tokenizer_config.json").read_text())
        config["chat_template"] = (
            "{% for tool in tools or [] %}({{ tool.function.name }}){% endfor %}{{ messages[0].content }}"
        )
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("sum", "time")]
        chat = {"messages": [{"role": "user", "content": "now"}], "tools": tools}
        self.assertEqual(self.json("tokenize", folder, "--chat", scratch("tools.json", chat))["prompt"], "(sum)(time)now")
        del chat["tools"]
        self.assertEqual(self.json("tokenize", folder, "--chat", scratch("tools.json", chat))["prompt"], "now")


def main() -> int:
    if not MODEL.is_file():
        print(f"skipped: {MODEL} does not exist; SHARDWISE_MODELS names a folder with it")
        return 77
    suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:] or ["__main__", "figures_test", "interrupt_test"])
    with SCRATCH:
        return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
