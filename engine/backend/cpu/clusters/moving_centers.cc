// The iterations of k-means on the CPU: bounds tell which rows cannot have changed their centre, and sums are made again only of
// clusters whose rows changed.
#include "engine/backend/ops/moving_centers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "engine/backend/cpu/clusters/center_scores.h"
#include "engine/backend/cpu/clusters/moving_centers.h"
#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"
#include "engine/comm/bytes.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kBoundRows = 4 * kScoredRows;   // whose doubts are multiplied together
constexpr std::int64_t kRowsPerCenter = 32;            // with fewer, the distances between centres cost more than they save

// Bounds are floats, rounded outwards by far more than a float's rounding and that of a distance computed in double.
constexpr float kMargin = 1e-6f, kLeast = 1e-30f;
constexpr double kLargest = std::numeric_limits<float>::max();
float above(double squared) {   // NaN: infinity
  const double root = std::sqrt(std::max(squared, 0.0)) * (1 + 1e-6);
  return root < kLargest ? static_cast<float>(root) + std::numeric_limits<float>::min() : std::numeric_limits<float>::infinity();
}
float below(double squared) {
  return static_cast<float>(std::min(std::sqrt(std::max(0.0, squared)) * (1 - 1e-6), kLargest));
}   // NaN: 0
bool is_safe(float own, float others) {
  return others > own * (1 + kMargin) + kLeast;
}   // false if anything is NaN

// Rows of a table of sums: where it can be, a power of two, of which the blocks that ranks own (dealt_blocks.h) are
// multiples.
std::int64_t sum_tile_rows(std::int64_t rows, std::int64_t entries) {
  const std::int64_t least = class_tile_rows(rows, entries);
  const auto wide = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(least)));
  return rows >= kLeastDealtRows && wide <= block_rows(rows) ? wide : least;
}

// What a step of the centres does to the bounds of the rows of each.
struct Step {
  std::vector<float> moved, others_moved;   // how far: the centre, and the one of the others that went farthest
  std::vector<float> half;                  // of the distance to the nearest other centre
};

KEDGE_CLONES void move_bounds(const std::int32_t* labels, std::int64_t n, const float* moved, const float* others_moved,
                              float* upper, float* lower) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float own = (upper[i] + moved[labels[i]]) * (1 + kMargin),
                others = (lower[i] - others_moved[labels[i]]) * (1 - kMargin);
    upper[i] = own, lower[i] = others > 0 ? others : 0;
  }
}

// Adds rows to the sums of their labels, those whose label is wanted.
template <class T>
KEDGE_CLONES void add_rows(MatrixView<const T> X, const std::int32_t* labels, const double* weights, const char* is_wanted,
                           double* table) {
  const std::int64_t d = X.cols;
  for (std::int64_t i = 0; i < X.rows; ++i) {
    if (!is_wanted[labels[i]]) continue;
    const double weight = weights ? weights[i] : 1.0;
    const T* const row = raw(X) + i * X.stride;
    double* __restrict const sums = table + labels[i] * (d + 1);
    for (std::int64_t j = 0; j < d; ++j) sums[j] += weight * static_cast<double>(row[j]);
    sums[d] += weight;
  }
}

// Hamerly, "Making k-means even faster", SDM 2010: a row stays with its centre while the upper bound of the distance to
// it is below the lower bound of the distances to all others, or below half of the way to the next centre. Where ranks
// divide the rows, each has bounds and sums of its own rows. So do their labels, of which a rank says how
// many changed; only where centres are so many that tables of sums have more rows than blocks do, all have all labels.
template <class T>
class BoundedCenters final : public MovingCenters<T> {
 public:
  BoundedCenters(MatrixView<const T> X, VectorView<const double> weights, VectorView<std::int32_t> labels)
      : X_(X),
        weights_(weights),
        labels_(labels),
        ranks_(ranks_of_rows(X.rows)),
        upper_(static_cast<std::size_t>(X.rows)),
        lower_(upper_.size()),
        summed_(upper_.size(), -1) {}

