// Runs of marks beside the bytes: appending merges neighbours, cutting splits them.
#include "shardwise/text/jinja_text.h"

#include <algorithm>
#include <cstring>

namespace shardwise::jinja {

Text::Text(std::string bytes, bool trusted) : bytes_(std::move(bytes)) {
  if (!bytes_.empty()) runs_.push_back({bytes_.size(), trusted});
}

bool Text::trusted_at(std::size_t byte) const {
  const auto run =
      std::upper_bound(runs_.begin(), runs_.end(), byte, [](std::size_t value, const Run& r) { return value < r.end; });
  return run->trusted;
}

void Text::append(std::string_view bytes, bool trusted) {
  if (bytes.empty()) return;
  bytes_.append(bytes);
  if (!runs_.empty() && runs_.back().trusted == trusted) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({bytes_.size(), trusted});
  }
}

void Text::append(const Text& other) { append(other, 0, other.size()); }

void Text::append(const Text& other, std::size_t begin, std::size_t end) {
  auto run = std::upper_bound(other.runs_.begin(), other.runs_.end(), begin,
                              [](std::size_t value, const Run& r) { return value < r.end; });
  while (begin < end) {
    const std::size_t stop_at = std::min(end, run->end);
    append(std::string_view(other.bytes_).substr(begin, stop_at - begin), run->trusted);
    begin = stop_at;
    ++run;
  }
}

Text Text::sub(std::size_t begin, std::size_t end) const {
  Text part;
  part.append(*this, begin, end);
  part.markup = markup;
  return part;
}

std::vector<Piece> Text::pieces() const {
  std::vector<Piece> out;
  std::size_t begin = 0;
  for (const Run& run : runs_) {
    out.push_back({bytes_.substr(begin, run.end - begin), run.trusted});
    begin = run.end;
  }
  return out;
}

Text escape_html(const Text& text) {
  Text out;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text.bytes()[at];
    const char* reference = c == '&'    ? "&amp;"
                            : c == '<'  ? "&lt;"
                            : c == '>'  ? "&gt;"
                            : c == '"'  ? "&#34;"
                            : c == '\'' ? "&#39;"
                                        : nullptr;
    if (!reference) continue;
    out.append(text, begin, at);
    out.append(reference, text.trusted_at(at));
    begin = at + 1;
  }
  out.append(text, begin, text.size());
  out.markup = true;
  return out;
}

std::size_t find_bytes(std::string_view text, std::string_view needle, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (needle.empty()) return from;
  // Two-way search in glibc: std::string_view::find is quadratic on hostile input.
  const void* hit = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  return hit ? static_cast<std::size_t>(static_cast<const char*>(hit) - text.data()) : std::string_view::npos;
}

}  // namespace shardwise::jinja
