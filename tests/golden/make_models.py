#!/usr/bin/env python3
# Makes the golden models: tiny random models of each family with logits on which two implementations agree.
# The logits kept are those of reference.py in double precision; mlx-lm must give them, too, or nothing is written.
"""usage: OPENBLAS_NUM_THREADS=1 make_models.py [NAME ...]      (pip install 'mlx[cpu]' mlx-lm gguf safetensors)"""

import copy
import json
import pathlib
import sys

import gguf_twin
import mlx.core as mx
import numpy as np
import reference
import tiny_tokenizer
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import load_model
from safetensors.numpy import save_file

MODELS = pathlib.Path(__file__).resolve().parent / "models"
PROMPT_TOKENS, GREEDY_TOKENS = 24, 16
POSITIONS = [0, 7, 8, 15, 23]  # 7 is the last that a window of 8 does not cut
AGREEMENT = 1e-4  # largest difference between two implementations, of the largest logit
LEAST_LEAD = 0.01  # of a greedy choice, of the largest logit: rounding must not change it
LEAST_EFFECT = 1e-2  # of each feature on the logits: a model that ignores one must not pass

COMMON = {
    "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 6, "head_dim": 8,
    "num_key_value_heads": 2, "rms_norm_eps": 1e-3, "rope_theta": 500.0, "max_position_embeddings": 128,
    "vocab_size": len(tiny_tokenizer.TOKENS), "tie_word_embeddings": True,
    "bos_token_id": tiny_tokenizer.BEGIN, "eos_token_id": tiny_tokenizer.END, "torch_dtype": "float32",
}  # fmt: skip
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}

# Name: what differs from COMMON, whether it has a GGUF twin.
RECIPES = {
    "llama": ({"model_type": "llama", "tie_word_embeddings": False}, True),
    "llama_tied": ({"model_type": "llama", "num_attention_heads": 9, "num_key_value_heads": 3, "intermediate_size": 56,
                    "num_hidden_layers": 3}, False),
    "llama_llama3": ({"model_type": "llama", "rope_scaling": LLAMA3}, True),
    "llama_yarn": ({"model_type": "llama", "rope_scaling": YARN}, True),
    "qwen2": ({"model_type": "qwen2", "hidden_size": 56, "num_attention_heads": 7, "num_key_value_heads": 1,
               "tie_word_embeddings": False}, True),
    "qwen3": ({"model_type": "qwen3", "num_attention_heads": 4, "head_dim": 16}, False),
    "gemma3": ({"model_type": "gemma3_text", "hidden_size": 64, "intermediate_size": 32, "num_hidden_layers": 6,
                "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 12, "query_pre_attn_scalar": 24,
                "sliding_window": 8, "sliding_window_pattern": 6, "rope_theta": 2000.0, "rope_local_base_freq": 10000.0,
                "rope_scaling": {"rope_type": "linear", "factor": 2.0},
                "hidden_activation": "gelu_pytorch_tanh"}, True),
    "phi3": ({"model_type": "phi3", "intermediate_size": 56, "tie_word_embeddings": False}, True),
    "olmo2": ({"model_type": "olmo2"}, False),
}  # fmt: skip
# What must change the logits wherever a model has it.
FEATURES = [
    {"rope_theta": 10000.0}, {"rope_scaling": None}, {"sliding_window": None}, {"rope_local_base_freq": 100.0},
    {"query_pre_attn_scalar": 12}, {"sliding_window": 9}, {"sliding_window_pattern": 3},
]  # fmt: skip


def architecture_class(family: str) -> str:
    return family.removesuffix("_text").capitalize() + "ForCausalLM"


def shapes_of(config: dict) -> dict[str, tuple[int, ...]]:
    """All tensors of the family, by Hugging Face's names; a matrix is [rows out, columns in]."""
    family, d, f = config["model_type"], config["hidden_size"], config["intermediate_size"]
    size = config["head_dim"]
    q, kv = config["num_attention_heads"] * size, config["num_key_value_heads"] * size
    attention = {"qkv": (q + 2 * kv, d)} if family == "phi3" else {"q": (q, d), "k": (kv, d), "v": (kv, d)}
    mlp = {"gate_up": (2 * f, d)} if family == "phi3" else {"gate": (f, d), "up": (f, d)}
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config["vocab_size"], d)}
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        for name, shape in {**attention, "o": (d, q)}.items():
            shapes[f"{prefix}self_attn.{name}_proj.weight"] = shape
            if family == "qwen2" and name != "o":
                shapes[f"{prefix}self_attn.{name}_proj.bias"] = shape[:1]
        for name, shape in {**mlp, "down": (d, f)}.items():
            shapes[f"{prefix}mlp.{name}_proj.weight"] = shape
        if family in ("qwen3", "gemma3_text", "olmo2"):
            over_all = family == "olmo2"
            shapes[f"{prefix}self_attn.q_norm.weight"] = (q if over_all else size,)
            shapes[f"{prefix}self_attn.k_norm.weight"] = (kv if over_all else size,)
        norms = [] if family == "olmo2" else ["input"]
        norms += ["post_attention"]
        norms += ["pre_feedforward", "post_feedforward"] if family == "gemma3_text" else []
        norms += ["post_feedforward"] if family == "olmo2" else []
        shapes.update({f"{prefix}{norm}_layernorm.weight": (d,) for norm in norms})
    shapes["model.norm.weight"] = (d,)
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (config["vocab_size"], d)
    return shapes


