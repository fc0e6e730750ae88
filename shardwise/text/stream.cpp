// Both classes hold back the least that later bytes could still change.
#include "shardwise/text/stream.h"

#include <algorithm>
#include <utility>

#include "shardwise/text/utf8.h"

namespace shardwise {

std::string TextStream::push(std::string_view bytes) {
  const std::string joined = std::exchange(waiting_, {}).append(bytes);
  std::string out;
  out.reserve(joined.size());
  for (std::string_view left = joined; !left.empty();) {
    const Utf8Step step = utf8_step(left);
    if (step.kind == Utf8::Cut) {
      waiting_ = left;
      break;
    }
    out += step.kind == Utf8::Whole ? left.substr(0, step.length) : kReplacement;
    left.remove_prefix(step.length);
  }
  return out;
}

std::string TextStream::finish() {
  return std::exchange(waiting_, {}).empty() ? std::string() : std::string(kReplacement);
}

Result<StopMatcher> StopMatcher::make(std::vector<std::string> stops) {
  StopMatcher made;
  for (std::string& text : stops) {
    if (text.empty()) return fail("stop: a stop string is empty, expected at least one character");
    Stop stop{std::move(text), {}, 0};
    stop.border.assign(stop.text.size(), 0);
    for (size_t i = 1, length = 0; i < stop.text.size(); ++i) {
      while (length > 0 && stop.text[i] != stop.text[length]) length = stop.border[length - 1];
      if (stop.text[i] == stop.text[length]) ++length;
      stop.border[i] = length;
    }
    made.stops_.push_back(std::move(stop));
  }
  return made;
}

std::string StopMatcher::push(std::string_view text) {
  if (stopped_) return {};
  for (const char byte : text) {
    held_ += byte;
    const Stop* found = nullptr;
    for (Stop& stop : stops_) {
      while (stop.live > 0 && stop.text[stop.live] != byte) stop.live = stop.border[stop.live - 1];
      if (stop.text[stop.live] == byte) ++stop.live;
      const bool whole = stop.live == stop.text.size();
      if (whole && (!found || stop.text.size() > found->text.size())) found = &stop;
    }
    if (!found) continue;
    stopped_ = true;
    matched_ = found->text;
    held_.resize(held_.size() - matched_.size());
    return std::exchange(held_, {});
  }
  size_t live = 0;
  for (const Stop& stop : stops_) live = std::max(live, stop.live);
  std::string out = held_.substr(0, held_.size() - live);
  held_.erase(0, out.size());
  return out;
}

std::string StopMatcher::finish() { return std::exchange(held_, {}); }

}  // namespace shardwise
