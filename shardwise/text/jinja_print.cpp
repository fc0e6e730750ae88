// str(), repr() and json.dumps, each piece by piece into one Text.
#include "shardwise/text/jinja_print.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "shardwise/text/jinja_operators.h"
#include "shardwise/text/jinja_unicode.h"

namespace shardwise::jinja {
namespace {

// How repr() writes a character inside quotes; empty: as it is.
std::string escape_of(const Character& c, char quote) {
  const auto value = static_cast<unsigned>(c.point);
  if (value == static_cast<unsigned char>(quote)) return quote == '"' ? "\\\"" : "\\'";
  if (value == '\\') return "\\\\";
  if (value == '\n') return "\\n";
  if (value == '\r') return "\\r";
  if (value == '\t') return "\\t";
  if (!c.valid || is_printable(c.point)) return "";
  if (value < 0x100) return fmt::format("\\x{:02x}", value);
  if (value < 0x10000) return fmt::format("\\u{:04x}", value);
  return fmt::format("\\U{:08x}", value);
}

void repr_string(const Text& text, Text& out) {
  const std::string& bytes = text.bytes();
  const bool double_quotes = bytes.find('\'') != std::string::npos && bytes.find('"') == std::string::npos;
  const char quote = double_quotes ? '"' : '\'';
  const bool trusted = text.all_trusted();
  if (text.markup) out.append("Markup(", trusted);
  out.append(std::string_view(&quote, 1), trusted);
  std::size_t begin = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const Character c = character_at(bytes, at);
    const std::string escape = escape_of(c, quote);
    if (!escape.empty()) {
      out.append(text, begin, at);
      out.append(escape, text.trusted_at(at));
      begin = at + c.size;
    }
    at += c.size;
  }
  out.append(text, begin, bytes.size());
  out.append(std::string_view(&quote, 1), trusted);
  if (text.markup) out.append(")", trusted);
}

void repr_into(Budget& budget, const Value& value, Text& out);

void repr_dict(Budget& budget, const Value& value, Text& out) {
  const bool trusted = value.container_trusted();
  out.append("{", trusted);
  bool first = true;
  for (const auto& [key, held] : value.dict()->items()) {
    if (!first) out.append(", ", trusted);
    first = false;
    repr_into(budget, key, out);
    out.append(": ", trusted);
    repr_into(budget, held, out);
  }
  out.append("}", trusted);
}

void repr_sequence(Budget& budget, const Value& value, Text& out) {
  const Sequence& sequence = *value.sequence();
  const bool trusted = value.container_trusted();
  if (sequence.kind == Sequence::Kind::Range) return out.append(sequence.range_text, trusted);
  if (sequence.kind == Sequence::Kind::Generator) return out.append("<generator object>", trusted);
  const bool tuple = sequence.kind == Sequence::Kind::Tuple;
  const bool view = !tuple && sequence.kind != Sequence::Kind::List;
  if (view) out.append(value.type_name() + "(", trusted);
  out.append(tuple ? "(" : "[", trusted);
  bool first = true;
  for (const Value& item : sequence.items) {
    if (!first) out.append(", ", trusted);
    first = false;
    repr_into(budget, item, out);
  }
  if (tuple && sequence.items.size() == 1) out.append(",", trusted);
  out.append(tuple ? ")" : "]", trusted);
  if (view) out.append(")", trusted);
}

void repr_into(Budget& budget, const Value& value, Text& out) {
  const std::size_t bytes = value.string() ? value.string()->size() : 8;
  budget.charge(1 + bytes / 64);
  budget.check_size(out.size() + bytes);
  const bool trusted = value.trusted();
  if (value.is_undefined()) return out.append("Undefined", trusted);
  if (value.is_none()) return out.append("None", trusted);
  if (const bool* b = value.boolean()) return out.append(*b ? "True" : "False", trusted);
  if (const std::int64_t* i = value.integer()) return out.append(std::to_string(*i), trusted);
  if (const double* d = value.real()) return out.append(float_text(*d), trusted);
  if (const Text* text = value.string()) return repr_string(*text, out);
  if (value.sequence()) return repr_sequence(budget, value, out);
  if (value.dict()) return repr_dict(budget, value, out);
  out.append("<" + value.type_name() + ">", trusted);
}

// json.dumps, one value at a time into `out`.
class JsonWriter {
 public:
  JsonWriter(Budget& budget, const JsonStyle& style) : budget_(budget), style_(style) {}

  void write(const Value& value, std::size_t level) {
    charge(value.string() ? value.string()->size() : 8);
    const bool trusted = value.trusted();
    if (const Text* text = value.string()) return write_string(*text);
    if (value.is_none()) return out.append("null", trusted);
    if (const bool* b = value.boolean()) return out.append(*b ? "true" : "false", trusted);
    if (const std::int64_t* i = value.integer()) return out.append(std::to_string(*i), trusted);
    if (const double* d = value.real()) return out.append(json_float(*d), trusted);
    if (const Dict* dict = value.dict()) return write_dict(*dict, trusted, level);
    const Sequence* sequence = value.sequence();
    const bool array = sequence && (sequence->kind == Sequence::Kind::List || sequence->kind == Sequence::Kind::Tuple);
    if (!array) stop("tojson: a value of type {} has no JSON form", value.type_name());
    write_list(*sequence, trusted, level);
  }

