// Grows isolation trees as scikit-learn's ExtraTreeRegressor with one random feature a node does: the same generators,
// the same order of nodes, the same bookkeeping of constant features.
#include "engine/estimators/outliers/isolation_trees.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "engine/core/legacy_distributions.h"
#include "engine/core/require.h"
#include "engine/estimators/preprocessing/column_stats.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kMostFetched = std::int64_t{8} << 20;   // numbers of drawn rows on the host at once, 64 MiB
constexpr std::uint32_t kMostInt = 0x7fffffff;
constexpr float kFeatureThreshold = 1e-7F;   // columns that vary by less are constant

// The generator of scikit-learn's trees: xorshift with 32 bits. Source: Marsaglia, "Xorshift RNGs", Journal of
// Statistical Software 8(14), 2003.
class TreeRandom {
 public:
  explicit TreeRandom(std::uint32_t seed) : state_(seed) {}
  std::int64_t below(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next()) % (high - low);
  }
  double between(double low, double high) { return (high - low) * next() / static_cast<double>(kMostInt) + low; }

 private:
  std::uint32_t next() {
    if (state_ == 0) state_ = 1;
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_ & kMostInt;
  }
  std::uint32_t state_;
};

std::uint32_t int_below_most(LegacyRandom& random) {
  return static_cast<std::uint32_t>(random.interval(kMostInt - 1));
}

// What one tree is grown from.
struct Draw {
  std::vector<std::int64_t> features, rows;   // rows ascending, each once
  std::uint32_t seed = 0;                     // of TreeRandom
};

Draw drawn(std::uint32_t seed, std::int64_t n, std::int64_t d, const IsolationOptions& options) {
  LegacyRandom of_estimator(seed), random(seed);
  LegacyRandom of_splitter(int_below_most(of_estimator));
  Draw draw{.features = legacy_sample(random, d, options.max_features), .seed = int_below_most(of_splitter)};
  if (options.weights.empty() && !options.bootstrap) {
    draw.rows = legacy_sample(random, n, options.max_samples);
  } else if (options.weights.empty()) {
    for (std::int64_t i = 0; i < options.max_samples; ++i)
      draw.rows.push_back(static_cast<std::int64_t>(random.interval(static_cast<std::uint64_t>(n - 1))));
  } else if (options.bootstrap) {
    const CumulatedWeights shares(options.weights);
    for (std::int64_t i = 0; i < options.max_samples; ++i) draw.rows.push_back(shares.at(random.uniform()));
  } else {
    draw.rows =
        random.choice_without_replacement({options.weights.begin(), options.weights.end()}, options.max_samples);
  }
  std::ranges::sort(draw.rows);
  draw.rows.erase(std::ranges::unique(draw.rows).begin(), draw.rows.end());
  return draw;
}

// The largest x of T for which x, rounded to float32, is at most `threshold`.
template <class T>
double threshold_of(double threshold) {
  float below = static_cast<float>(threshold);
  if (static_cast<double>(below) > threshold) below = std::nextafter(below, -std::numeric_limits<float>::infinity());
  if constexpr (std::is_same_v<T, float>) return static_cast<double>(below);
  const float above = std::nextafter(below, std::numeric_limits<float>::infinity());
  const double middle = static_cast<double>(below) + (static_cast<double>(above) - static_cast<double>(below)) / 2;
  const bool rounds_down = (std::bit_cast<std::uint32_t>(below) & 1U) == 0;   // halves go to even
  return rounds_down ? middle : std::nextafter(middle, -std::numeric_limits<double>::infinity());
}

template <class T>
class Grower {
 public:
  // values: n x d, row-major; all are borrowed.
  Grower(const float* values, std::int64_t n, std::int64_t d, const Draw& draw, std::int64_t max_depth, Forest& forest)
      : values_(values), d_(d), of_column_(draw.features), max_depth_(max_depth), forest_(forest), random_(draw.seed) {
    samples_.resize(static_cast<std::size_t>(n)), features_.resize(draw.features.size());
    std::iota(samples_.begin(), samples_.end(), std::int64_t{0});
    std::iota(features_.begin(), features_.end(), std::int64_t{0});
    constants_ = features_;
  }

