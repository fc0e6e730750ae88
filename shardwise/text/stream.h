// From token bytes to text that may be sent on: whole characters only, and nothing of a stop string.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shardwise/base/result.h"

namespace shardwise {

// Bytes in any portions become valid UTF-8 in portions: together exactly sanitised() of all bytes (utf8.h). At most
// three bytes wait, those of a character that is not complete yet.
class TextStream {
 public:
  std::string push(std::string_view bytes);
  std::string finish();  // a character that stayed incomplete is one U+FFFD

 private:
  std::string waiting_;
};

// Watches text for stop strings. The one that is complete first ends the text; of those complete at the same byte the
// longest. However the text is portioned, the outcome is the same. REQUIRES: text in whole characters, as TextStream
// gives it.
class StopMatcher {
 public:
  // Refuses an empty stop string. No stop strings at all is fine.
  static Result<StopMatcher> make(std::vector<std::string> stops);

  // What may be sent: all text so far but the longest end of it that may begin a stop string; after a match, nothing.
  std::string push(std::string_view text);
  std::string finish();  // the text has ended: what was held back

  bool stopped() const { return stopped_; }
  const std::string& matched() const { return matched_; }  // the stop string found, empty before

 private:
  // Knuth-Morris-Pratt: border[i] is the longest proper prefix of the first i + 1 bytes that also ends them.
  struct Stop {
    std::string text;
    std::vector<size_t> border;
    size_t live = 0;  // how much of the text's end is a beginning of this stop string
  };

  std::vector<Stop> stops_;
  std::string held_;
  std::string matched_;
  bool stopped_ = false;
};

}  // namespace shardwise
