# The forward pass of each family in double precision, in the plainest form: the judge of the golden models.
"""Weights are named and shaped as in Hugging Face's safetensors; `config` has the fields of their config.json."""

import math

import numpy as np

Weights = dict[str, np.ndarray]


def rms_norm(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    """x[..., n] over its root mean square, times weight[n]."""
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def yarn(config: dict, frequencies: np.ndarray, head_size: int) -> tuple[np.ndarray, float]:
    """YaRN (Peng et al. 2023): pairs that turn often keep their frequency, pairs that turn seldom are slowed down."""
    scaling = config["rope_scaling"]

    def pair_that_turns(times: float) -> float:
        length = scaling["original_max_position_embeddings"]
        return head_size * math.log(length / (times * 2 * math.pi)) / (2 * math.log(config["rope_theta"]))

    low = max(math.floor(pair_that_turns(scaling.get("beta_fast", 32))), 0)
    high = min(math.ceil(pair_that_turns(scaling.get("beta_slow", 1))), head_size - 1)
    slowed = np.clip((np.arange(head_size // 2) - low) / max(high - low, 0.001), 0, 1)
    mixed = frequencies / scaling["factor"] * slowed + frequencies * (1 - slowed)
    return mixed, 0.1 * math.log(scaling["factor"]) + 1


def llama3_divisors(config: dict, frequencies: np.ndarray) -> np.ndarray:
    """By how much the Llama 3.1 scaling slows each pair down: 1 for short waves, `factor` for long ones."""
    scaling = config["rope_scaling"]
    turns = scaling["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    smooth = np.clip((turns - low) / (high - low), 0, 1)
    return 1 / ((1 - smooth) / scaling["factor"] + smooth)


def frequencies_of(config: dict, head_size: int, local: bool) -> tuple[np.ndarray, float]:
    """Radians a position for each pair of a head, and what the rotated vector is multiplied by."""
    base = config["rope_local_base_freq"] if local else config["rope_theta"]
    frequencies = base ** (-np.arange(0, head_size, 2) / head_size)
    scaling = None if local else config.get("rope_scaling")
    if scaling is None:
        return frequencies, 1.0
    if scaling["rope_type"] == "yarn":
        return yarn(config, frequencies, head_size)
    if scaling["rope_type"] == "llama3":
        return frequencies / llama3_divisors(config, frequencies), 1.0
    assert scaling["rope_type"] == "linear"
    return frequencies / scaling["factor"], 1.0


def rotate(x: np.ndarray, frequencies: np.ndarray, magnitude: float) -> np.ndarray:
    """x[T, heads, head_size] turned by position; pair i is (i, i + head_size / 2)."""
    angle = np.arange(x.shape[0])[:, None, None] * frequencies
    left, right = np.split(x, 2, axis=-1)
    cos, sin = np.cos(angle), np.sin(angle)
    return magnitude * np.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1)


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, window: int | None) -> np.ndarray:
    """q[T, heads, size], k and v[T, kv_heads, size] -> [T, heads * size]; a token sees itself and those before it."""
    tokens, heads, _ = q.shape
    k, v = (np.repeat(x, heads // k.shape[1], axis=1) for x in (k, v))
    scores = np.einsum("qhd,khd->hqk", q, k) * scale
    behind = np.arange(tokens)[:, None] - np.arange(tokens)[None, :]
    seen = (behind >= 0) & (behind < (window or tokens))
    scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.einsum("hqk,khd->qhd", weights, v).reshape(tokens, -1)


class Reference:
    """One model; `logits(ids)` gives [T, vocab]."""

    def __init__(self, config: dict, weights: Weights):
        self.config = config
        self.weights = {name: np.asarray(w, np.float64) for name, w in weights.items()}
        self.family = config["model_type"]
        self.is_gemma = self.family == "gemma3_text"
        self.head_size = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        return rms_norm(x, self.weights[name + ".weight"] + self.is_gemma, self.config["rms_norm_eps"])

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        y = x @ self.weights[name + ".weight"].T
        bias = self.weights.get(name + ".bias")
        return y if bias is None else y + bias

    def qkv(self, x: np.ndarray, prefix: str) -> list[np.ndarray]:
        """q, k and v as [T, heads, head_size], not rotated yet."""
        heads, kv_heads = self.config["num_attention_heads"], self.config["num_key_value_heads"]
        if prefix + "qkv_proj.weight" in self.weights:
            borders = [heads * self.head_size, (heads + kv_heads) * self.head_size]
            q, k, v = np.split(self.linear(x, prefix + "qkv_proj"), borders, axis=-1)
        else:
            q, k, v = (self.linear(x, f"{prefix}{name}_proj") for name in "qkv")
        over_all_heads = self.family == "olmo2"
        if over_all_heads:
            q, k = self.norm(q, prefix + "q_norm"), self.norm(k, prefix + "k_norm")
        q, k, v = (x.reshape(x.shape[0], -1, self.head_size) for x in (q, k, v))
        if prefix + "q_norm.weight" in self.weights and not over_all_heads:
            q, k = self.norm(q, prefix + "q_norm"), self.norm(k, prefix + "k_norm")
        return [q, k, v]

    def attention(self, x: np.ndarray, layer: int) -> np.ndarray:
        pattern = self.config.get("sliding_window_pattern")
        local = pattern is not None and (layer + 1) % pattern != 0
        turning = frequencies_of(self.config, self.head_size, local)
        prefix = f"model.layers.{layer}.self_attn."
        q, k, v = self.qkv(x, prefix)
        scale = self.config.get("query_pre_attn_scalar", self.head_size) ** -0.5
        window = self.config["sliding_window"] if local else None
        mixed = attend(rotate(q, *turning), rotate(k, *turning), v, scale, window)
        return self.linear(mixed, prefix + "o_proj")

    def feed_forward(self, x: np.ndarray, layer: int) -> np.ndarray:
        prefix = f"model.layers.{layer}.mlp."
        if prefix + "gate_up_proj.weight" in self.weights:
            gate, up = np.split(self.linear(x, prefix + "gate_up_proj"), 2, axis=-1)
        else:
            gate, up = self.linear(x, prefix + "gate_proj"), self.linear(x, prefix + "up_proj")
        if self.is_gemma:  # GELU by its tanh approximation; SiLU elsewhere
            gate = 0.5 * gate * (1 + np.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3)))
        else:
            gate = gate / (1 + np.exp(-gate))
        return self.linear(gate * up, prefix + "down_proj")

    def layer(self, x: np.ndarray, layer: int) -> np.ndarray:
        prefix = f"model.layers.{layer}."
        if self.family == "olmo2":
            x = x + self.norm(self.attention(x, layer), prefix + "post_attention_layernorm")
            return x + self.norm(self.feed_forward(x, layer), prefix + "post_feedforward_layernorm")
        mixed = self.attention(self.norm(x, prefix + "input_layernorm"), layer)
        if not self.is_gemma:
            x = x + mixed
            return x + self.feed_forward(self.norm(x, prefix + "post_attention_layernorm"), layer)
        x = x + self.norm(mixed, prefix + "post_attention_layernorm")
        fed = self.feed_forward(self.norm(x, prefix + "pre_feedforward_layernorm"), layer)
        return x + self.norm(fed, prefix + "post_feedforward_layernorm")

    def logits(self, ids: list[int]) -> np.ndarray:
        x = self.weights["model.embed_tokens.weight"][ids]
        if self.is_gemma:
            x = x * math.sqrt(self.config["hidden_size"])
        for layer in range(self.config["num_hidden_layers"]):
            x = self.layer(x, layer)
        tied = self.config["tie_word_embeddings"]
        output = self.weights["model.embed_tokens.weight" if tied else "lm_head.weight"]
        return self.norm(x, "model.norm") @ output.T


def greedy(model: Reference, prompt: list[int], count: int) -> tuple[list[int], list[float]]:
    """The ids that follow `prompt` when the likeliest is taken each time, and by how much it led the second."""
    ids, leads = list(prompt), []
    for _ in range(count):
        last = model.logits(ids)[-1]
        second, first = np.argsort(last)[-2:]
        ids.append(int(first))
        leads.append(float(last[first] - last[second]))
    return ids[len(prompt) :], leads
