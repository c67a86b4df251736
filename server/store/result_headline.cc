// A result as lists show it.
#include "server/store/result_headline.h"

namespace kedge::server {

schema::Result headline(const schema::Result& result) {
  constexpr std::size_t kMostScores = 16;
  schema::Result head;
  for (const auto& [name, score] : result.scores)
    if (head.scores.size() < kMostScores) head.scores.emplace_back(name, schema::Score{.perFold = {}, .mean = score.mean, .std = score.std});
  if (result.search)
    head.search = schema::SearchResult{.bestIndex = result.search->bestIndex, .bestParams = {}, .bestScore = result.search->bestScore, .refit = result.search->refit, .cvResults = {}};
  head.nSamples = result.nSamples, head.nFeatures = result.nFeatures, head.dtype = result.dtype;
  head.timings.total = result.timings.total, head.timings.cold = result.timings.cold;
  head.device = result.device, head.model = result.model, head.seed = result.seed, head.version = result.version;
  return head;
}

}  // namespace kedge::server
