#!/usr/bin/env python3
"""Shardwise and llama.cpp side by side: the same file, threads, prompt length and answer length, in turns.

llama.cpp comes from PyPI as `xllamacpp` (pip install xllamacpp); what it says of the processor's instructions is printed.
Each round runs both in processes of their own; the ratios are of medians over the rounds.
"""
import argparse
import json
import statistics
import subprocess
import sys

BINARY = "build/release/shardwise"


def run_llama_cpp(model, threads, prompt, tokens, repeat):
    """In this process: prints a JSON line with tokens per second of prefill and decode, the median of `repeat` runs."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = prompt + tokens + 64
    params.n_batch = params.n_ubatch = max(512, prompt)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.n_parallel = 1
    params.warmup = True
    params.verbosity = -1
    server = xllamacpp.Server(params)
    ids = [(i * 7919 + 1000) % 40000 for i in range(prompt)]
    prefill, decode = [], []
    for i in range(repeat + 1):
        answer = server.handle_completions(
            {"prompt": ids, "n_predict": tokens + 1, "temperature": 0, "cache_prompt": False, "ignore_eos": True}
        )
        timings = answer["timings"]
        if i > 0:  # the first warms up
            prefill.append(timings["prompt_per_second"])
            decode.append(timings["predicted_per_second"])
    print(
        "RESULT "
        + json.dumps(
            {
                "prefill_tps": statistics.median(prefill),
                "decode_tps": statistics.median(decode),
                "system": xllamacpp.get_system_info(),
            }
        )
    )


def llama_cpp(model, threads, prompt, tokens, repeat):
    command = [sys.executable, __file__, "--child", model]
    command += ["--threads", str(threads), "-p", str(prompt), "-n", str(tokens), "--repeat", str(repeat)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(next(line for line in out.splitlines() if line.startswith("RESULT "))[7:])


def shardwise(model, threads, prompt, tokens, repeat, plan):
    command = [BINARY, "bench", model, "--json", "--plan", plan, "--threads", str(threads)]
    command += ["-p", str(prompt), "-n", str(tokens), "--repeat", str(repeat)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def spread(values):
    return f"{statistics.median(values):8.1f} ({min(values):.1f}-{max(values):.1f})"


def compare(model, args):
    ours, theirs, split = [], [], []
    for _ in range(args.rounds):
        theirs.append(llama_cpp(model, args.threads, args.prompt, args.tokens, args.repeat))
        ours.append(shardwise(model, args.threads, args.prompt, args.tokens, args.repeat, "none"))
        if args.threads % 2 == 0:
            split.append(shardwise(model, args.threads // 2, args.prompt, args.tokens, args.repeat, "tp=2"))
    print(f"{model}, {args.threads} threads, prompt {args.prompt}, answer {args.tokens}")
    print(f"  llama.cpp runs with: {theirs[0]['system']}")
    for phase in ("prefill_tps", "decode_tps"):
        mine, other = [r[phase] for r in ours], [r[phase] for r in theirs]
        ratio = statistics.median(mine) / statistics.median(other)
        print(f"  {phase:12} shardwise {spread(mine)}  llama.cpp {spread(other)}  ratio {ratio:.2f}")
        if split:
            cut = statistics.median([r[phase] for r in split])
            print(f"  {'':12} tp=2, half the threads each: {cut:.1f}, {cut / statistics.median(mine):.2f} of one rank")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("-p", dest="prompt", type=int, default=512)
    parser.add_argument("-n", dest="tokens", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=3, help="runs in a process")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for model in args.models:
        if args.child:
            run_llama_cpp(model, args.threads, args.prompt, args.tokens, args.repeat)
        else:
            compare(model, args)


if __name__ == "__main__":
    main()
