// A result as lists show it.
#include "server/store/result_headline.h"

namespace kedge::server {
namespace {

constexpr std::size_t kMostWarnings = 4, kLongestWarning = 200;

// Cut before a byte that begins a character.
std::string shortened(const std::string& text) {
  if (text.size() <= kLongestWarning) return text;
  std::size_t end = kLongestWarning;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

}   // namespace

schema::Result headline(const schema::Result& result) {
  constexpr std::size_t kMostScores = 16;
  schema::Result head;
  for (const auto& [name, score] : result.scores)
    if (head.scores.size() < kMostScores) head.scores.emplace_back(name, schema::Score{.perFold = {}, .mean = score.mean, .std = score.std});
  if (result.search)
    head.search = schema::SearchResult{.bestIndex = result.search->bestIndex, .bestParams = {}, .bestScore = result.search->bestScore, .refit = result.search->refit, .cvResults = {}};
  for (std::size_t i = 0; i < result.warnings.size() && i < kMostWarnings; ++i)
    head.warnings.push_back(shortened(result.warnings[i]));
  head.nSamples = result.nSamples, head.nFeatures = result.nFeatures, head.dtype = result.dtype;
  head.timings.total = result.timings.total, head.timings.cold = result.timings.cold;
  head.device = result.device, head.model = result.model, head.seed = result.seed, head.version = result.version;
  return head;
}

}  // namespace kedge::server