  void grow() {
    std::vector<Record> stack{{.end = static_cast<std::int64_t>(samples_.size())}};
    while (!stack.empty()) {
      const Record node = stack.back();
      stack.pop_back();
      Split found{.pos = node.end};
      std::int64_t n_constants = node.n_constants;
      if (node.depth < max_depth_ && node.end - node.start >= 2) found = split(node, n_constants);
      const auto id = static_cast<std::int32_t>(forest_.feature.size());
      if (node.parent >= 0) (node.is_left ? forest_.left : forest_.right)[static_cast<std::size_t>(node.parent)] = id;
      const bool is_leaf = found.pos >= node.end;
      add_node(is_leaf ? nullptr : &found, node);
      if (is_leaf) continue;
      stack.push_back({found.pos, node.end, node.depth + 1, id, n_constants, false});
      stack.push_back({node.start, found.pos, node.depth + 1, id, n_constants, true});
    }
  }

 private:
  struct Record {
    std::int64_t start = 0, end = 0, depth = 0;
    std::int32_t parent = -1;
    std::int64_t n_constants = 0;
    bool is_left = false;
  };
  struct Split {
    std::int64_t feature = 0, pos = 0;
    double threshold = 0;
  };

  float value(std::int64_t sample, std::int64_t feature) const {
    return values_[sample * d_ + of_column_[static_cast<std::size_t>(feature)]];
  }

  void add_node(const Split* cut, const Record& node) {
    const std::int64_t n = node.end - node.start;
    const double path = static_cast<double>(node.depth) + average_path_length(n);
    const auto self = static_cast<std::int32_t>(forest_.feature.size());   // a leaf is its own child
    forest_.feature.push_back(cut ? static_cast<std::int32_t>(of_column_[static_cast<std::size_t>(cut->feature)]) : -1);
    forest_.threshold.push_back(cut ? threshold_of<T>(cut->threshold) : 0);
    forest_.left.push_back(self), forest_.right.push_back(self), forest_.bin.push_back(0);
    forest_.mean.push_back(path), forest_.impurity.push_back(0), forest_.weight.push_back(static_cast<double>(n));
  }

  // Draws columns until one varies in the node, and cuts it. Columns that do not are moved to the front of features_,
  // behind those that an ancestor has found.
  Split split(const Record& node, std::int64_t& n_constants) {
    auto f_i = static_cast<std::int64_t>(features_.size());
    const std::int64_t known = n_constants;
    std::int64_t found = 0, drawn = 0, total = known, visited = 0;
    Split best{.pos = node.end};
    const auto at = [&](std::int64_t i) -> std::int64_t& { return features_[static_cast<std::size_t>(i)]; };
    while (f_i > total && (visited < 1 || visited <= found + drawn)) {
      ++visited;
      std::int64_t f_j = random_.below(drawn, f_i - found);
      if (f_j < known) {
        std::swap(at(drawn), at(f_j)), ++drawn;
        continue;
      }
      f_j += found;
      const std::int64_t feature = at(f_j);
      const auto [least, most] = range(node, feature);
      if (most <= least + kFeatureThreshold) {
        std::swap(at(f_j), at(total)), ++found, ++total;
        continue;
      }
      --f_i;
      std::swap(at(f_i), at(f_j));
      double threshold = random_.between(static_cast<double>(least), static_cast<double>(most));
      if (threshold == static_cast<double>(most)) threshold = static_cast<double>(least);
      best = {.feature = feature, .pos = cut(node, feature, threshold), .threshold = threshold};
    }
    std::copy_n(constants_.begin(), known, features_.begin());
    std::copy_n(features_.begin() + known, found, constants_.begin() + known);
    n_constants = total;
    return best;
  }

