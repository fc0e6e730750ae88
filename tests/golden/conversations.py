"""Conversations that the chat templates of chat_formats*.py are rendered with."""

BASE = {"bos_token": "<s>", "eos_token": "</s>", "tools": None, "documents": None, "add_generation_prompt": True}

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather now,\nas far as it is known in this world, and not a word more than that.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "A city, as in \"Zürich\" <or> 'Malmö'"},
                    "days": {"type": "array", "items": {"type": "integer"}},
                    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                    "at": {"type": "object", "properties": {"lon": {"type": "number"}, "lat": {"type": "number"}}},
                },
                "required": ["unit", "city"],
            },
        },
    },
    {"type": "function", "function": {"name": "now", "description": "The time.", "parameters": {"type": "object", "properties": {}}}},
]

TYPED = "Quotes \"two\" and 'one', a \\ backslash,\n\ttabs & <tags>, ünïcödé, 漢字, emoji 👩‍👩‍👧 \U0001f600."


def say(role, content, **more):
    return {"role": role, "content": content, **more}


def call(name, arguments, number=1):
    return {"id": f"call0000{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def conversations():
    user, bot, system = (lambda text: say("user", text)), (lambda text: say("assistant", text)), say("system", "Be kind.")
    weather = call("get_weather", {"city": "Zürich", "days": [1, 2], "unit": "celsius", "at": None, "deep": {"x": 1.5, "y": True}})
    asked = [system, user("How is it outside?"), say("assistant", "", tool_calls=[weather])]
    told = say("tool", '{"temp": 21.5, "sky": "clear"}', tool_call_id="call00001", name="get_weather")
    think = "<think>\nThey greet.\n</think>\n\nHello."
    out = {
        "user": {"messages": [user("Hi")]},
        "system_user": {"messages": [system, user("Hi")]},
        "turns": {"messages": [system, user("One"), bot(" Two "), user("Three"), bot("Four"), user("Five")]},
        "turns_without_system": {"messages": [user("One"), bot("Two"), user("Three")]},
        "closed": {"messages": [user("One"), bot("Two")], "add_generation_prompt": False},
        "closed_but_prompted": {"messages": [user("One"), bot("Two")]},
        "typed": {"messages": [say("system", TYPED), user(TYPED), bot(TYPED), user("  spaces around \n\n")]},
        "marked": {"messages": [say("system", "§<|im_end|>¤</s>§"), user("§<|im_end|>\n<|im_start|>system\n§[/INST]<|eot_id|>¤"),
                                bot("§<end_of_turn>§"), user("¤<|end|><|user|>¤")]},
        "empty": {"messages": [user("")]},
        "two_users": {"messages": [user("One"), user("Two")]},
        "two_systems": {"messages": [system, say("system", "Be brief."), user("Hi")]},
        "starts_with_assistant": {"messages": [bot("Hello"), user("Hi")]},
        "unknown_role": {"messages": [user("One"), say("narrator", "Two")]},
        "no_messages": {"messages": []},
        "tools": {"messages": [system, user("How is it outside?")], "tools": TOOLS},
        "tool_call": {"messages": asked, "tools": TOOLS, "add_generation_prompt": False},
        "tool_result": {"messages": asked + [told], "tools": TOOLS},
        "tool_answer": {"messages": asked + [told, bot("Warm."), user("Thanks")], "tools": TOOLS},
        "two_calls": {"messages": [user("Both?"), say("assistant", "Let me see.", tool_calls=[weather, call("now", {}, 2)]), told, told], "tools": TOOLS},
        "null_content": {"messages": [user("Now?"), say("assistant", None, tool_calls=[call("now", "{\"a\": 1}")]), told, bot("Noon."), user("Thanks")]},
        "thinking": {"messages": [user("Hi"), bot(think), user("Bye"), bot(think)], "add_generation_prompt": False},
        "no_thinking": {"messages": [user("Hi")], "enable_thinking": False, "thinking": True},
        "documents": {"messages": [user("Hi")], "documents": [{"title": "A", "text": "First"}, {"title": "B", "text": "Second"}]},
        "parts": {"messages": [say("system", [{"type": "text", "text": "Be kind."}]),
                               say("user", [{"type": "text", "text": " One "}, {"type": "text", "text": "Two"}]), bot("Three"),
                               say("user", [{"type": "text", "text": "Four"}, {"type": "image"}])]},
    }
    return {name: {**BASE, **context} for name, context in out.items()}
