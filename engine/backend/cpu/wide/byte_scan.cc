// Rows as bytes, and shortlists that hold every point that may be near.
#include "engine/backend/cpu/wide/byte_scan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/backend/cpu/rows.h"
#include "engine/backend/cpu/wide/byte_products.h"
#include "engine/backend/cpu/wide/byte_shortlist.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kBlock = kByteBlock, kQueryTile = 48;
constexpr std::int64_t kSampled = 64;       // at most, queries that tell whether bytes are useful
constexpr std::int64_t kUsefulShare = 32;   // a list may have this part of the points
constexpr double kRounding = 1e-9;          // of sums in double, far more than they have
constexpr double kLevels = 255, kLargestWhole = 0x1p52;

// The levels of a row, -128 to 127, and the norm of what they leave.
template <class T>
KEDGE_CLONES double round_row(const T* row, std::int64_t d, double middle, double step, std::int8_t* __restrict levels) {
  const double inverse = 1 / step;
  for (std::int64_t j = 0; j < d; ++j) {
    const double level = std::rint((static_cast<double>(row[j]) - middle) * inverse);
    levels[j] = static_cast<std::int8_t>(level < -128 ? -128 : level > 127 ? 127 : level);
  }
  return std::sqrt(lane_sum(d,
                            [=](std::int64_t j) {
                              const double rest = static_cast<double>(row[j]) - (middle + step * static_cast<double>(levels[j]));
                              return rest * rest;
                            })) *
         (1 + kRounding);
}

// What is known of the values of some rows.
template <class T>
struct Range {
  T low, high;
  double check = 0;               // NaN if one is not finite
  std::int64_t n_fractions = 0;   // values that are no whole numbers
  double width() const { return static_cast<double>(high) - static_cast<double>(low); }
};

template <class T>
KEDGE_CLONES void extend(Range<T>& range, const T* row, std::int64_t d) {
  T least = range.low, most = range.high;
  double total = 0;
  std::int64_t fractions = 0;
  for (std::int64_t j = 0; j < d; ++j) {
    least = row[j] < least ? row[j] : least, most = row[j] > most ? row[j] : most;
    total += static_cast<double>(row[j]) * 0;
    fractions += std::rint(row[j]) != row[j];
  }
  range.low = least, range.high = most, range.check += total, range.n_fractions += fractions;
}

// Whether levels of step 1 are the values themselves.
template <class T>
bool is_whole(const Range<T>& range) {
  return range.n_fractions == 0 && range.width() <= kLevels && std::max(std::abs(range.low), std::abs(range.high)) < kLargestWhole;
}

}   // namespace

template <class T>
std::unique_ptr<ByteScan<T>> ByteScan<T>::make(MatrixView<const T> points, std::span<const std::int32_t> order) {
  const std::int64_t n = points.rows, d = points.cols;
  if (!has_byte_products() || d < kFewestColumns || d > kMostColumns || n < kFewestPoints) return nullptr;
  Range<T> range{raw(points)[0], raw(points)[0]};
  for (std::int64_t i = 0; i < n; ++i) {
    check_job_stop();
    extend(range, raw(points) + i * points.stride, d);
  }
  const double finest = range.width() / kLevels;
  if (range.check != 0 || !(finest > std::numeric_limits<double>::min()) || !std::isfinite(finest)) return nullptr;
  std::unique_ptr<ByteScan> scan(new ByteScan(points, order));
  scan->is_whole_ = is_whole(range);
  const double step = scan->is_whole_ ? 1 : finest;
  scan->level_ = {static_cast<double>(range.low) + 128 * step, step};
  scan->words_ = (d + 3) / 4;
  const std::int64_t blocks = tiles_of(n, kBlock);
  scan->levels_.assign(static_cast<std::size_t>(blocks * kBlock * scan->words_ * 4), 0);
  scan->norms_.assign(static_cast<std::size_t>(blocks * kBlock), kNeverNear);
  std::vector<double> rests(static_cast<std::size_t>(blocks));
  for_tiles(blocks, 1, n * d,
            [&](std::int64_t block, std::int64_t, std::int64_t) { rests[static_cast<std::size_t>(block)] = scan->pack(block); });
  scan->largest_rest_ = *std::ranges::max_element(rests);
  return scan;
}

// The levels of a block of points; returns the largest rest.
template <class T>
double ByteScan<T>::pack(std::int64_t block) {
  const std::int64_t d = points_.cols, first = block * kBlock, count = std::min(kBlock, points_.rows - first);
  std::vector<std::int8_t> levels(static_cast<std::size_t>(d));
  std::uint8_t* const out = levels_.data() + first * words_ * 4;
  double largest = 0;
  for (std::int64_t p = 0; p < count; ++p) {
    largest = std::max(largest, round_row(row(first + p), d, level_.middle, level_.step, levels.data()));
    std::int32_t norm = 0;
    for (std::int64_t j = 0; j < d; ++j) {
      const std::int32_t level = levels[static_cast<std::size_t>(j)];
      norm += level * level;
      out[(j / 4 * kBlock + p) * 4 + j % 4] = static_cast<std::uint8_t>(level + 128);
    }
    norms_[static_cast<std::size_t>(first + p)] = norm;
  }
  return largest;
}