  std::int64_t assign(MatrixView<const T> centers) override {
    const std::optional<Step> step = is_first_ ? std::nullopt : std::optional(step_to(centers));
    const NearestCenters<T> nearest(centers, X_);
    const std::int64_t tile_rows = sum_tile_rows(X_.rows, centers.rows * (X_.cols + 1));
    std::int64_t changed = 0;
    if (!ranks_ || labels_stay(tile_rows)) changed = total_of([&] { return settle_own(step, nearest, centers); });
    else changed = exchange_labels(rows_of(tile_rows), [&] { settle_own(step, nearest, centers); });
    before_.resize(static_cast<std::size_t>(centers.rows * centers.cols));
    for (std::int64_t c = 0; c < centers.rows; ++c)
      std::copy_n(raw(centers) + c * centers.stride, centers.cols, before_.data() + c * centers.cols);
    is_first_ = false;
    return changed;
  }

  void sum(MatrixView<double> sums) override {
    const std::int64_t k = sums.rows, cols = sums.cols, tile_rows = sum_tile_rows(X_.rows, k * cols);
    const Part own = rows_of(tile_rows);
    std::vector<double> total(static_cast<std::size_t>(k * cols));
    const auto sum_own = [&] {
      for_tiles(own.size(), tile_rows, tile_rows == kBoundRows ? X_.rows : X_.size(),
                [&](std::int64_t tile, std::int64_t begin, std::int64_t end) {
                  sum_changed(own.begin + begin, own.begin + end, k, tables_.data() + tile * k * cols);
                });
      return Tables{tables_.data(), tiles_of(own.size(), tile_rows)};
    };
    add_tables_of_ranks(ranks_, k * cols, sum_own, total.data());
    for (std::int64_t c = 0; c < k; ++c) std::copy_n(total.data() + c * cols, cols, raw(sums) + c * sums.stride);
  }

 private:
  bool labels_stay(std::int64_t tile_rows) const { return block_rows(X_.rows) % tile_rows == 0; }

  // This rank's rows, in tiles of so many: those that it owns, where its tiles are.
  Part rows_of(std::int64_t tile_rows) const {
    if (labels_stay(tile_rows)) return own_rows(ranks_, X_.rows);
    const Part tiles = own_part(ranks_, tiles_of(X_.rows, tile_rows));
    return {std::min(X_.rows, tiles.begin * tile_rows), std::min(X_.rows, tiles.end * tile_rows)};
  }

  // Makes the labels of this rank's rows; how many changed.
  std::int64_t settle_own(const std::optional<Step>& step, const NearestCenters<T>& nearest,
                          MatrixView<const T> centers) {
    const std::int64_t k = centers.rows, cols = X_.cols + 1, tile_rows = sum_tile_rows(X_.rows, k * cols);
    const Part own = rows_of(tile_rows);
    tables_.resize(static_cast<std::size_t>(tiles_of(own.size(), tile_rows) * k * cols), 0.0);
    std::vector<std::int64_t> changed(static_cast<std::size_t>(tiles_of(own.size(), kBoundRows)), 0);
    for_tiles(own.size(), kBoundRows, X_.size() * (k / 16 + 1) + X_.rows * k,
              [&](std::int64_t tile, std::int64_t from, std::int64_t to) {
                const std::int64_t begin = own.begin + from, end = own.begin + to;
                std::vector<std::int32_t> doubts(static_cast<std::size_t>(end - begin));
                std::iota(doubts.begin(), doubts.end(), static_cast<std::int32_t>(begin));
                if (step) keep_doubts(*step, centers, begin, end, doubts);
                changed[static_cast<std::size_t>(tile)] = settle(nearest, doubts);
                if (tile_rows == kBoundRows)
                  sum_changed(begin, end, k, tables_.data() + tile * k * cols);   // while the rows are in the cache
              });
    return std::accumulate(changed.begin(), changed.end(), std::int64_t{0});
  }

