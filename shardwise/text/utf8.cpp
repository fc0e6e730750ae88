// One step function decides what is well-formed; everything else here walks with it.
#include "shardwise/text/utf8.h"

#include <cstring>

namespace shardwise {
namespace {

struct Lead {
  int length;         // of the character, 0: no character begins so
  uint8_t low, high;  // bounds of the second byte
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

Utf8Step utf8_step(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const Lead lead = lead_of(at(0));
  if (lead.length == 0) return {Utf8::Bad, 1, 0};
  if (lead.length == 1) return {Utf8::Whole, 1, at(0)};
  char32_t point = at(0) & (0x7F >> lead.length);
  for (int i = 1; i < lead.length; ++i) {
    if (static_cast<size_t>(i) == bytes.size()) return {Utf8::Cut, i, 0};
    const uint8_t byte = at(i);
    const uint8_t low = i == 1 ? lead.low : 0x80, high = i == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) return {Utf8::Bad, i, 0};
    point = (point << 6) | (byte & 0x3F);
  }
  return {Utf8::Whole, lead.length, point};
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    uint64_t eight = 0;
    while (bytes.size() >= 8) {  // ASCII, eight at a time
      std::memcpy(&eight, bytes.data(), 8);
      if (eight & 0x8080808080808080u) break;
      bytes.remove_prefix(8);
    }
    if (bytes.empty()) return true;
    const Utf8Step step = utf8_step(bytes);
    if (step.kind != Utf8::Whole) return false;
    bytes.remove_prefix(step.length);
  }
  return true;
}

void append_utf8(std::string& out, char32_t point) {
  const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6);
    put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3F));
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  }
}

std::string sanitised(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Step step = utf8_step(bytes);
    out += step.kind == Utf8::Whole ? bytes.substr(0, step.length) : kReplacement;
    bytes.remove_prefix(step.length);
  }
  return out;
}

}  // namespace shardwise
