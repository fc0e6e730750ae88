# What compare, bench, perplexity, inspect and explain report. Run by commands_test.py.

import pathlib
import tempfile

from program import GOLDEN, MODEL, CommandTest


class Figures(CommandTest):
    def test_compare_shows_each_way(self):
        found = self.json("compare", MODEL, "--ranks", "2", "--prompt-tokens", "40", "-n", "3", "--batch", "2")
        plans = {row["plan"]: row for row in found["plans"]}
        self.assertEqual(list(plans), ["none", "tp=2", "cp=2", "dp=2", "pp=2"])
        self.assertRegex(found["verdict"], r"\AOne rank holds .*\.\Z")
        for plan, row in plans.items():
            ranks = 1 if plan == "none" else 2
            self.assertEqual((row["ranks"], len(row["weight_bytes"]), len(row["cache_bytes"])), (ranks, ranks, ranks))
            self.check_times(row)
            self.assertGreater(row["peak_bytes"], 0)
            self.assertGreater(row["throughput_tps"], 0)
            self.assertTrue(0 <= row["comm_share"] < 1, row["comm_share"])
            self.assertEqual(row["steps_added"] > 0, plan not in ("none", "dp=2"), (plan, row["steps_added"]))
            self.assertEqual((row["tokens"], row["logits_hash"]), (plans["none"]["tokens"], plans["none"]["logits_hash"]))
        whole = plans["none"]["weight_bytes"][0]
        self.assertLess(max(plans["tp=2"]["weight_bytes"]), 0.55 * whole)
        self.assertEqual(plans["cp=2"]["weight_bytes"], [whole, whole])
        self.assertEqual(plans["dp=2"]["weight_bytes"], [whole, whole])
        self.assertLess(max(plans["pp=2"]["cache_bytes"]), 0.6 * plans["none"]["cache_bytes"][0])
        self.assertEqual(plans["none"]["wire_bytes_per_token"], 0)
        self.assertLess(plans["pp=2"]["wire_bytes_per_token"], plans["tp=2"]["wire_bytes_per_token"])

    def test_compare_for_people_has_a_line_for_each_way(self):
        stdout = self.done("compare", MODEL, "--prompt-tokens", "8", "-n", "2", "--batch", "2")
        for word in ("none", "tp=2", "cp=2", "dp=2", "pp=2", "TTFT", "TPOT", "One rank holds"):
            self.assertIn(word, stdout)

    def test_bench_gives_spreads(self):
        found = self.json("bench", MODEL, "-p", "20", "-n", "3", "--repeat", "2", "--batch", "2", "--plan", "tp=2")
        self.check_report(found, "tp=2", 2)
        self.check_times(found)
        for key in ("prefill_tps", "decode_tps"):
            spread = found[key + "_spread"]
            self.assertTrue(0 < spread["min"] <= spread["median"] <= spread["max"], spread)
            self.assertEqual(found[key], spread["median"])
        self.assertIn("tokens/s", self.done("bench", MODEL, "-p", "4", "-n", "1", "--repeat", "1"))

    def test_perplexity_is_the_same_under_a_plan(self):
        with tempfile.TemporaryDirectory() as folder:
            text = pathlib.Path(folder) / "text"
            text.write_text("It was a bright day in spring, and all the clocks of the town told another time.\n" * 12)
            arguments = ["perplexity", MODEL, "-f", text, "--ctx", "64", "--chunks", "2"]
            one, two = (self.json(*arguments, "--plan", plan) for plan in ("none", "tp=2"))
            self.check_report(two, "tp=2", 2)
            self.assertEqual((one["chunks"], one["ctx"], one["scored_tokens"]), (2, 64, 62))
            self.assertEqual(one["perplexity"], two["perplexity"])
            self.assertGreater(one["perplexity"], 1)
            self.assertIn(f"perplexity {one['perplexity']:.4f} ", self.done(*arguments))

    def test_inspect_tells_the_spec(self):
        found = self.json("inspect", MODEL)
        spec = found["spec"]
        self.assertEqual((spec["architecture"], spec["layers"], spec["heads"], spec["kv_heads"]), ("llama", 30, 9, 3))
        self.assertEqual((spec["d_model"], spec["d_ff"], spec["vocab"], spec["tied"]), (576, 1536, 49152, True))
        self.assertEqual(found["file_bytes"], MODEL.stat().st_size)
        self.assertEqual(sum(kind["tensors"] for kind in found["types"].values()), len(found["tensors"]))
        self.assertEqual(sum(tensor["bytes"] for tensor in found["tensors"]), found["tensor_bytes"])
        self.assertIn("<|im_start|>", found["chat_template"])
        self.assertEqual(found["metadata"]["general.architecture"], "llama")
        self.assertIn("30 layers", self.done("inspect", MODEL))
        self.assertIn("blk.29.ffn_down.weight", self.done("inspect", MODEL, "--tensors"))

    def test_inspect_reads_every_golden_model(self):
        paths = sorted(GOLDEN.iterdir())
        self.assertGreater(len(paths), 10)
        for path in paths:
            self.assertEqual(self.json("inspect", path)["spec"]["vocab"], 271, path)

    def test_explain_prints_the_steps(self):
        for plan, ranks in (("none", 1), ("tp=2", 2), ("pp=2", 2), ("cp=2:ring", 2)):
            found = self.json("explain", MODEL, "--plan", plan, "--prefill", "64")
            self.assertEqual((found["plan"], found["ranks"]), (plan, ranks))
            self.assertGreater(len(found["steps"]), 30 * 8)
            for step in found["steps"]:
                self.assertEqual(set(step), {"stage", "layer", "step", "wire_bytes"})
            self.assertEqual(found["wire_bytes"] > 0, ranks > 1)
            stdout = self.done("explain", MODEL, "--plan", plan, "--prefill", "64")
            self.assertEqual(stdout.count("\n"), len(found["steps"]) + 1)
            self.assertTrue(all(step["step"] in stdout for step in found["steps"]))

    def test_explain_sends_what_run_says(self):
        sent = self.json("explain", MODEL, "--plan", "tp=2", "--decode", "20")["wire_bytes_per_token"]
        run = self.json("run", MODEL, "--raw", "-p", "word", "-n", "2", "--plan", "tp=2")
        self.assertEqual(sent, run["wire_bytes_per_token"])

    def test_explain_measures_each_step(self):
        found = self.json("explain", MODEL, "--plan", "tp=2", "--decode", "20", "--measure")
        self.assertTrue(all(step["measured_s"] >= 0 for step in found["steps"]))
        self.assertGreater(sum(step["measured_s"] for step in found["steps"]), 0)