  // The sum of what settle_own() says on all ranks.
  template <class Settle>
  std::int64_t total_of(const Settle& settle_own) {
    const auto own = [&] { return std::vector<std::int64_t>{settle_own()}; };
    const std::vector<std::int64_t> changed = parts_of_ranks<std::int64_t>(ranks_, own);
    return std::accumulate(changed.begin(), changed.end(), std::int64_t{0});
  }

  // The labels that settle_own() changes on each rank, in its own rows, come to all; how many there are. Where most
  // change, as in the first call, a rank brings all of its labels without their rows.
  template <class Settle>
  std::int64_t exchange_labels(Part own, const Settle& settle_own) {
    const PartedBytes shares = ranks_->share([&] {
      const std::vector<std::int32_t> before(raw(labels_) + own.begin, raw(labels_) + own.end);
      settle_own();
      std::vector<std::int32_t> rows, labels;
      for (std::int64_t i = own.begin; i < own.end; ++i)
        if (before[static_cast<std::size_t>(i - own.begin)] != raw(labels_)[i])
          rows.push_back(static_cast<std::int32_t>(i)), labels.push_back(raw(labels_)[i]);
      ByteWriter out;
      out.number(own.begin), out.number(std::ssize(rows));
      if (2 * std::ssize(rows) > own.size())
        rows.clear(), labels.assign(raw(labels_) + own.begin, raw(labels_) + own.end);
      out.numbers(rows), out.numbers(labels);
      return out.take();
    });
    std::int64_t changed = 0;
    for (int r = 0; r < shares.size(); ++r) {
      ByteReader in(shares.part(r));
      const auto begin = in.number<std::int64_t>();
      changed += in.number<std::int64_t>();
      const auto rows = in.numbers<std::int32_t>(), labels = in.numbers<std::int32_t>();
      if (rows.empty()) std::ranges::copy(labels, raw(labels_) + begin);
      for (std::size_t e = 0; e < rows.size(); ++e) raw(labels_)[rows[e]] = labels[e];
    }
    return changed;
  }

  Step step_to(MatrixView<const T> centers) const {
    const std::int64_t k = centers.rows, d = centers.cols;
    Step step{std::vector<float>(static_cast<std::size_t>(k)), {}, std::vector<float>(static_cast<std::size_t>(k), 0.0f)};
    for (std::int64_t c = 0; c < k; ++c)
      step.moved[static_cast<std::size_t>(c)] =
          above(squared_between(before_.data() + c * d, raw(centers) + c * centers.stride, d));
    const auto farthest = std::max_element(step.moved.begin(), step.moved.end());
    step.others_moved.assign(static_cast<std::size_t>(k), *farthest);
    float next = 0;
    for (auto c = step.moved.begin(); c != step.moved.end(); ++c) next = c == farthest ? next : std::max(next, *c);
    step.others_moved[static_cast<std::size_t>(farthest - step.moved.begin())] = next;
    if (k * kRowsPerCenter <= X_.rows)
      for_tiles(k, 1, k * k * d / 4, [&](std::int64_t a, std::int64_t, std::int64_t) {
        double least = std::numeric_limits<double>::infinity();
        for (std::int64_t b = 0; b < k; ++b)
          if (b != a)
            least = std::min(least,
                             squared_between(raw(centers) + a * centers.stride, raw(centers) + b * centers.stride, d));
        step.half[static_cast<std::size_t>(a)] = below(least / 4);
      });
    return step;
  }

