"""Texts on which tokenizers differ: what make_tokens.py asks its references about."""

WORDS = ["hello", " hello", "hello ", "  hello", "Hello, World!", "HELLO world", "a", " ", "  ", "   ", "x ", "  x"]

SPACES = [
    "\t", "\n", "\r", "\r\n", "\n\n", "\n\n\n", "\t\tif", "a\n\n\nb", "a \n b", "a\n \nb", " \n", "\n ", " \t\n\r x",
    "a  b   c    d", "line one\r\nline two\r\n\r\n", "\tif x:\n\t\treturn y\n", "    four\n        eight\n",
    "trailing   ", "trailing\n\n", "\x0b\x0c", "a\x0bb\x0cc", "a\u0085b", "a\u00a0b", "\u00a0\u00a0x", "a\u2003b",
    "\u2003\u2003x", "\u3000\u4f60\u597d", "a\u3000\u3000b", "a\u2028b\u2029c", "a\u1680b", "a\u202fb", "a\u205fb",
    "a\u180eb", "\ufeffBOM", "a\ufeffb", "a\u200bb", "a\u200db", "\u200e\u200f", " \u00a0 x", "x \u2003\n y", "\n\t \n\t ",
    "a\u2000\u2001\u2002b",
]

CONTRACTIONS = [
    "don't", "DON'T", "Don'T", "I'm", "I'M", "we're they've she'll he'd it's", "WE'RE THEY'VE SHE'LL HE'D IT'S",
    "'s", "'S", "''s", "'tis", "rock'n'roll", "y'all'd've", "'\u017f", "don\u2019t", "'re're", "a'b", "'", "''", "'''",
    "l'\u00e9t\u00e9", "'ll'LL'lL", "O'Reilly's", "'d'm't",
]

DIGITS = [
    "1", "12", "123", "1234", "12345", "123456789", "3.14", "-3.14e-10", "1,234,567.89", "0x1F600", "1 2 3", "a1b2c3",
    "12:34:56", "2024-02-30", "$1,000.00", "50%", "\u0661\u0662\u0663\u0664", "\u0967\u0968\u0969", "\uff11\uff12\uff13\uff14",
    "\u00b2\u00b3\u00b9", "\u00bd\u00be", "\u2160\u2161\u2162", "\u3007\u3021", "x\u00b2+y\u00b2", "1st 2nd 3rd", "v1.2.3-rc4", "007",
    "1\u00a0000\u00a0000", "1\u202f000", "\u2460\u2461\u2462", "10^100", "\U0001d7ce\U0001d7cf\U0001d7d0",
]

SCRIPTS = [
    "\u4f60\u597d\uff0c\u4e16\u754c\uff01", "\u6f22\u5b57\u4eee\u540d\u4ea4\u3058\u308a\u6587", "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c",
    "\u30ab\u30bf\u30ab\u30ca", "\uc548\ub155\ud558\uc138\uc694 \uc138\uacc4", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!",
    "\u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5", "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\u0628\u0650\u0633\u0652\u0645\u0650", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01", "\u0995\u09be\u0982\u09b2\u09be", "\u0ba4\u0bae\u0bbf\u0bb4\u0bcd",
    "\u10d2\u10d0\u10db\u10d0\u10e0\u10ef\u10dd\u10d1\u10d0", "\u0540\u0561\u0575\u0565\u0580\u0565\u0576", "\u1230\u120b\u121d", "Ti\u1ebfng Vi\u1ec7t",
    "na\u00efve caf\u00e9 \u00fcber Stra\u00dfe", "STRASSE\u1e9e", "\u0130stanbul \u0131", "\u01c5\u01c8\u01cb", "mixed\u4e2d\u6587and\u0440\u0443\u0441",
    "English\u65e5\u672c\u8a9eEnglish", "abc \u05d0\u05d1\u05d2 123 \u05d3", "\u0710\u072c", "\u07d2\u07de\u07cf", "\u13e3\u13b3\u13a9", "\u1000\u103c\u1014\u103a\u1019\u102c",
    "CamelCaseWordsAndHTTPServer", "snake_case_words", "kebab-case-words", "ALLCAPSWORD", "iPhone eBay McDonald",
    "\u02b0\u02b1\u02b2 modifier", "\u2c7c\u2c7d", "\U00010400\U00010428 deseret", "\U0001d49c\U0001d4b7 math", "\ufb01\ufb02 ligatures",
]

MARKS = [
    "e\u0301", "\u0301", "a\u0301\u0302\u0303b", " \u0301", "\u0301\u0302", "x\u20dd", "1\u0301", "!\u0301", "\n\u0301", "\u0915\u093c",
    "Z\u0351\u036b\u0343\u036a\u0302a\u036b\u033d\u034f\u0334\u0319l\u0308g\u0301o\u034a", "\u1e69 s\u0323\u0307", "\u212b \u2126 \u212a", "\uac00 \u1100\u1161", "\u0e49\u0e49",
]

EMOJI = [
    "\U0001f600", "\U0001f44d\U0001f3fd", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "\u2764\ufe0f", "1\ufe0f\u20e3",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "ok\U0001f602\U0001f602\U0001f602done", "\U0001f600 \U0001f600", "\U0001f999.cpp", "\u2122\u00ae\u00a9", "\u2192\u21d2\u21a6",
    "\u221e\u2211\u222b\u221a", "\u2588\u2593\u2592\u2591", "\u2581\u2581x", "\u2581", "a\u2581b",
]

