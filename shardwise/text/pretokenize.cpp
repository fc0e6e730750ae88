// PCRE2 finds the pieces, compiled to machine code where the system allows it. It reads a stand-in of the text where
// that holds bytes that are not UTF-8, or characters that PCRE2's tables class otherwise than today's Unicode.
#include "shardwise/text/pretokenize.h"

#include <spdlog/spdlog.h>

#include "shardwise/text/stand_in.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace shardwise {
namespace {

constexpr uint32_t kMatchLimit = 50'000'000;  // steps a match: seconds, for a pattern that explodes
constexpr size_t kJitStackBytes = 32 * 1024;  // to begin with; on the heap, so that a small thread stack suffices
constexpr size_t kJitStackMostBytes = 4 << 20;

template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* object) const {
    destroy(object);
  }
};
using Code = std::unique_ptr<pcre2_code, Destroy<pcre2_code_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Destroy<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Destroy<pcre2_match_context_free>>;
using JitStack = std::unique_ptr<pcre2_jit_stack, Destroy<pcre2_jit_stack_free>>;

// What one thread needs to match; made once a thread.
struct Workspace {
  MatchData data{pcre2_match_data_create(1, nullptr)};
  MatchContext context{pcre2_match_context_create(nullptr)};
  JitStack stack{pcre2_jit_stack_create(kJitStackBytes, kJitStackMostBytes, nullptr)};

  Workspace() {
    pcre2_set_match_limit(context.get(), kMatchLimit);
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }
};

std::string pcre2_words(int code) {
  char buffer[256] = {};
  pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(buffer), sizeof buffer);
  return buffer;
}

}  // namespace

struct PreTokenizer::Pattern {
  std::string text;
  Code code;

  // 0 or more: a match whose bounds are in `space`.
  int match(std::string_view piece, size_t from, Workspace& space) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(piece.data());
    const auto run = [&](uint32_t options) {
      return pcre2_match(code.get(), subject, piece.size(), from, options | PCRE2_NO_UTF_CHECK, space.data.get(),
                         space.context.get());
    };
    const int found = run(0);
    return found == PCRE2_ERROR_JIT_STACKLIMIT ? run(PCRE2_NO_JIT) : found;
  }
};

Result<PreTokenizer> PreTokenizer::make(std::span<const std::string_view> patterns) {
  PreTokenizer made;
  for (const std::string_view text : patterns) {
    int error = 0;
    size_t where = 0;
    Code code{pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                            PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &where, nullptr)};
    if (!code) return fail("pre-tokenizer: pattern '{}' at {}: {}", text, where, pcre2_words(error));
    pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // where the system forbids it, matching interprets
    made.patterns_.push_back(std::make_shared<Pattern>(Pattern{std::string(text), std::move(code)}));
  }
  return made;
}

void PreTokenizer::split(std::string_view text, std::vector<std::string_view>& pieces) const {
  thread_local Workspace space;
  const std::optional<std::string> stand_in = stand_in_text(text);
  const std::string_view read = stand_in ? *stand_in : text;
  std::vector<std::string_view> parts, cut;
  if (!read.empty()) parts.push_back(read);
  for (const auto& pattern : patterns_) {
    cut.clear();
    for (const std::string_view part : parts) {
      size_t done = 0, from = 0;
      while (from < part.size()) {
        const int found = pattern->match(part, from, space);
        if (found < 0 && found != PCRE2_ERROR_NOMATCH) {
          spdlog::warn("pre-tokenizer: pattern '{}' gave up ({}); {} bytes stay one piece", pattern->text,
                       pcre2_words(found), part.size() - done);
        }
        if (found < 0) break;
        const size_t* bounds = pcre2_get_ovector_pointer(space.data.get());
        if (bounds[0] > done) cut.push_back(part.substr(done, bounds[0] - done));
        if (bounds[1] > bounds[0]) cut.push_back(part.substr(bounds[0], bounds[1] - bounds[0]));
        done = from = bounds[1];
        if (bounds[1] == bounds[0]) {  // an empty match only cuts; look on behind the next character
          do ++from;
          while (from < part.size() && (part[from] & 0xC0) == 0x80);
        }
      }
      if (done < part.size()) cut.push_back(part.substr(done));
    }
    std::swap(parts, cut);
  }
  for (const std::string_view part : parts) {
    pieces.push_back(text.substr(static_cast<size_t>(part.data() - read.data()), part.size()));
  }
}

}  // namespace shardwise
