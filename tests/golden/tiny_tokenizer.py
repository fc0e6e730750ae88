# The tokenizer of the golden models: byte-level BPE of 271 tokens, in the forms of Hugging Face and of GGUF.
# Ids 0-255 are the bytes in GPT-2's order, 256-263 the merges, 264-270 the control tokens.

MERGES = ["Ġ t", "Ġ a", "h e", "i n", "r e", "o n", "Ġt he", "e r"]
CONTROLS = ["<|begin|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|pad|>", "<|spare|>"]
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def byte_letters() -> list[str]:
    """GPT-2's alphabet: printable bytes stand for themselves and come first, the others move above 255."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    moved = len(set(range(256)) - set(printable))
    return [chr(byte) for byte in printable] + [chr(256 + i) for i in range(moved)]


PLAIN = byte_letters() + [merge.replace(" ", "") for merge in MERGES]
TOKENS = PLAIN + CONTROLS
BEGIN, END, PAD = (TOKENS.index(name) for name in ("<|begin|>", "<|end|>", "<|pad|>"))


def tokenizer_json() -> dict:
    """What Hugging Face's tokenizer.json holds."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    added = [
        {"id": len(PLAIN) + i, "content": name, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False, "special": True}
        for i, name in enumerate(CONTROLS)
    ]  # fmt: skip
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {token: i for i, token in enumerate(PLAIN)},
            "merges": MERGES,
        },
    }


def tokenizer_config() -> dict:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": TOKENS[BEGIN],
        "eos_token": TOKENS[END],
        "pad_token": TOKENS[PAD],
        "add_bos_token": False,
        "chat_template": CHAT_TEMPLATE,
    }