  // Leaves in `doubts` the rows that may have another centre now: all of the tile where most of them might.
  void keep_doubts(const Step& step, MatrixView<const T> centers, std::int64_t begin, std::int64_t end,
                   std::vector<std::int32_t>& doubts) {
    move_bounds(raw(labels_) + begin, end - begin, step.moved.data(), step.others_moved.data(), upper_.data() + begin,
                lower_.data() + begin);
    const auto is_sure = [&](std::int32_t i) {
      return is_safe(
          upper_[static_cast<std::size_t>(i)],
          std::max(lower_[static_cast<std::size_t>(i)], step.half[static_cast<std::size_t>(raw(labels_)[i])]));
    };
    const auto n_doubts = std::count_if(doubts.begin(), doubts.end(), [&](std::int32_t i) { return !is_sure(i); });
    if (2 * n_doubts > end - begin) return;
    std::erase_if(doubts, is_sure);
    std::erase_if(doubts, [&](std::int32_t i) {
      upper_[static_cast<std::size_t>(i)] =
          above(squared_between(raw(X_) + i * X_.stride, raw(centers) + raw(labels_)[i] * centers.stride, X_.cols));
      return is_sure(i);
    });
  }

  std::int64_t settle(const NearestCenters<T>& nearest, std::span<const std::int32_t> doubts) {
    Nearest found[kScoredRows];
    std::int64_t changed = 0;
    for (; !doubts.empty(); doubts = doubts.subspan(std::min<std::size_t>(doubts.size(), kScoredRows))) {
      const auto rows = doubts.first(std::min<std::size_t>(doubts.size(), kScoredRows));
      nearest.find(rows, found);
      for (std::size_t e = 0; e < rows.size(); ++e) {
        const auto i = static_cast<std::size_t>(rows[e]);
        changed += raw(labels_)[i] != found[e].center;
        raw(labels_)[i] = found[e].center, upper_[i] = above(found[e].own), lower_[i] = below(found[e].others);
      }
    }
    return changed;
  }

  // Brings a tile's table up to date: the sums of clusters that won or lost a row of it, in the order of label_sums().
  void sum_changed(std::int64_t begin, std::int64_t end, std::int64_t k, double* table) {
    std::int32_t* const before = summed_.data() + begin;
    const std::int32_t* const labels = raw(labels_) + begin;
    if (std::equal(before, before + (end - begin), labels)) return;
    std::vector<char> is_stale(static_cast<std::size_t>(k), 0);
    for (std::int64_t i = 0; i < end - begin; ++i) {
      if (before[i] == labels[i]) continue;
      if (before[i] >= 0) is_stale[static_cast<std::size_t>(before[i])] = 1;
      is_stale[static_cast<std::size_t>(labels[i])] = 1;
      before[i] = labels[i];
    }
    const std::int64_t cols = X_.cols + 1;
    for (std::int64_t c = 0; c < k; ++c)
      if (is_stale[static_cast<std::size_t>(c)]) std::fill_n(table + c * cols, cols, 0.0);
    for (std::int64_t i = begin; i < end; i += kRowTile) {   // where centres are many a tile has all rows
      check_job_stop();
      add_rows(X_.row_range(i, std::min(kRowTile, end - i)), labels + (i - begin),
               weights_.empty() ? nullptr : raw(weights_) + i, is_stale.data(), table);
    }
  }

  MatrixView<const T> X_;
  VectorView<const double> weights_;
  VectorView<std::int32_t> labels_;
  Ranks* const ranks_;   // that divide the rows; null: none
  bool is_first_ = true;
  std::vector<T> before_;              // the centres of the last assignment
  std::vector<float> upper_, lower_;   // of each row's distance to its centre, and to all others
  std::vector<std::int32_t> summed_;   // the labels that the tables are of
  std::vector<double> tables_;         // of each tile of rows, centers x (columns + 1)
};

}   // namespace

template <class T>
std::unique_ptr<MovingCenters<T>> make_moving_centers(MatrixView<const T> X, VectorView<const double> weights,
                                                      VectorView<std::int32_t> labels) {
  return std::make_unique<BoundedCenters<T>>(X, weights, labels);
}

template std::unique_ptr<MovingCenters<float>> make_moving_centers(MatrixView<const float>, VectorView<const double>,
                                                                   VectorView<std::int32_t>);
template std::unique_ptr<MovingCenters<double>> make_moving_centers(MatrixView<const double>, VectorView<const double>,
                                                                    VectorView<std::int32_t>);

}   // namespace kedge::engine