// The points' levels are 128 too high for the product: by 128 times the sum of the query's.
template <class T>
typename ByteScan<T>::Queries ByteScan<T>::prepare(std::int64_t count, const std::function<const T*(std::int64_t)>& row) const {
  const std::int64_t d = points_.cols;
  Queries q;
  q.levels.assign(static_cast<std::size_t>(count * words_ * 4), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int8_t* const levels = q.levels.data() + i * words_ * 4;
    const double rest = round_row(row(i), d, level_.middle, level_.step, levels);
    std::int64_t sum = 0, norm = 0;
    for (std::int64_t j = 0; j < d; ++j) sum += levels[j], norm += levels[j] * levels[j];
    q.offsets.push_back(norm + 256 * sum);
    const double hidden = 2 * (rest + largest_rest_) / level_.step;
    q.slack.push_back(is_whole_ && hidden == 0 ? 0 : hidden + kRounding);
  }
  return q;
}

template <class T>
std::vector<ByteShortlist> ByteScan<T>::shortlist(const Queries& queries, int k) const {
  const auto n = static_cast<std::int64_t>(queries.offsets.size()), blocks = static_cast<std::int64_t>(norms_.size()) / kBlock;
  std::vector<ByteShortlist> lists;
  for (std::int64_t i = 0; i < n; ++i) lists.emplace_back(k, points_.rows);
  std::int32_t scores[kByteRows][kBlock], limits[kByteRows];
  std::uint64_t hits[kByteRows];
  for (std::int64_t block = 0; block < blocks; ++block) {
    check_job_stop();
    for (std::int64_t first = 0; first < n; first += kByteRows) {
      const std::int64_t rows = std::min(kByteRows, n - first);
      for (std::int64_t m = 0; m < rows; ++m) limits[m] = lists[static_cast<std::size_t>(first + m)].limit;
      score_rows(rows, levels_.data() + block * kBlock * words_ * 4, words_, queries.levels.data() + first * words_ * 4,
                 norms_.data() + block * kBlock, limits, scores, hits);
      for (std::int64_t m = 0; m < rows; ++m) {
        if (!hits[m]) continue;
        const auto i = static_cast<std::size_t>(first + m);
        ByteShortlist& list = lists[i];
        for (std::uint64_t left = hits[m]; left; left &= left - 1) {
          const int p = __builtin_ctzll(left);
          list.add(scores[m][p], static_cast<std::int32_t>(block * kBlock + p));
        }
        if (list.is_long()) list.prune(queries.offsets[i], queries.slack[i]);
      }
    }
  }
  for (std::size_t i = 0; i < lists.size(); ++i) lists[i].prune(queries.offsets[i], queries.slack[i]);
  return lists;
}

template <class T>
bool ByteScan<T>::is_useful(MatrixView<const T> queries, int k) const {
  const MatrixView<const T> some = queries.row_range(0, std::clamp<std::int64_t>(queries.rows / 8, 1, kSampled));
  std::int64_t listed = 0;
  for (const ByteShortlist& list :
       shortlist(prepare(some.rows, [&](std::int64_t i) { return raw(some) + i * some.stride; }), k))
    listed += list.given_up ? points_.rows : static_cast<std::int64_t>(list.points.size());
  return listed <= some.rows * (points_.rows / kUsefulShare + 4 * std::int64_t{k});
}

template <class T>
std::vector<std::int64_t> ByteScan<T>::nearest(MatrixView<const T> queries, int k, MatrixView<std::int32_t> indices,
                                               MatrixView<T> squared) const {
  std::vector<std::vector<std::int64_t>> left(static_cast<std::size_t>(tiles_of(queries.rows, kQueryTile)));
  for_tiles(queries.rows, kQueryTile, queries.rows * points_.size() / 64,
            [&](std::int64_t tile, std::int64_t begin, std::int64_t end) {
              const Queries prepared =
                  prepare(end - begin, [&](std::int64_t i) { return raw(queries) + (begin + i) * queries.stride; });
              const std::vector<ByteShortlist> lists = shortlist(prepared, k);
              NearestOfListed<T> nearest(points_);
              for (std::int64_t i = begin; i < end; ++i) {
                const auto in_tile = static_cast<std::size_t>(i - begin);
                const ByteShortlist& list = lists[in_tile];
                if (list.given_up) left[static_cast<std::size_t>(tile)].push_back(i);
                else if (prepared.slack[in_tile] == 0)
                  nearest.write_scored(list, prepared.offsets[in_tile], k, i, indices, squared);
                else nearest.write(raw(queries) + i * queries.stride, list.points, k, i, indices, squared);
              }
            });
  std::vector<std::int64_t> all;
  for (const auto& some : left) all.insert(all.end(), some.begin(), some.end());
  return all;
}

template class ByteScan<float>;
template class ByteScan<double>;

}   // namespace kedge::engine
