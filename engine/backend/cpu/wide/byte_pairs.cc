// Neighbours among rows of other groups: each pair of rows is multiplied once, for both of them.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "engine/backend/cpu/rows.h"
#include "engine/backend/cpu/wide/byte_products.h"
#include "engine/backend/cpu/wide/byte_scan.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kTile = 3 * kByteBlock;   // places at once; whole blocks, and whole calls of score_rows()
static_assert(kTile % kByteRows == 0);
constexpr std::int64_t kRankTile = 32, kLine = 64;   // bytes of a cache line
constexpr double kBatchProducts = 8e10;              // between two pauses: well below a second

// Whether level_distance() knows the row to the bit.
template <class T>
KEDGE_CLONES bool is_all_levels(const T* row, const std::int8_t* levels, std::int64_t d, double middle, double step) {
  int others = 0;
  for (std::int64_t j = 0; j < d; ++j) others |= row[j] != static_cast<T>(std::fma(step, static_cast<double>(levels[j]), middle));
  return others == 0;
}

}   // namespace

// The shortlists of all points while pairs of tiles are scored. They depend on the order of the pairs, and so on the threads, but
// hold every point that may be near in any order.
template <class T>
class ByteScan<T>::Pairs {
 public:
  Pairs(const ByteScan& scan, std::span<const std::int32_t> groups, int k)
      : scan_(scan), n_(scan.points_.rows), tiles_(static_cast<std::size_t>(tiles_of(n_, kTile))), locks_(tiles_.size()) {
    limits_.assign(tiles_.size() * kTile, kNeverNear - 1);
    lists_.reserve(static_cast<std::size_t>(n_));
    for (std::int64_t i = 0; i < n_; ++i) lists_.emplace_back(k, n_);
    std::vector<std::uint8_t> all_levels(tiles_.size(), 1);
    places_.resize(static_cast<std::size_t>(n_));
    for (std::int64_t i = 0; i < n_; ++i) groups_.push_back(groups[static_cast<std::size_t>(scan.index(i))]);
    for_tiles(n_, kTile, scan.points_.size(), [&](std::int64_t tile, std::int64_t begin, std::int64_t end) {
      tiles_[static_cast<std::size_t>(tile)] = scan.prepare(end - begin, [&](std::int64_t i) { return scan.row(begin + i); });
      for (std::int64_t i = begin; i < end; ++i) {
        places_[static_cast<std::size_t>(scan.index(i))] = static_cast<std::int32_t>(i);
        if (!scan.is_whole_ && !is_all_levels(scan.row(i), levels(i), scan.points_.cols, scan.level_.middle, scan.level_.step))
          all_levels[static_cast<std::size_t>(tile)] = 0;
      }
    });
    is_all_levels_ = std::ranges::count(all_levels, 0) == 0;
  }

  // Each pair of tiles once; pairs that follow each other have no tile in common, as far as that goes.
  void score_all(const std::function<void()>& pause) {
    const auto n_tiles = static_cast<std::int64_t>(tiles_.size());
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
    for (std::int64_t step = 0; 2 * step <= n_tiles; ++step)
      for (std::int64_t i = 0; i < (step > 0 && 2 * step == n_tiles ? step : n_tiles); ++i) {
        const auto [a, b] = std::minmax({i, (i + step) % n_tiles});
        if (group(a * kTile) != group(std::min(n_, (b + 1) * kTile) - 1)) pairs.emplace_back(a, b);
      }
    const std::int64_t products = kTile * kTile * 4 * scan_.words_;
    const auto batch = std::max<std::int64_t>(1, static_cast<std::int64_t>(kBatchProducts / static_cast<double>(products)));
    for (std::int64_t first = 0; first < static_cast<std::int64_t>(pairs.size()); first += batch) {
      pause();
      const std::int64_t count = std::min(batch, static_cast<std::int64_t>(pairs.size()) - first);
      for_tiles(count, 1, count * products / 64, [&](std::int64_t i, std::int64_t, std::int64_t) {
        const auto [a, b] = pairs[static_cast<std::size_t>(first + i)];
        const std::lock_guard lock_a(
            locks_[static_cast<std::size_t>(a)]);   // a <= b: in one order, so no two threads wait for each other
        if (a == b) return score_pair<false>(a, b);
        const std::lock_guard lock_b(locks_[static_cast<std::size_t>(b)]);
        score_pair<true>(a, b);
      });
    }
  }

  // Writes the nearest of a place, from its list. False where too many points could be near.
  bool write(std::int64_t place, int k, NearestOfListed<T>& nearest, MatrixView<std::int32_t> indices, MatrixView<T> squared) {
    ByteShortlist& list = lists_[static_cast<std::size_t>(place)];
    list.prune(0, slack(place));
    if (list.given_up) return false;
    for (std::int32_t& point : list.points) point = scan_.index(point);
    if (scan_.is_whole_) return nearest.write_scored(list, 0, k, scan_.index(place), indices, squared), true;
    std::ranges::sort(list.points);
    const T* const query = scan_.row(place);
    if (!is_all_levels_) return nearest.write(query, list.points, k, scan_.index(place), indices, squared), true;
    const std::vector<double> row(query, query + scan_.points_.cols);
    for (const std::int32_t p : list.points)   // they lie anywhere
      for (std::int64_t j = 0; j < scan_.points_.cols; j += kLine)
        __builtin_prefetch(levels(places_[static_cast<std::size_t>(p)]) + j);
    nearest.write(list.points, k, scan_.index(place), indices, squared, [&](std::int32_t p) {
      const std::int8_t* const point = levels(places_[static_cast<std::size_t>(p)]);
      return level_distance(row.data(), point, scan_.points_.cols, scan_.level_.middle, scan_.level_.step,
                            sizeof(T) == sizeof(float));
    });
    return true;
  }

