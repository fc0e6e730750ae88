// Hostile templates and data: each limit ends a render with one sentence, none with a crash, a hang or a full memory.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "shardwise/text/chat_template.h"

namespace shardwise {
namespace {

using Json = nlohmann::ordered_json;

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

// A twentieth of the steps and a sixtieth of the bytes of the defaults, so that these tests are quick.
jinja::Limits small_limits() {
  jinja::Limits limits;
  limits.max_steps = 1'000'000;
  limits.max_string_bytes = 1 << 20;
  return limits;
}

// The sentence that rendering ends with; "" where it renders.
std::string refusal(const std::string& source, const Json& context = Json::object(),
                    const jinja::Limits& limits = small_limits()) {
  const Result<ChatTemplate> parsed = ChatTemplate::parse(source);
  if (!parsed) return parsed.error().what;
  ChatTemplate::Options options;
  options.limits = limits;
  const auto pieces = parsed->render_context(context, options);
  return pieces ? "" : pieces.error().what;
}

#define EXPECT_REFUSED(refused, why) EXPECT_NE((refused).find(why), std::string::npos) << (refused)

TEST(JinjaLimits, DeepSourceIsRefused) {
  constexpr std::size_t kDeep = 100'000;
  const std::string why = "levels";
  EXPECT_REFUSED(refusal("{{ " + repeated("(", kDeep) + "1" + repeated(")", kDeep) + " }}"), why);
  EXPECT_REFUSED(refusal("{{ " + repeated("[", kDeep) + repeated("]", kDeep) + " }}"), why);
  EXPECT_REFUSED(refusal("{{ " + repeated("{1:", kDeep) + "1" + repeated("}", kDeep) + " }}"), why);
  EXPECT_REFUSED(refusal("{{ " + repeated("not ", kDeep) + "1 }}"), why);
  EXPECT_REFUSED(refusal("{{ " + repeated("-", kDeep) + "1 }}"), why);
  EXPECT_REFUSED(refusal("{{ 1" + repeated(" + 1", kDeep) + " }}"), why);
  EXPECT_REFUSED(refusal("{{ a" + repeated(".a", kDeep) + " }}"), why);
  EXPECT_REFUSED(refusal("{{ a" + repeated("|upper", kDeep) + " }}"), why);
  EXPECT_REFUSED(refusal("{{ 1" + repeated(" if 1 else 1", kDeep) + " }}"), why);
  EXPECT_REFUSED(refusal("{{ f" + repeated("(1)", kDeep) + " }}"), why);
  EXPECT_REFUSED(refusal(repeated("{% if 1 %}", kDeep) + repeated("{% endif %}", kDeep)), why);
  EXPECT_REFUSED(refusal(repeated("{% for i in [1] %}", kDeep)), why);
  EXPECT_REFUSED(refusal("{% for " + repeated("(", kDeep) + "a" + repeated(")", kDeep) + " in b %}"), why);
  EXPECT_REFUSED(refusal("{% if x" + repeated(" is eq (1", kDeep) + repeated(")", kDeep) + " %}"), why);
}

TEST(JinjaLimits, WideSourceIsFine) {
  EXPECT_EQ(refusal("{{ 'a'" + repeated(" ~ 'a'", 20'000) + " }}"), "");
  EXPECT_EQ(refusal("{{ [" + repeated("1,", 20'000) + "1] | length }}"), "");
  EXPECT_EQ(refusal("{% if false %}" + repeated("{% elif false %}x", 5'000) + "{% endif %}"), "");
}

TEST(JinjaLimits, DeepDataIsRefused) {
  Json deep = 1;
  for (int i = 0; i < 20'000; ++i) {
    Json outer = Json::array();
    outer.push_back(std::move(deep));
    deep = std::move(outer);
  }
  Json context = Json::object();
  context["x"] = std::move(deep);
  EXPECT_REFUSED(refusal("{{ x }}", context), "levels");

  const Result<ChatTemplate> parsed = ChatTemplate::parse("{{ messages }}");
  ASSERT_TRUE(parsed);
  Json messages = Json::array();
  messages.push_back(std::move(context));
  const auto pieces = parsed->render(messages, nullptr, {});
  ASSERT_FALSE(pieces);
  EXPECT_REFUSED(pieces.error().what, "levels");
}

TEST(JinjaLimits, StepsEnd) {
  EXPECT_REFUSED(refusal("{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}"
                         "{% endfor %}{% endfor %}"),
                 "steps");
  EXPECT_REFUSED(refusal("{{ [0] * 100000000000 }}"), "too long");
  EXPECT_REFUSED(
      refusal("{% set ns = namespace(x=[0]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}"),
      "steps");
  // 2^60 leaves by sharing: comparing, printing and hashing them must not visit them all.
  const std::string shared =
      "{% set ns = namespace(x=(1,), y=(1,)) %}{% for i in range(60) %}{% set ns.x = (ns.x, ns.x) %}"
      "{% set ns.y = (ns.y, ns.y) %}{% endfor %}";
  EXPECT_REFUSED(refusal(shared + "{{ ns.x == ns.y }}"), "steps");
  EXPECT_REFUSED(refusal(shared + "{{ ns.x }}"), "limit");
  EXPECT_REFUSED(refusal(shared + "{{ ns.x|tojson }}"), "limit");
  EXPECT_REFUSED(refusal(shared + "{{ {ns.x: 1} }}"), "too large");
}

TEST(JinjaLimits, StringsEnd) {
  EXPECT_REFUSED(refusal("{{ 'a' * 100000000000 }}"), "bytes");
  EXPECT_REFUSED(
      refusal("{% set ns = namespace(s='aaaa') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}"),
      "bytes");
  EXPECT_REFUSED(refusal("{{ ('a' * 200000)|replace('a', 'bbbbbbbb') }}"), "bytes");
  EXPECT_REFUSED(refusal("{{ 'a'.center(100000000000) }}"), "bytes");
  EXPECT_REFUSED(refusal("{{ '%99999999d' % 1 }}"), "width");
  EXPECT_REFUSED(refusal("{{ '{:99999999}'.format(1) }}"), "width");
  EXPECT_REFUSED(refusal("{{ {'a': {'b': 1}}|tojson(indent=100000000000) }}"), "bytes");
  EXPECT_REFUSED(refusal("{{ ('a\\n' * 10000)|indent(100000) }}"), "bytes");
  jinja::Limits small = small_limits();
  small.max_string_bytes = 1000;
  EXPECT_REFUSED(refusal("{% for i in range(200) %}0123456789{% endfor %}", Json::object(), small), "1000");
}

TEST(JinjaLimits, SearchingIsNotQuadratic) {
  EXPECT_EQ(refusal("{% set hay = 'a' * 800000 %}{% set pin = 'a' * 400000 ~ 'b' %}{{ pin in hay }}{{ hay.find(pin) }}"
                    "{{ hay.count(pin) }}{{ hay.split(pin)|length }}"),
            "");
  EXPECT_REFUSED(refusal("{% set hay = 'a' * 800000 %}{% set pin = 'b' ~ 'a' * 400000 %}{{ hay.rfind(pin) }}"),
                 "steps");
}

TEST(JinjaLimits, RangesEnd) {
  EXPECT_REFUSED(refusal("{{ range(100001)|length }}"), "100001");
  EXPECT_EQ(refusal("{{ range(100000)|length }}"), "");
  EXPECT_REFUSED(refusal("{{ range(-9223372036854775807, 9223372036854775807) }}"), "limit");
}

TEST(JinjaLimits, RecursionEnds) {
  EXPECT_REFUSED(refusal("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), "nests deeper");
  EXPECT_REFUSED(refusal("{% macro m() %}{% call m() %}{% endcall %}{{ caller() }}{% endmacro %}{{ m() }}"),
                 "nests deeper");
  EXPECT_REFUSED(refusal("{% macro m() %}{{ caller() }}{% call m() %}{% endcall %}{% endmacro %}"
                         "{% call m() %}{% endcall %}"),
                 "nests deeper");
  EXPECT_REFUSED(refusal("{% set ns = namespace() %}{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}"),
                 "nests deeper");
  EXPECT_EQ(refusal("{% macro m(n) %}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(40) }}"), "");
}

TEST(JinjaLimits, ValuesCannotNestWithoutEnd) {
  const std::string grow = "{% set ns = namespace(x=1) %}{% for i in range(5000) %}";
  EXPECT_REFUSED(refusal(grow + "{% set ns.x = [ns.x] %}{% endfor %}"), "levels");
  EXPECT_REFUSED(refusal(grow + "{% set ns.x = (ns.x,) %}{% endfor %}"), "levels");
  EXPECT_REFUSED(refusal(grow + "{% set ns.x = {'a': ns.x} %}{% endfor %}"), "levels");
  EXPECT_REFUSED(refusal(grow + "{% for j in [ns.x] %}{% set ns.x = loop %}{% endfor %}{% endfor %}"), "levels");
  EXPECT_REFUSED(refusal(grow + "{% set ns.x = cycler(ns.x).next %}{% endfor %}"), "levels");
  EXPECT_REFUSED(refusal(grow + "{% set ns.x = [ns.x].index %}{% endfor %}"), "levels");
}

// These hold each other in circles or in chains 5,000 long: freeing them must neither leak nor recurse.
TEST(JinjaLimits, CirclesAreFreed) {
  EXPECT_EQ(refusal("{% set ns = namespace() %}{% set ns.x = ns %}{{ ns.x.x.x is defined }}"), "");
  EXPECT_EQ(refusal("{% set ns = namespace() %}{% set ns.x = [ns, {'a': ns}] %}{{ ns.x is defined }}"), "");
  EXPECT_EQ(refusal("{% set ns = namespace() %}{% macro m() %}{{ ns }}{% endmacro %}{% set ns.m = m %}"), "");
  EXPECT_EQ(refusal("{% set ns = namespace(x=1) %}{% for i in range(5000) %}{% set n = namespace(x=ns.x) %}"
                    "{% set ns.x = n %}{% endfor %}"),
            "");
  EXPECT_EQ(
      refusal("{% set ns = namespace(x=1) %}{% for i in range(5000) %}{% set v = ns.x %}{% for j in [1] recursive %}"
              "{% set ns.x = loop %}{% endfor %}{% endfor %}"),
      "");
  EXPECT_EQ(refusal("{% set ns = namespace(x=1) %}{% for i in range(5000) %}{% set v = ns.x %}{% macro m() %}{{ v }}"
                    "{% endmacro %}{% set ns.x = m %}{% endfor %}"),
            "");
}

TEST(JinjaLimits, NoFilesAndNoInsides) {
  for (const char* tag : {"include 'a'", "import 'a' as b", "from 'a' import b", "extends 'a'", "block a"})
    EXPECT_REFUSED(refusal(std::string("{% ") + tag + " %}"), "refused");
  EXPECT_REFUSED(refusal("{{ ''.__class__.__mro__ }}"), "unsafe");
  EXPECT_REFUSED(refusal("{{ [].append(1) }}"), "unsafe");
  EXPECT_REFUSED(refusal("{{ {}.update({}) }}"), "unsafe");
  EXPECT_REFUSED(refusal("{{ '{0.__class__.x}'.format('a') }}"), "unsafe");
}

TEST(JinjaLimits, IntegersDoNotWrap) {
  const std::string most = "9223372036854775807";
  const std::vector<std::string> sums = {most + " + 1", "-" + most + " - 2", most + " * 2", "2 ** 63",
                                         "-(-" + most + " - 1)"};
  for (const std::string& sum : sums) EXPECT_REFUSED(refusal("{{ " + sum + " }}"), "64 bits");
  EXPECT_REFUSED(refusal("{{ (-" + most + " - 1) // -1 }}"), "64 bits");
  EXPECT_EQ(refusal("{{ (-" + most + " - 1) % -1 }}"), "");
  EXPECT_REFUSED(refusal("{{ 9223372036854775808 }}"), "64 bits");
}

TEST(JinjaLimits, BrokenUtf8IsKept) {
  const Result<ChatTemplate> parsed =
      ChatTemplate::parse("{{ x|upper }}{{ x[1] }}{{ x|length }}{{ x|trim|tojson|length }}{{ x|list|length }}");
  ASSERT_TRUE(parsed);
  Json context = Json::object();
  context["x"] = std::string("a\xFF\xC3");
  const auto pieces = parsed->render_context(context, {});
  ASSERT_TRUE(pieces) << pieces.error().what;
  EXPECT_EQ(concatenate(*pieces),
            "A\xFF\xC3\xFF"
            "353");
}

}  // namespace
}  // namespace shardwise
