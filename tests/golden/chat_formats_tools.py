"""Further chat templates written for these tests: those with reasoning, documents and tools."""

DEEPSEEK_R1 = """{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% set ns = namespace(is_first=false, is_tool=false, is_output_first=true, system_prompt='', first_system=true) %}{%- for message in messages %}{%- if message['role'] == 'system' %}{%- if ns.first_system %}{% set ns.system_prompt = ns.system_prompt + message['content'] %}{% set ns.first_system = false %}{%- else %}{% set ns.system_prompt = ns.system_prompt + '\\n\\n' + message['content'] %}{%- endif %}{%- endif %}{%- endfor %}{{ bos_token }}{{ ns.system_prompt }}{%- for message in messages %}{%- if message['role'] == 'user' %}{%- set ns.is_tool = false -%}{{'<|User|>' + message['content']}}{%- endif %}{%- if message['role'] == 'assistant' and message['content'] is none %}{%- set ns.is_tool = false -%}{%- for tool in message['tool_calls'] %}{%- if not ns.is_first %}{{'<|Assistant|><|calls|><|call|>' + tool['type'] + '<|sep|>' + tool['function']['name'] + '\\n' + '```json' + '\\n' + tool['function']['arguments'] + '\\n' + '```' + '<|call_end|>'}}{%- set ns.is_first = true -%}{%- else %}{{'\\n' + '<|call|>' + tool['type'] + '<|sep|>' + tool['function']['name'] + '\\n' + '```json' + '\\n' + tool['function']['arguments'] + '\\n' + '```' + '<|call_end|>'}}{%- endif %}{%- endfor %}{{'<|calls_end|><|end|>'}}{%- endif %}{%- if message['role'] == 'assistant' and message['content'] is not none %}{%- if ns.is_tool %}{{'<|outputs_end|>' + message['content'] + '<|end|>'}}{%- set ns.is_tool = false -%}{%- else %}{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{'<|Assistant|>' + content + '<|end|>'}}{%- endif %}{%- endif %}{%- if message['role'] == 'tool' %}{%- set ns.is_tool = true -%}{%- if ns.is_output_first %}{{'<|outputs|><|output|>' + message['content'] + '<|output_end|>'}}{%- set ns.is_output_first = false %}{%- else %}{{'\\n<|output|>' + message['content'] + '<|output_end|>'}}{%- endif %}{%- endif %}{%- endfor -%}{% if ns.is_tool %}{{'<|outputs_end|>'}}{% endif %}{% if add_generation_prompt and not ns.is_tool %}{{'<|Assistant|><think>\\n'}}{% endif %}"""