 private:
  const std::int8_t* levels(std::int64_t place) const {
    return tiles_[static_cast<std::size_t>(place / kTile)].levels.data() + place % kTile * scan_.words_ * 4;
  }
  std::int32_t group(std::int64_t place) const { return groups_[static_cast<std::size_t>(place)]; }
  double slack(std::int64_t place) const {
    return tiles_[static_cast<std::size_t>(place / kTile)].slack[static_cast<std::size_t>(place % kTile)];
  }

  void add(std::int64_t place, std::int64_t other, std::int64_t distance) {
    if (group(place) == group(other)) return;
    ByteShortlist& list = lists_[static_cast<std::size_t>(place)];
    list.add(static_cast<std::int32_t>(distance), static_cast<std::int32_t>(other));
    if (!list.is_long()) return;
    list.prune(0, slack(place));
    limits_[static_cast<std::size_t>(place)] = list.limit;
  }

  // Rows of tile a with blocks of tile b: for the rows, and if kBoth for the points of the blocks.
  template <bool kBoth>
  void score_pair(std::int64_t a, std::int64_t b) {
    const Queries& queries = tiles_[static_cast<std::size_t>(a)];
    const auto n_rows = static_cast<std::int64_t>(queries.offsets.size()), row_bytes = scan_.words_ * 4;
    std::int32_t scores[kByteRows][kByteBlock], limits[kByteRows];
    std::uint64_t hits[kByteRows];
    for (std::int64_t p = b * kTile; p < std::min(n_, (b + 1) * kTile); p += kByteBlock) {
      const std::uint64_t there = n_ - p >= kByteBlock ? ~std::uint64_t{0} : (std::uint64_t{1} << (n_ - p)) - 1;
      for (std::int64_t first = 0; first < n_rows; first += kByteRows) {
        const std::int64_t rows = std::min(kByteRows, n_rows - first);
        for (std::int64_t m = 0; m < rows; ++m) {
          const std::int64_t limit =
              limits_[static_cast<std::size_t>(a * kTile + first + m)] - queries.offsets[static_cast<std::size_t>(first + m)];
          limits[m] = static_cast<std::int32_t>(
              std::clamp<std::int64_t>(limit, std::numeric_limits<std::int32_t>::min(), kNeverNear - 1));
        }
        score_rows(rows, scan_.levels_.data() + p * row_bytes, scan_.words_, queries.levels.data() + first * row_bytes,
                   scan_.norms_.data() + p, limits, scores, hits);
        for (std::int64_t m = 0; m < rows; ++m) {
          const std::int64_t place = a * kTile + first + m, offset = queries.offsets[static_cast<std::size_t>(first + m)];
          for (std::uint64_t left = hits[m] & there; left; left &= left - 1) {
            const int i = __builtin_ctzll(left);
            add(place, p + i, scores[m][i] + offset);
          }
          if constexpr (kBoth) {
            for (std::uint64_t left = columns_within(scores[m], static_cast<std::int32_t>(offset), limits_.data() + p) & there;
                 left; left &= left - 1) {
              const int i = __builtin_ctzll(left);
              add(p + i, place, scores[m][i] + offset);
            }
          }
        }
      }
    }
  }

  const ByteScan& scan_;
  std::int64_t n_;
  std::vector<std::int32_t> groups_;   // by place
  std::vector<Queries> tiles_;
  std::vector<std::int32_t> places_;   // by index
  bool is_all_levels_ = false;         // levels tell the values to the bit, as of images
  std::vector<std::mutex> locks_;      // of the lists of a tile
  std::vector<ByteShortlist> lists_;   // scores are distances
  std::vector<std::int32_t> limits_;   // of the lists, and beyond the last
};

template <class T>
std::vector<std::int64_t> ByteScan<T>::nearest_of_others(std::span<const std::int32_t> groups, int k,
                                                         const std::function<void()>& pause, MatrixView<std::int32_t> indices,
                                                         MatrixView<T> squared) const {
  Pairs pairs(*this, groups, k);
  pairs.score_all(pause);
  std::vector<std::uint8_t> is_left(static_cast<std::size_t>(points_.rows));
  for_tiles(points_.rows, kRankTile, points_.rows * k * points_.cols, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    NearestOfListed<T> nearest(points_);
    for (std::int64_t place = begin; place < end; ++place) {
      if (!pairs.write(place, k, nearest, indices, squared)) is_left[static_cast<std::size_t>(index(place))] = 1;
    }
  });
  std::vector<std::int64_t> left;
  for (std::int64_t i = 0; i < points_.rows; ++i)
    if (is_left[static_cast<std::size_t>(i)]) left.push_back(i);
  return left;
}

template std::vector<std::int64_t> ByteScan<float>::nearest_of_others(std::span<const std::int32_t>, int,
                                                                      const std::function<void()>&, MatrixView<std::int32_t>,
                                                                      MatrixView<float>) const;
template std::vector<std::int64_t> ByteScan<double>::nearest_of_others(std::span<const std::int32_t>, int,
                                                                       const std::function<void()>&, MatrixView<std::int32_t>,
                                                                       MatrixView<double>) const;

}   // namespace kedge::engine
