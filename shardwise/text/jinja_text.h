// Text: a string that knows, byte by byte, whether the template wrote it (trusted) or it came with the input.
// Invariant: runs cover the bytes exactly, in order, and neighbours differ.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "shardwise/text/piece.h"

namespace shardwise::jinja {

class Text {
 public:
  Text() = default;
  Text(std::string bytes, bool trusted);

  const std::string& bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

  bool trusted_at(std::size_t byte) const;  // REQUIRES: byte < size()
  bool all_trusted() const { return runs_.empty() || (runs_.size() == 1 && runs_[0].trusted); }

  void append(std::string_view bytes, bool trusted);
  void append(const Text& other);
  void append(const Text& other, std::size_t begin, std::size_t end);  // bytes [begin, end) of other

  Text sub(std::size_t begin, std::size_t end) const;  // bytes [begin, end)
  Text untrusted() const { return Text(bytes_, false); }

  std::vector<Piece> pieces() const;

  // Marked safe for HTML, as the `safe` and `escape` filters do: text joined to it by + is escaped.
  bool markup = false;

 private:
  struct Run {
    std::size_t end;  // bytes
    bool trusted;
  };
  std::string bytes_;
  std::vector<Run> runs_;
};

Text escape_html(const Text& text);  // & < > " ' become character references; the marks stay

// The first byte at or after `from` where `needle` lies in `text`, or npos. Linear in the length of `text`.
std::size_t find_bytes(std::string_view text, std::string_view needle, std::size_t from);

}  // namespace shardwise::jinja
