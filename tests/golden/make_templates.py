"""Writes what jinja2 renders, set up as Hugging Face sets it up for chat templates.

    make_templates.py OUT_FOLDER                    # pip install jinja2
    make_templates.py OUT_FOLDER NAME=FILE.jinja... # also the prompts of templates that are not stored here

OUT_FOLDER gets conversations.json ({name: context}); one file a template of chat_formats*.py ({"name", "template",
"prompts": {conversation: {"prompt"} or {"error", "raised"}}}; "raised" is what raise_exception said); the same without
"template" for each NAME=FILE; and language.json ({"context", "cases": [{"template", "prompt" or "error"}]}).
"""
import copy
import json
import os
import sys
from datetime import datetime, timezone

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

import chat_formats
import chat_formats_tools
from conversations import conversations

NOW = 1721044800  # 2024-07-15, noon in Greenwich: the same day nearly everywhere

LANGUAGE_CONTEXT = {
    "x": 5, "f": 2.5, "s": "Hello, Wörld <b>", "l": [3, 1, 2], "d": {"a": 1, "b": {"c": [1, 2]}, "items": 7}, "n": None,
    "t": True, "e": "", "el": [],
    "m": [{"role": "user", "content": "hi", "k": 2}, {"role": "Bot", "content": "yo", "k": 1}],
}

# White space around tags, and what is no template at all: these need newlines or do not parse.
WHOLE_TEMPLATES = [
    "{% if x %}\n  {% set y=1 %}\nA\n{% endif %}\n",
    "  {% if true %}\n  x\n  {% endif %}\n  y\n",
    "a\n  {%- if true %} b\n{% endif -%}\n  c\n\n",
    "{# c #}\nx\n  {# d #}\ny",
    "x {% if 1 %}\ny{% endif %}\n\nz",
    "  {%+ if true %}x{% endif +%}\ny",
    "{% raw %}\n {{ x }}\n  {% endraw %}\nq",
    "a\r\nb\rc{{ 'x\r\ny' }}",
    "{{ {'a':{'b':1}} }}",
    "{{ 'a }} b' }}",
    "\n{{ 1 }}\n",
    "{{ 1 }}\n\n",
    " {%- set x = 1 %}\n {{- x }}\n",
    "x\n \t{% set y = 1 -%}\n\n  z",
    "{%- raw -%}  a {%- endraw -%}  b",
    "{%if true%}a{%endif%}",
    "{ {x} } {{'{'}} {%if 1%}{{'}}'}}{%endif%}",
    "{{ 'a' }}}",
    "{{{'a':1}}}",
    "{% for i in [1,2] %}\n{{ i }}\n{% endfor %}\n",
    "  {{ 1 }}\n  {# c -#}\n\n 2",
    "{{ x", "{% if x %}", "{{ (1 }}", "{{ 1) }}", "{{ 'abc }}", "{# abc", "{{ }}", "{% %}", "{{- -}}", "{% endif %}",
    "{% for %}{% endfor %}", "{% set 1 = 2 %}", "{{ x y }}", "{% block a %}{% endblock", "{{ 1 if }}", "{{ [1, }}",
]


class Generation(jinja2.ext.Extension):
    """The generation tag marks what a model wrote; it renders to its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


class Raised(jinja2.exceptions.TemplateError):
    pass


def environment():
    def raise_exception(message):
        raise Raised(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def strftime_now(form):
        return datetime.fromtimestamp(NOW, timezone.utc).strftime(form)

    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals.update(raise_exception=raise_exception, strftime_now=strftime_now)
    return env


def render(env, source, context):
    try:
        return {"prompt": env.from_string(source).render(**copy.deepcopy(context))}
    except Raised as error:
        return {"error": True, "raised": str(error)}
    except Exception:  # whatever Python raises: only that it fails is compared
        return {"error": True}


def write(path, value):
    with open(path, "w") as out:
        json.dump(value, out, ensure_ascii=False, indent=1)
        out.write("\n")


def main():
    folder, further = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    env, talks = environment(), conversations()
    write(os.path.join(folder, "conversations.json"), talks)

    def prompts(source):
        return {name: render(env, source, context) for name, context in talks.items()}

    for module in (chat_formats, chat_formats_tools):
        for name, source in vars(module).items():
            if name.isupper():
                write(os.path.join(folder, "format_" + name.lower() + ".json"),
                      {"name": name.lower(), "template": source, "prompts": prompts(source)})
    for pair in further:
        name, path = pair.split("=", 1)
        with open(path, newline="") as file:
            write(os.path.join(folder, "model_" + name + ".json"), {"name": name, "prompts": prompts(file.read())})

    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "template_language.txt")) as file:
        sources = file.read().splitlines() + WHOLE_TEMPLATES
    cases = [{"template": source, **render(env, source, LANGUAGE_CONTEXT)} for source in sources]
    write(os.path.join(folder, "language.json"), {"context": LANGUAGE_CONTEXT, "cases": cases})


if __name__ == "__main__":
    main()