  std::pair<float, float> range(const Record& node, std::int64_t feature) const {
    float least = value(samples_[static_cast<std::size_t>(node.start)], feature), most = least;
    for (std::int64_t p = node.start + 1; p < node.end; ++p) {
      const float x = value(samples_[static_cast<std::size_t>(p)], feature);
      least = std::min(least, x), most = std::max(most, x);
    }
    return {least, most};
  }

  std::int64_t cut(const Record& node, std::int64_t feature, double threshold) {
    const auto begin = samples_.begin() + node.start;
    const auto middle = std::partition(begin, samples_.begin() + node.end, [&](std::int64_t sample) {
      return static_cast<double>(value(sample, feature)) <= threshold;
    });
    return middle - samples_.begin();
  }

  const float* values_;
  std::int64_t d_;
  const std::vector<std::int64_t>& of_column_;
  std::int64_t max_depth_;
  Forest& forest_;
  TreeRandom random_;
  std::vector<std::int64_t> samples_, features_, constants_;
};

}   // namespace

double average_path_length(std::int64_t n) {
  if (n <= 1) return 0;
  if (n == 2) return 1;
  const double rows = static_cast<double>(n);
  return 2 * (std::log(rows - 1) + std::numbers::egamma) - 2 * (rows - 1) / rows;
}

template <class T>
IsolationForestTrees grow_isolation_trees(const Context& ctx, const char* owner, const Samples<T>& X,
                                          const IsolationOptions& options) {
  const std::int64_t n = X.n_rows(), d = X.n_cols();
  const auto weighty =
      options.weights.empty() ? n : std::ranges::count_if(options.weights, [](double w) { return w > 0; });
  require(weighty > 0 && (options.bootstrap || weighty >= options.max_samples), schema::ErrorCode::kBadData,
          "{}: max_samples is {}, but only {} rows have a weight above 0", owner, options.max_samples, weighty);
  LegacyRandom random(options.seed);
  std::vector<std::uint32_t> seeds(static_cast<std::size_t>(options.n_trees));
  for (std::uint32_t& seed : seeds) seed = int_below_most(random);
  IsolationForestTrees made{.forest = {.n_cols = d, .tree_offset = {0}}};
  const auto max_depth = static_cast<std::int64_t>(
      std::ceil(std::log2(static_cast<double>(std::max<std::int64_t>(options.max_samples, 2)))));
  for (std::size_t next = 0; next < seeds.size();) {
    std::vector<Draw> draws;   // of the trees whose rows are fetched together
    std::vector<std::int64_t> rows;
    while (next < seeds.size() && (draws.empty() || static_cast<std::int64_t>(rows.size()) * d < kMostFetched)) {
      draws.push_back(drawn(seeds[next++], n, d, options));
      rows.insert(rows.end(), draws.back().rows.begin(), draws.back().rows.end());
    }
    const std::vector<double> host = host_values(ctx, selected_rows(ctx, X, rows));
    const std::vector<float> values(host.begin(), host.end());
    const float* first = values.data();
    for (Draw& draw : draws) {
      ctx.check_stop();
      const auto count = static_cast<std::int64_t>(draw.rows.size());
      Grower<T>(first, count, d, draw, max_depth, made.forest).grow();
      first += count * d;
      made.forest.tree_offset.push_back(made.forest.n_nodes());
      made.features.push_back(std::move(draw.features));
    }
    ctx.progress("trees", static_cast<std::int64_t>(next), options.n_trees, "trees");
  }
  return made;
}

template IsolationForestTrees grow_isolation_trees(const Context&, const char*, const Samples<float>&,
                                                   const IsolationOptions&);
template IsolationForestTrees grow_isolation_trees(const Context&, const char*, const Samples<double>&,
                                                   const IsolationOptions&);

}   // namespace kedge::engine