PUNCTUATION = [
    "!", "!!!", "...", ". . .", "?!?!", "--", "---", "\u2014", "\u201cquoted\u201d \u2018single\u2019", "(a)", "[b]{c}", "<d>", "a.b.c", "a/b\\c", "#hash @at",
    "&amp; &lt;", "*bold* _it_ `code`", "~^|", "a=b+c-d*e/f", "x<=y>=z!=w==v", "\u00bfQu\u00e9? \u00a1S\u00ed!", "\u3001\u3002\u300c\u300d", "\uff08\uff09\uff01\uff1f", "\u00a7\u00b6\u2020\u2021",
    "\u20ac\u00a3\u00a5\u20bf", "foo!\nbar", "foo! \n\nbar", ")\r\n(", " !", "  !", "a !b", "/// comment", "a\u00ad\u00adb", "\u0964\u0965",
]

CODE = [
    "int main(void) { return 0; }\n", "def f(x):\n    return x**2  # square\n", "if (a && b || !c) {\n\t++i;\n}\n",
    "SELECT * FROM t WHERE id = 42;", "<div class=\"x\">text</div>", "<table><tr><td>1</td></tr></table>", "{\"key\": [1, 2.5, null, true]}",
    "https://example.com/path?q=1&r=a%20b#frag", "user.name+tag@example.co.uk", "C:\\Windows\\System32", "std::vector<std::pair<int, int>> v{{1, 2}};",
    "\\begin{equation}\n\\frac{a}{b}\n\\end{equation}", "```python\nprint('hi')\n```", "| a | b |\n|---|---|\n| 1 | 2 |", "$x_{i}^{2}$", "rm -rf /tmp/* 2>&1 | tee log",
    "\x1b[31mred\x1b[0m", "0b1010 & ~0xFF << 3", "lambda x: x if x else None", "<h1>Title</h1>\n<b>bold</b><br/>", "for(;;);", "=>=>=>", "// NOTE(me): fix\n",
]

CONTROLS = [
    "\x00", "a\x00b", "\x01\x02\x03", "\x7f", "\x80\x9f", "\x1f \x1f", "a\x08b", "\x00\x00\x00", "\x04\x06\x13\x14\x16\x1d end", "\u2066\u2069", "\ue000\uf8ff", "\ufffd", "\ufffe\uffff",
    "\U0010ffff", "\U000f0000x",
]

UNASSIGNED = [
    "\u0378", "a\u0378b", "\U00031350", "a\U00031350b", " \U00031350", "\U000323b0", "\U0001cc00", "\U0003fffd", "\U0002ebf0x", "\u1c89\u1c8a", "a\u1c8ab", "\ua7da\ua7db",
    "\U00011f02\U00011f04", "\U0001e4d0\U0001e4d1", "\U00010d4e", "\U0001fae8", "\u2ffc", "\u088f", "\U0001dff0", "\u0c5c", "\U00040000", "\U000e0001", "\U000110c2", "\u10ff\u10fd",
]

SPECIALS = [
    "<s>G", "</s>", "A<|im_end|> B", "A<|im_end|>B", "<|im_start|>user\nhi<|im_end|>\n", "<|endoftext|>", " <|endoftext|> ", "<|im_end|><|im_end|>", "<|im_end", "<|im_end|", "im_end|>",
    "<start_of_turn>user\nhi<end_of_turn>\n<start_of_turn>model\n", "<bos>x<eos>", "<pad><unk><mask>", "a <bos> b", "<|im_start|>\n\n<|im_end|>", "<tool_call>{}</tool_call>",
    "<|vision_start|><|image_pad|><|vision_end|>", "[PAD151665]", "<unused0> <unused99>", "[multimodal]", "<start_of_image>x<end_of_image>", "<0x41>", "<0x0A><0xFF>", "<repo_name>a<filename>b",
    "<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>", "<|<|im_end|>|>", "<<|im_end|>>", "A<|im_end|>\n<|im_start|>system\nB", "<|eot_id|><|begin_of_text|>",
    "\u4e2d<|im_end|>\u6587", "e<|im_end|>\u0301", " <|im_start|> ", "\n<|im_end|>\n\n", "<|IM_END|>",
]

LONG = [
    "A" * 300, "a" * 301, "." * 257, " " * 200, " " * 201 + "x", "\n" * 100, "\n" * 37 + "x", "\t" * 75, "_" * 150, "=" * 120, "-" * 99 + "\n", "ab" * 150, "0" * 200, "1234567890" * 20,
    "\u6f22" * 120, "\U0001f600" * 40, " a" * 120, "a " * 120, "\u00a0" * 40, "\r\n" * 40, "'s" * 60, "\u0301" * 50, "!?" * 80, "Aa" * 100, "\u0e01" * 90, "\u0645" * 90, "\u2581" * 30, "  \n" * 40,
    "The quick brown fox jumps over the lazy dog. " * 8, "supercalifragilisticexpialidocious" * 6,
]

STRINGS = list(dict.fromkeys(
    [""] + WORDS + SPACES + CONTRACTIONS + DIGITS + SCRIPTS + MARKS + EMOJI + PUNCTUATION + CODE + CONTROLS + UNASSIGNED + SPECIALS + LONG))
