"""Writes the token ids of llama.cpp and the pre-token cuts of Hugging Face for the texts in nasty_strings.py.

    make_tokens.py ids MODEL.gguf OUT.json      # pip install xllamacpp
    make_tokens.py splits OUT.json              # pip install tokenizers
    make_tokens.py folders OUT.json             # pip install tokenizers

ids: {"model", "by", "cases": [{"text", "plain": [ids], "special": [ids], absent where equal to plain}]}, without BOS.
folders: {"by", "texts": [...], "folders": [{"name", "tokenizer": tokenizer.json, "ids": [[ids] for each text]}]}, of small
tokenizers trained on the texts, one for each form of tokenizer.json; special tokens in the texts count.
splits: {"by", "texts": [...], "rules": [{"pre", "bytes": [[of each piece] for each text]}]}.
"""
import json
import os
import sys
import urllib.request

from nasty_strings import STRINGS


def write(path, head, name, items):
    with open(path, "w") as out:
        out.write(json.dumps(head)[:-1] + ', "%s": [\n' % name)
        out.write(",\n".join(json.dumps(item, separators=(",", ":")) for item in items))
        out.write("\n]}\n")


def make_ids(model, path):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = 64
    params.warmup = False
    server = xllamacpp.Server(params)

    def ids(text, special):
        body = json.dumps({"content": text, "add_special": False, "parse_special": special}).encode()
        request = urllib.request.Request(server.listening_address + "/tokenize", body, {"Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request))["tokens"]

    cases = []
    for text in STRINGS:
        case = {"text": text, "plain": ids(text, False)}
        special = ids(text, True)
        if special != case["plain"]:
            case["special"] = special
        cases.append(case)
    by = "llama.cpp of xllamacpp " + xllamacpp.__version__
    write(path, {"model": os.path.basename(model), "by": by}, "cases", cases)


CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
HEAD = r"[^\r\n\p{L}\p{N}]?"
LLAMA3 = CONTRACTION + "|" + HEAD + r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + SPACES
QWEN2 = LLAMA3.replace("{1,3}", "")
QWEN35 = CONTRACTION + "|" + HEAD + r"[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + SPACES
SEED = CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+" + SPACES
GPT4O = (HEAD + UPPER + "*" + LOWER + "+" + CONTRACTION + "?|" + HEAD + UPPER + "+" + LOWER + "*" + CONTRACTION +
         r"?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + SPACES)
TEKKEN = HEAD + UPPER + "*" + LOWER + "+|" + HEAD + UPPER + "+" + LOWER + r"*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + SPACES
DEEPSEEK3 = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*" +
             SPACES)


def make_splits(path):
    import tokenizers
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Punctuation, Sequence, Split

    def cut(pattern):
        return Split(Regex(pattern), "isolated")

    gpt2 = ByteLevel(add_prefix_space=False, use_regex=True)
    rules = {
        "gpt-2": gpt2,
        "smollm": Sequence([Digits(individual_digits=True), gpt2]),
        "llama-bpe": cut(LLAMA3),
        "qwen2": cut(QWEN2),
        "qwen35": cut(QWEN35),
        "seed-coder": cut(SEED),
        "gpt-4o": cut(GPT4O),
        "tekken": cut(TEKKEN),
        "falcon": Sequence([Punctuation("contiguous"), gpt2, cut("[0-9][0-9][0-9]")]),
        "deepseek-v3": Sequence([cut(r"\p{N}{1,3}"), cut("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"), cut(DEEPSEEK3)]),
        "deepseek-coder": Sequence([cut(r"[\r\n]"), cut(r"\s?\p{L}+"), cut(r"\s?\p{P}+"),
                                    cut("[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"), Digits(individual_digits=True)]),
    }
    made = {}
    for name, rule in rules.items():
        made[name] = []
        for text in STRINGS:
            pieces = [text[begin:end] for _, (begin, end) in rule.pre_tokenize_str(text)]
            assert "".join(pieces) == text, (name, text, pieces)
            made[name].append([len(piece.encode()) for piece in pieces])
    head = {"by": "tokenizers " + tokenizers.__version__, "texts": STRINGS}
    write(path, head, "rules", [{"pre": name, "bytes": cuts} for name, cuts in made.items()])


def trained(pre_tokenizer, normalizer, bytes_in_words, texts):
    """A tokenizer.json with some 300 merges: byte-level, or of characters with byte fallback."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(byte_fallback=not bytes_in_words))
    tokenizer.pre_tokenizer, tokenizer.normalizer = pre_tokenizer, normalizer
    alphabet = pre_tokenizers.ByteLevel.alphabet() if bytes_in_words else []
    size = 560 if bytes_in_words else 420
    limit = {} if bytes_in_words else {"limit_alphabet": 80}
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, initial_alphabet=alphabet,
                                  special_tokens=["<unk>", "<s>", "</s>", "<|im_end|>"], **limit)
    tokenizer.train_from_iterator(texts, trainer)
    made = json.loads(tokenizer.to_str())
    if not bytes_in_words:
        for byte in range(256):
            made["model"]["vocab"]["<0x%02X>" % byte] = len(made["model"]["vocab"])
        made["model"]["unk_token"] = "<unk>"
    for token in made["added_tokens"]:
        token["normalized"] = False
    made["added_tokens"].append({"id": len(made["model"]["vocab"]), "content": "<tool_call>", "special": False,
                                 "normalized": False, "single_word": False, "lstrip": False, "rstrip": False})
    return made


def make_folders(path):
    import tokenizers
    from tokenizers import Regex, normalizers
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Metaspace, Sequence, Split

    texts = [text for text in STRINGS if len(text) < 60]
    gpt2 = ByteLevel(add_prefix_space=False, use_regex=True)
    llama3 = Sequence([Split(Regex(LLAMA3), "isolated"), ByteLevel(add_prefix_space=False, use_regex=False)])
    marked = normalizers.Replace(" ", "\u2581")
    prefixed = normalizers.Sequence([normalizers.Prepend("\u2581"), marked])
    forms = {
        "gpt-2": trained(gpt2, None, True, texts),
        "single digits": trained(Sequence([Digits(individual_digits=True), gpt2]), None, True, texts),
        "llama-3": trained(llama3, None, True, texts),
        "llama-2 legacy": trained(None, prefixed, False, texts),
        "gemma": trained(Split(" ", "merged_with_previous"), marked, False, texts),
        "metaspace first": trained(Metaspace(prepend_scheme="first", split=False), None, False, texts),
        "metaspace always": trained(Metaspace(prepend_scheme="always", split=True), None, False, texts),
    }
    forms["llama-3"]["model"]["ignore_merges"] = True
    for strip in ("lstrip", "rstrip"):
        forms["gpt-2"]["added_tokens"][3][strip] = True
    folders = []
    for name, made in forms.items():
        tokenizer = tokenizers.Tokenizer.from_str(json.dumps(made))
        ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        folders.append({"name": name, "tokenizer": made, "ids": ids})
    write(path, {"by": "tokenizers " + tokenizers.__version__, "texts": texts}, "folders", folders)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "ids":
        make_ids(sys.argv[2], sys.argv[3])
    elif len(sys.argv) == 3 and sys.argv[1] == "splits":
        make_splits(sys.argv[2])
    elif len(sys.argv) == 3 and sys.argv[1] == "folders":
        make_folders(sys.argv[2])
    else:
        sys.exit(__doc__)
