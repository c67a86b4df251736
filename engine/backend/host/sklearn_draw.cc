// Seeds and rows of scikit-learn's trees.
#include "engine/backend/host/sklearn_draw.h"

#include <numeric>

#include "engine/core/legacy_random.h"

namespace kedge::engine {
namespace {

constexpr std::uint64_t kMostSeed = 0x7fffffff - 1;   // randint(2^31 - 1)

std::uint32_t seed_from(LegacyRandom& random) {
  return static_cast<std::uint32_t>(random.interval(kMostSeed));
}

}   // namespace

TreeSeeds::TreeSeeds(const ForestOptions& options, std::int64_t first, std::int64_t n_trees) : first_(first) {
  if (options.draws != TreeDraws::kSklearn) return;
  const auto seed = static_cast<std::uint32_t>(options.seed);
  seeds_.assign(static_cast<std::size_t>(n_trees), seed);
  if (options.is_single) return;
  LegacyRandom random(seed);
  for (std::int64_t t = 0; t < first; ++t) seed_from(random);
  for (std::uint32_t& tree_seed : seeds_) tree_seed = seed_from(random);
}

void draw_rows_as_sklearn(const ForestOptions& options, std::uint32_t tree_seed, std::int64_t n,
                          std::vector<std::uint32_t>& counts) {
  const std::int64_t draws = options.n_draws > 0 ? options.n_draws : n;
  LegacyRandom random(tree_seed);
  if (options.draw_weights.empty()) {
    for (std::int64_t i = 0; i < draws; ++i) ++counts[random.interval(static_cast<std::uint64_t>(n) - 1)];
    return;
  }
  std::vector<double> shares = options.draw_weights;
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  const CumulatedWeights cumulated(shares);
  for (std::int64_t i = 0; i < draws; ++i) ++counts[static_cast<std::size_t>(cumulated.at(random.uniform()))];
}

SklearnColumnDraw::SklearnColumnDraw(std::int64_t n_cols)
    : order_(static_cast<std::size_t>(n_cols)), constant_(static_cast<std::size_t>(n_cols)) {}

void SklearnColumnDraw::start_tree(std::uint32_t seed) {
  LegacyRandom random(seed);
  state_ = seed_from(random);
  std::iota(order_.begin(), order_.end(), 0u);
}

}   // namespace kedge::engine