def random_weights(config: dict, random: np.random.Generator) -> reference.Weights:
    """Matrices that keep the size of what passes, norms around 1, biases as large as what they are added to."""
    weights = {}
    for name, shape in shapes_of(config).items():
        draw = random.standard_normal(shape)
        if name.endswith("norm.weight"):
            weight = 0.3 * draw + (config["model_type"] != "gemma3_text")
        elif name.endswith(".bias"):
            weight = draw
        elif "embed_tokens" in name or "lm_head" in name:
            weight = draw * (0.4 if config["model_type"] != "gemma3_text" else 0.05)  # Gemma multiplies by sqrt(d)
        else:
            weight = draw * 1.2 / np.sqrt(shape[1])
        weights[name] = weight.astype(np.float32)
    return weights


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, of the largest expected logit."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def mlx_difference(folder: pathlib.Path, ids: list[int], expected: np.ndarray, greedy: list[int]) -> float:
    """How far mlx-lm is from `expected`, all positions at once and then a token at a time through its cache."""
    model, _ = load_model(folder)
    at_once = np.array(model(mx.array([ids]))[0])
    cache = make_prompt_cache(model)
    last = model(mx.array([ids]), cache=cache)[0, -1]
    followed = []
    for _ in greedy:
        followed.append(int(mx.argmax(last).item()))
        last = model(mx.array([followed[-1:]]), cache=cache)[0, -1]
    assert followed == greedy, f"{folder.name}: mlx-lm goes on with {followed}, the reference with {greedy}"
    return relative(at_once, expected)


def check_features(name: str, config: dict, weights: reference.Weights, ids: list[int], expected: np.ndarray) -> None:
    """Each feature that the model has must show in its logits."""
    for change in FEATURES:
        if all(config.get(key) is None for key in change):
            continue
        effect = relative(reference.Reference({**config, **change}, weights).logits(ids), expected)
        assert effect > LEAST_EFFECT, f"{name}: {change} changes the logits by {effect:.1e} only"
    for part in ("norm.weight", "layernorm.weight", ".bias"):
        other = {k: np.full_like(w, config["model_type"] != "gemma3_text" and "norm" in k) if k.endswith(part) else w
                 for k, w in weights.items()}  # fmt: skip
        if any(k.endswith(part) for k in weights):
            effect = relative(reference.Reference(config, other).logits(ids), expected)
            assert effect > LEAST_EFFECT, f"{name}: {part} changes the logits by {effect:.1e} only"


def shortest(values: np.ndarray) -> list[float]:
    """f32 numbers with as few digits as give the same f32 again."""
    return [float(str(value)) for value in values.astype(np.float32)]


def write_json(path: pathlib.Path, content: dict) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")


def decisive_model(name: str, config: dict) -> tuple[reference.Weights, list[int], list[int], list[float], np.ndarray]:
    """Weights, prompt, greedy continuation, leads and logits of the first seed whose greedy choices are all clear."""
    for seed in range(100):
        random = np.random.default_rng([seed, *name.encode()])
        weights = random_weights(config, random)
        prompt = [int(i) for i in random.integers(0, config["vocab_size"], PROMPT_TOKENS)]
        model = reference.Reference(config, weights)
        logits = model.logits(prompt)
        following, leads = reference.greedy(model, prompt, GREEDY_TOKENS)
        if min(leads) > LEAST_LEAD * np.abs(logits).max() and len(set(following)) > GREEDY_TOKENS // 3:
            return weights, prompt, following, leads, logits
    raise AssertionError(f"{name}: no seed gives clear greedy choices")


def make(name: str) -> None:
    fields, has_twin = RECIPES[name]
    config = copy.deepcopy({**COMMON, **fields, "architectures": [architecture_class(fields["model_type"])]})
    weights, prompt, following, leads, logits = decisive_model(name, config)
    check_features(name, config, weights, prompt, logits)
    folder = MODELS / name
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)
    write_json(folder / "config.json", config)
    write_json(folder / "tokenizer.json", tiny_tokenizer.tokenizer_json())
    write_json(folder / "tokenizer_config.json", tiny_tokenizer.tokenizer_config())
    difference = mlx_difference(folder, prompt, logits, following)
    assert difference < AGREEMENT, f"{name}: mlx-lm differs by {difference:.1e}"
    golden = {
        "about": "logits in double precision rounded to f32, by position; relative_difference is mlx-lm's",
        "prompt": prompt, "positions": POSITIONS, "logits": [shortest(logits[i]) for i in POSITIONS],
        "greedy": following, "margins": shortest(np.array(leads)), "relative_difference": difference,
    }  # fmt: skip
    write_json(folder / "golden.json", golden)
    if has_twin:
        gguf_twin.write(MODELS / f"{name}.gguf", config, weights)
    print(f"{name}: mlx-lm differs by {difference:.1e} of {np.abs(logits).max():.1f}, least lead {min(leads):.3f}")


def main() -> None:
    mx.set_default_device(mx.cpu)
    for name in sys.argv[1:] or RECIPES:
        make(name)


if __name__ == "__main__":
    main()
