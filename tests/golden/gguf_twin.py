# Writes a golden model as the GGUF file that llama.cpp's converter would make of it: names, keys and row order.

import pathlib

import gguf
import numpy as np
import reference
import tiny_tokenizer

ARCHITECTURES = {
    "llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "gemma3_text": "gemma3", "phi3": "phi3", "olmo2": "olmo2",
}  # fmt: skip
LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.qkv_proj": "attn_qkv",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.gate_up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
OUTER_NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def gguf_name(name: str, family: str) -> str:
    stem, end = name.rsplit(".", 1)
    if stem in OUTER_NAMES:
        return f"{OUTER_NAMES[stem]}.{end}"
    layer, inner = stem.removeprefix("model.layers.").split(".", 1)
    if inner == "post_attention_layernorm":  # norms the attention's result only where the FFN has a norm of its own
        inner_name = "post_attention_norm" if family in ("gemma3_text", "olmo2") else "ffn_norm"
    else:
        inner_name = LAYER_NAMES[inner]
    return f"blk.{layer}.{inner_name}.{end}"


def neighbours_order(heads: int, head_size: int) -> list[int]:
    """For each new row the old one: the halves of each head are interleaved, so that rotary pairs are neighbours."""
    half = head_size // 2
    return [head * head_size + side * half + pair for head in range(heads) for pair in range(half) for side in (0, 1)]


def converted(name: str, weight: np.ndarray, config: dict, head_size: int) -> np.ndarray:
    """The weight as it stands in a GGUF file."""
    family = config["model_type"]
    if family == "gemma3_text" and name.endswith("norm.weight"):
        return weight + np.float32(1)
    for part, heads in (("q_proj", "num_attention_heads"), ("k_proj", "num_key_value_heads")):
        if family == "llama" and f"self_attn.{part}." in name:
            return weight[neighbours_order(config[heads], head_size)]
    return weight


def write_keys(writer: gguf.GGUFWriter, config: dict, head_size: int) -> None:
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(head_size)
    writer.add_value_length(head_size)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_rope_dimension_count(head_size)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    if "sliding_window_pattern" in config:
        writer.add_sliding_window(config["sliding_window"])
        # llama.cpp knows this scale from the size of the model; the key says it where that rule does not hold.
        writer.add_attention_scale(config["query_pre_attn_scalar"] ** -0.5)
    scaling = config.get("rope_scaling") or {"rope_type": "none"}
    if scaling["rope_type"] in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(scaling["rope_type"]))
        writer.add_rope_scaling_factor(scaling["factor"])
    if scaling["rope_type"] == "yarn":
        writer.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])


def write_tokenizer(writer: gguf.GGUFWriter) -> None:
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tiny_tokenizer.TOKENS)
    controls = [gguf.TokenType.CONTROL] * len(tiny_tokenizer.CONTROLS)
    writer.add_token_types([gguf.TokenType.NORMAL] * len(tiny_tokenizer.PLAIN) + controls)
    writer.add_token_merges(tiny_tokenizer.MERGES)
    writer.add_bos_token_id(tiny_tokenizer.BEGIN)
    writer.add_eos_token_id(tiny_tokenizer.END)
    writer.add_pad_token_id(tiny_tokenizer.PAD)
    writer.add_add_bos_token(False)
    writer.add_chat_template(tiny_tokenizer.CHAT_TEMPLATE)


def write(path: pathlib.Path, config: dict, weights: reference.Weights) -> None:
    head_size = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    writer = gguf.GGUFWriter(path, ARCHITECTURES[config["model_type"]])
    writer.add_name("golden")  # llama.cpp treats some names of real models in ways of their own
    write_keys(writer, config, head_size)
    write_tokenizer(writer)
    if (config.get("rope_scaling") or {}).get("rope_type") == "llama3":
        frequencies = config["rope_theta"] ** (-np.arange(0, head_size, 2) / head_size)
        writer.add_tensor("rope_freqs.weight", reference.llama3_divisors(config, frequencies).astype(np.float32))
    for tensor, weight in weights.items():
        stored = converted(tensor, weight, config, head_size)
        writer.add_tensor(gguf_name(tensor, config["model_type"]), np.ascontiguousarray(stored))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