QWEN3 = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n\\nSignatures stand within <tools></tools>:\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools>\\n\\nAnswer a call as <tool_call>\\n{\\"name\\": <name>, \\"arguments\\": <object>}\\n</tool_call><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index %}
            {%- if loop.last or (not loop.last and reasoning_content) %}
                {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
            {%- else %}
                {{- '<|im_start|>' + message.role + '\\n' + content }}
            {%- endif %}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}
                    {{- '\\n' }}
                {%- endif %}
                {%- if tool_call.function %}
                    {%- set tool_call = tool_call.function %}
                {%- endif %}
                {{- '<tool_call>\\n{"name": "' }}
                {{- tool_call.name }}
                {{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}
                    {{- tool_call.arguments }}
                {%- else %}
                    {{- tool_call.arguments | tojson }}
                {%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""

COMMAND_R = """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set turns = messages[1:] %}{% set system_message = messages[0]['content'] %}{% elif false == true %}{% set turns = messages %}{% set system_message = 'Be of use.' %}{% else %}{% set turns = messages %}{% set system_message = false %}{% endif %}{% if system_message != false %}{{ '<|START|><|SYSTEM|>' + system_message + '<|END|>' }}{% endif %}{% for message in turns %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('turns must alternate') }}{% endif %}{% set content = message['content'] %}{% if message['role'] == 'user' %}{{ '<|START|><|USER|>' + content.strip() + '<|END|>' }}{% elif message['role'] == 'assistant' %}{{ '<|START|><|CHATBOT|>'  + content.strip() + '<|END|>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|START|><|CHATBOT|>' }}{% endif %}"""

# A signature printed in the manner of Python, by a macro that calls itself.
SIGNATURES = """{%- macro type_of(schema) -%}
{%- set basic = {"string": "str", "number": "float", "integer": "int", "boolean": "bool"} -%}
{%- if schema.type in basic -%}
    {{- basic[schema.type] -}}
{%- elif schema.type == "array" -%}
    {{- "list[" + type_of(schema['items']) + "]" -}}
{%- elif schema.type == "object" -%}
    {{- "dict[" -}}
    {%- for name, inner in schema.properties | dictsort -%}
        {{- name ~ ": " ~ type_of(inner) -}}{{- ", " if not loop.last -}}
    {%- endfor -%}
    {{- "]" -}}
{%- else -%}
    {{- "Any" -}}
{%- endif -%}
{%- endmacro -%}
{{- bos_token -}}
{%- for message in messages -%}
{%- if message.role == "system" -%}
{{ "<|SYSTEM|>" ~ message.content ~ "<|END|>" }}
{%- elif message.role == "user" -%}
{{ "<|USER|>" ~ message.content ~ "<|END|>" }}
{%- elif message.role == "assistant" -%}
{{ "<|BOT|>" }}{% generation %}{{ message.content or '' }}{{ "<|END|>" }}{% endgeneration %}
{%- endif -%}
{%- endfor -%}
{%- if tools %}

## Tools
{% for tool in tools if tool.type == "function" %}
{%- set f = tool.function %}
def {{ f.name }}({% for name, schema in f.parameters.properties.items() %}{{ name }}: {{ type_of(schema) }}{{ ", " if not loop.last else "" }}{% endfor %}):
    \\"\\"\\"{{ f.description | replace("\\n", " ") | truncate(60, true, "..", 0) }}
{% if f.parameters.required is defined %}
    needs {{ f.parameters.required | sort | join(" and ") | upper }}
{% endif %}
    \\"\\"\\"
{% endfor %}
{% endif -%}
{%- if add_generation_prompt %}{{ "<|BOT|>" }}{% endif -%}"""

GRANITE = """{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set system_message = "Knowledge ends: April 2024.\\nToday: " + strftime_now('%B %d, %Y') + "." %}
    {%- if tools and documents %}
        {%- set system_message = system_message + "\\nUse tools, then documents." %}
    {%- elif tools %}
        {%- set system_message = system_message + "\\nUse tools." %}
    {%- elif thinking %}
        {%- set system_message = system_message + "\\nThink first." %}
    {%- endif %}
    {%- set loop_messages = messages %}
{%- endif %}
{{- '<|start_of_role|>system<|end_of_role|>' + system_message + '<|end_of_text|>\\n' }}
{%- if tools %}
    {{- '<|start_of_role|>tools<|end_of_role|>' }}
    {{- tools | tojson(indent=4) }}
    {{- '<|end_of_text|>\\n' }}
{%- endif %}
{%- if documents %}
    {{- '<|start_of_role|>documents<|end_of_role|>' }}
    {%- for document in documents %}
        {{- 'Document ' + loop.index | string + '\\n' }}
        {{- document['text'] }}
        {%- if not loop.last %}{{- '\\n\\n'}}{%- endif%}
    {%- endfor %}
    {{- '<|end_of_text|>\\n' }}
{%- endif %}
{%- for message in loop_messages %}
    {{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + (message['content'] if message['content'] else '') }}
    {%- if message.tool_calls %}{{- '<|tool_call|>' + message.tool_calls | map(attribute='function') | list | tojson }}{%- endif %}
    {{- '<|end_of_text|>\\n' }}
    {%- if loop.last and add_generation_prompt %}
        {{- '<|start_of_role|>assistant<|end_of_role|>' }}
    {%- endif %}
{%- endfor %}"""

HERMES = """{%- macro json_to_python_type(json_spec) %}
{%- set basic_type_map = {"string": "str", "number": "float", "integer": "int", "boolean": "bool"} %}
{%- if basic_type_map[json_spec.type] is defined %}
    {{- basic_type_map[json_spec.type] }}
{%- elif json_spec.type == "array" %}
    {{- "list[" + json_to_python_type(json_spec|attr("items")) if false else "list" }}
{%- elif json_spec.type is iterable and json_spec.type is not string %}
    {{- "Union[" }}
    {%- for t in json_spec.type %}
        {{- json_to_python_type({"type": t}) }}
        {%- if not loop.last %}{{- "," }}{%- endif %}
    {%- endfor %}
    {{- "]" }}
{%- else %}
    {{- "Any" }}
{%- endif %}
{%- endmacro %}
{{- bos_token }}
{{- '<|im_start|>system\\n' }}
{{- "Tools: <tools> " }}
{%- for tool in tools or [] %}
    {%- if tool.function is defined %}{%- set tool = tool.function %}{%- endif %}
    {{- '{"type": "function", "function": ' }}
    {{- '{"name": "' + tool.name + '", "description": "' + tool.name + '(' }}
    {%- for param_name, param_fields in tool.parameters.properties|items %}
        {{- param_name + ": " + json_to_python_type(param_fields) }}
        {%- if not loop.last %}{{- ", " }}{%- endif %}
    {%- endfor %}
    {{- ") - " + tool.description + '", "parameters": ' }}
    {%- if tool.parameters.properties | length == 0 %}{{- "{}" }}{%- else %}{{- tool.parameters|tojson }}{%- endif %}
    {{- "}}" }}
    {%- if not loop.last %}{{- "\\n" }}{%- endif %}
{%- endfor %}
{{- " </tools><|im_end|>\\n" }}
{%- for message in messages %}
    {%- if message.role == "user" or message.role == "system" or (message.role == "assistant" and message.tool_calls is not defined) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- for tool_call in message.tool_calls %}
            {{- '\\n<tool_call>\\n' }}
            {%- if tool_call.function is defined %}{%- set tool_call = tool_call.function %}{%- endif %}
            {{- '{' }}{{- '"name": "' }}{{- tool_call.name }}{{- '"' }}
            {%- if tool_call.arguments is defined %}
                {{- ', ' }}{{- '"arguments": ' }}{{- tool_call.arguments|tojson }}
            {%- endif %}
            {{- '}' }}{{- '\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.previtem and loop.previtem.role != "tool" %}{{- '<|im_start|>tool\\n' }}{%- endif %}
        {{- '<tool_response>\\n' }}{{- message.content }}
        {%- if not loop.last %}{{- '\\n</tool_response>\\n' }}{%- else %}{{- '\\n</tool_response>' }}{%- endif %}
        {%- if not loop.last and loop.nextitem.role != "tool" %}{{- '<|im_end|>' }}{%- elif loop.last %}{{- '<|im_end|>' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""

VICUNA = """{% if messages[0]['role'] == 'system' %}{% set turns = messages[1:] %}{% set first = messages[0]['content'].strip() + ' ' %}{% else %}{% set turns = messages %}{% set first = 'A talk between a person and a machine. ' %}{% endif %}{{ bos_token + first }}{% for message in turns %}{% if message['role'] == 'user' %}{{ 'USER: ' + message['content'].strip() + ' ' }}{% elif message['role'] == 'assistant' %}{{ 'ASSISTANT: ' + message['content'].strip() + eos_token }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"""

ALPACA = """{% for message in messages %}
{% if message['role'] == 'system' and message['content'] %}
{{ message['content'] }}

{% elif message['role'] == 'user' %}
### Instruction:
{{ message['content'] }}

{% elif message['role'] == 'assistant' %}
### Response:
{{ message['content'] }}{{ eos_token }}

{% endif %}
{% endfor %}
{% if add_generation_prompt %}
### Response:
{% endif %}"""

OLMO2 = """{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}{{ '<|system|>\\n' + message['content'] + '\\n' }}{% elif message['role'] == 'user' %}{{ '<|user|>\\n' + message['content'] + '\\n' }}{% elif message['role'] == 'assistant' %}{% if not loop.last %}{{ '<|assistant|>\\n'  + message['content'] + eos_token + '\\n' }}{% else %}{{ '<|assistant|>\\n'  + message['content'] + eos_token }}{% endif %}{% endif %}{% if loop.last and add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}{% endfor %}"""

# Calls as XML, one tag a parameter, and only the last three turns.
XML_CALLS = """{%- macro item_list(values, tag='li') -%}
    {%- if values is defined and values is iterable and values is not mapping and values | length > 0 -%}
        {%- for v in values %}{{ '<' ~ tag ~ '>' ~ (v | string | e) ~ '</' ~ tag ~ '>' }}{% endfor -%}
    {%- else -%}none{%- endif -%}
{%- endmacro -%}
{%- macro frame(who) -%}
<|turn|>{{ who | upper }}
{{ caller() }}
<|/turn|>
{% endmacro -%}
{%- set kept = messages[-3:] if messages | length > 3 else messages -%}
{%- set roles = kept | map(attribute='role') | unique | list -%}
{{ 'Roles: ' ~ roles | join(', ') }}
{% for message in kept %}
{% call frame(message.role) %}
{%- if message.tool_calls %}
{% for call in message.tool_calls %}
<function={{ call.function.name }}>
{% for key, value in call.function.arguments | items %}
<parameter={{ key }}>{{ value if value is string else value | tojson }}</parameter>
{% endfor %}
</function>
{%- endfor %}
{%- elif message.content is none %}
{{- '(nothing)' }}
{%- else %}
{{- message.content | default('', true) | trim | indent(2) }}
{%- endif %}
{%- endcall %}
{% endfor %}
{% set tail %}{{ 'end of ' ~ kept | length }}{% endset %}
{{ tail }} {{ item_list(roles) }} {{ item_list([]) }}
{%- if add_generation_prompt %}{{ '\\n<|turn|>ASSISTANT\\n' }}{% endif %}"""
