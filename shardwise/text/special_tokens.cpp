// The tokens lie sorted: those that share a beginning are a range, which each further byte narrows.
#include "shardwise/text/special_tokens.h"

#include <algorithm>

namespace shardwise {

SpecialTokens::SpecialTokens(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const Token& token) { return token.text.empty(); });
  std::ranges::stable_sort(tokens_, {}, &Token::text);
  for (const Token& token : tokens_) begins_[static_cast<unsigned char>(token.text[0])] = true;
}

const SpecialTokens::Token* SpecialTokens::longest_at(std::string_view text, size_t trusted) const {
  const Token* longest = nullptr;
  auto first = tokens_.begin(), last = tokens_.end();
  for (size_t depth = 0; first != last; ++depth) {
    for (; first != last && first->text.size() == depth; ++first) {  // sorts before all that go on from here
      if (!first->control || depth <= trusted) longest = &*first;
    }
    if (depth == text.size()) break;
    const auto next = static_cast<unsigned char>(text[depth]);
    const auto byte = [depth](const Token& token) { return static_cast<unsigned char>(token.text[depth]); };
    first = std::partition_point(first, last, [&](const Token& token) { return byte(token) < next; });
    last = std::partition_point(first, last, [&](const Token& token) { return byte(token) == next; });
  }
  return longest;
}

}  // namespace shardwise