  Text out;

 private:
  void charge(std::size_t bytes) {
    budget_.charge(1 + bytes / 64);
    budget_.check_size(out.size() + bytes);
  }

  static std::string json_float(double d) {
    if (std::isnan(d)) return "NaN";
    if (std::isinf(d)) return d > 0 ? "Infinity" : "-Infinity";
    return float_text(d);
  }

  std::string escape_of(char32_t c) const {
    switch (c) {
      case '"': return "\\\"";
      case '\\': return "\\\\";
      case '\n': return "\\n";
      case '\r': return "\\r";
      case '\t': return "\\t";
      case '\f': return "\\f";
      case '\b': return "\\b";
      default: break;
    }
    const auto value = static_cast<unsigned>(c);
    if (value < 0x20 || (style_.ensure_ascii && value >= 0x7F && value < 0x10000))
      return fmt::format("\\u{:04x}", value);
    if (style_.ensure_ascii && value >= 0x10000)
      return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((value - 0x10000) >> 10),
                         0xDC00 + ((value - 0x10000) & 0x3FF));
    return "";
  }

  void write_string(const Text& text) {
    const bool trusted = text.all_trusted();
    out.append("\"", trusted);
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
      const Character c = character_at(text.bytes(), at);
      std::string escape;
      if (c.valid) escape = escape_of(c.point);
      if (!escape.empty()) {
        out.append(text, begin, at);
        out.append(escape, text.trusted_at(at));
        begin = at + c.size;
      }
      at += c.size;
    }
    out.append(text, begin, text.size());
    out.append("\"", trusted);
  }

  void write_key(const Value& key) {
    if (const Text* text = key.string()) return write_string(*text);
    if (key.sequence() || key.is_undefined() || key.object()) stop("tojson: a key of type {}", key.type_name());
    out.append("\"", key.trusted());
    write(key, 0);
    out.append("\"", key.trusted());
  }

  void new_line(std::size_t level, bool trusted) {
    if (!style_.lines) return;
    charge(1 + level * style_.indent.size());
    out.append("\n", trusted);
    for (std::size_t i = 0; i < level; ++i) out.append(trusted ? style_.indent : style_.indent.untrusted());
  }

  void separate(const Text& separator, bool trusted) {
    charge(separator.size());
    out.append(trusted ? separator : separator.untrusted());
  }

  void write_list(const Sequence& sequence, bool trusted, std::size_t level) {
    if (sequence.items.empty()) return out.append("[]", trusted);
    out.append("[", trusted);
    for (std::size_t i = 0; i < sequence.items.size(); ++i) {
      if (i > 0) separate(style_.item_separator, trusted);
      new_line(level + 1, trusted);
      write(sequence.items[i], level + 1);
    }
    new_line(level, trusted);
    out.append("]", trusted);
  }

  void write_dict(const Dict& dict, bool trusted, std::size_t level) {
    if (dict.items().empty()) return out.append("{}", trusted);
    std::vector<const Dict::Item*> items;
    for (const Dict::Item& item : dict.items()) items.push_back(&item);
    if (style_.sort_keys)
      std::stable_sort(items.begin(), items.end(),
                       [&](const auto* a, const auto* b) { return less(budget_, a->first, b->first); });
    out.append("{", trusted);
    bool first = true;
    for (const Dict::Item* item : items) {
      if (!first) separate(style_.item_separator, trusted);
      first = false;
      new_line(level + 1, trusted);
      write_key(item->first);
      separate(style_.key_separator, trusted);
      write(item->second, level + 1);
    }
    new_line(level, trusted);
    out.append("}", trusted);
  }

  Budget& budget_;
  const JsonStyle& style_;
};

}  // namespace

std::string float_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific).ptr;
  const std::string scientific(buffer, end);
  const std::size_t e = scientific.find('e');
  const int exponent = std::stoi(scientific.substr(e + 1));
  if (exponent < -4 || exponent >= 16) return scientific;
  std::string plain(buffer, std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed).ptr);
  if (plain.find('.') == std::string::npos) plain += ".0";
  return plain;
}

Text repr(Budget& budget, const Value& value) {
  Text out;
  repr_into(budget, value, out);
  return out;
}

Text to_text(Budget& budget, const Value& value) {
  if (const Text* text = value.string()) return *text;
  if (value.is_undefined()) return Text();
  return repr(budget, value);
}

Text to_json(Budget& budget, const Value& value, const JsonStyle& style) {
  JsonWriter writer(budget, style);
  writer.write(value, 0);
  return std::move(writer.out);
}

}  // namespace shardwise::jinja
