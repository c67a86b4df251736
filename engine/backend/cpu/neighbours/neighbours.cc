// Nearest neighbours on the CPU. Scores of a tile of queries against a tile of points come from one matrix product and
// are filtered at once into a shortlist per query, as wide as the rounding bound requires; the shortlist is ranked
// exactly. Scores are in float first, also of double rows, and in double for the queries whose points float does not
// separate.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/linear/blas.h"
#include "engine/backend/cpu/neighbours/left_over.h"
#include "engine/backend/cpu/neighbours/neighbour_groups.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/larger_or_nan.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kQueryTile = 256, kPointTile = 512, kChunk = 64, kFirst = 128;
constexpr std::int64_t kRankNs = 2000;      // the rest of a query's cost, in addition to its scores
constexpr std::size_t kMostListed = 8192;   // a longer shortlist costs more than the exact search

struct Neighbour {
  double distance;
  std::int32_t index;
  friend auto operator<=>(const Neighbour&, const Neighbour&) = default;
};

template <class T>
struct Scored {
  T score;
  std::int32_t index;
};

template <class T>
KEDGE_CLONES double exact_distance(const T* a, const T* b, std::int64_t d) {
  return lane_sum(d, [=](std::int64_t j) { return squared_difference(a[j], b[j]); });
}

// out = row - centre; returns the squared norm of what was stored.
template <class T, class S>
KEDGE_CLONES double centre_row(const T* row, const T* centre, std::int64_t d, S* __restrict out) {
  for (std::int64_t j = 0; j < d; ++j) out[j] = static_cast<S>(row[j] - centre[j]);
  return lane_sum(d, [=](std::int64_t j) { return static_cast<double>(out[j]) * static_cast<double>(out[j]); });
}

// Writes the positions j with dots[j] + norms[j] <= limit to hits; returns how many. Nearly every chunk has none.
template <class T>
KEDGE_CLONES int find_below(const T* dots, const T* norms, T limit, std::int64_t n, std::int32_t* hits) {
  int count = 0;
  for (std::int64_t begin = 0; begin < n; begin += kChunk) {
    const std::int64_t size = std::min(kChunk, n - begin);
    int any = 0;
    for (std::int64_t j = 0; j < size; ++j) any |= dots[begin + j] + norms[begin + j] <= limit;
    if (!any) continue;
    for (std::int64_t j = begin; j < begin + size; ++j) {
      if (dots[j] + norms[j] <= limit) hits[count++] = static_cast<std::int32_t>(j);
    }
  }
  return count;
}

// The points that may be among the k nearest of one query, given that scores are within `error` of the truth.
template <class T>
class Shortlist {
 public:
  void reset(int k, T error) {
    k_ = static_cast<std::size_t>(k), error_ = error, capacity_ = std::max(2 * k_, k_ + 96);
    list_.clear();
    given_up_ = !std::isfinite(error);
    limit_ = given_up_ ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  }
  T limit() const { return limit_; }
  // A first limit from the first scores, or nearly all points of a tile would be listed. Uses up `scores`.
  void start(std::span<T> scores) {
    if (scores.size() < k_ || given_up_) return;
    std::ranges::nth_element(scores, scores.begin() + static_cast<std::ptrdiff_t>(k_ - 1));
    limit_ = scores[k_ - 1] + 2 * error_;
  }
  void add(T score, std::int32_t index) { list_.push_back({score, index}); }
  void prune_if_long() { if (list_.size() >= capacity_) prune(); }

  // k scores are at most the k-th, so k distances are at most k-th + error: a score above k-th + 2 error is out.
  void prune() {
    if (list_.size() < k_ || given_up_) return;
    const auto kth = list_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
    std::ranges::nth_element(list_, kth, {}, &Scored<T>::score);
    limit_ = kth->score + 2 * error_;
    std::erase_if(list_, [&](const Scored<T>& s) { return s.score > limit_; });
    if (2 * list_.size() > capacity_) capacity_ *= 2;   // many ties, or a bound that does not separate
    if (list_.size() > std::max(kMostListed, 4 * k_)) given_up_ = true, limit_ = -std::numeric_limits<T>::infinity();
  }
  // False if only an exact search can tell (too many candidates, or scores that overflowed).
  bool usable() const { return !given_up_ && list_.size() >= k_; }
  const std::vector<Scored<T>>& list() const { return list_; }

 private:
  std::size_t k_ = 0, capacity_ = 0;
  T error_ = 0, limit_ = 0;
  bool given_up_ = false;
  std::vector<Scored<T>> list_;
};

// Scores in S, float or T.
template <class T, class S>
struct Search {
  MatrixView<const T> queries, points;
  std::int64_t k;
  std::vector<T> centre;
  std::vector<S> centred, norms;   // of the points
  S largest_norm = 0;
  std::int64_t d() const { return points.cols; }
};

template <class T, class S>
void prepare(Search<T, S>& s) {
  const std::int64_t n = s.points.rows, d = s.d();
  const auto sums = tile_table_sums(n, d, kRowTile, d, [&](std::int64_t i, double* table) {
    for (std::int64_t j = 0; j < d; ++j) table[j] += static_cast<double>(raw(s.points)[i * s.points.stride + j]);
  });
  s.centre.resize(static_cast<std::size_t>(d));
  for (std::size_t j = 0; j < sums.size(); ++j) s.centre[j] = static_cast<T>(sums[j] / static_cast<double>(n));
  s.centred.resize(static_cast<std::size_t>(n * d));
  s.norms.resize(static_cast<std::size_t>(n));
  for_tiles(n, kRowTile, n * d, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      s.norms[static_cast<std::size_t>(i)] =
          static_cast<S>(centre_row(raw(s.points) + i * s.points.stride, s.centre.data(), d, s.centred.data() + i * d));
  });
  for (const S norm : s.norms) s.largest_norm = larger_or_nan(s.largest_norm, norm);
  s.largest_norm = std::sqrt(s.largest_norm);
}

struct Range {
  std::int64_t begin, end;
};

template <class T, class S>
void shortlist_points(const Search<T, S>& s, Range queries, Range points, std::vector<Shortlist<S>>& lists) {
  const std::int64_t d = s.d(), m = queries.end - queries.begin;
  std::vector<S> centred(static_cast<std::size_t>(m * d)), dots(static_cast<std::size_t>(m * kPointTile));
  std::vector<S> first(kPointTile);
  std::vector<std::int32_t> hits(kPointTile);
  for (std::int64_t i = 0; i < m; ++i) {
    const T* const row = raw(s.queries) + (queries.begin + i) * s.queries.stride;
    const S norm = static_cast<S>(std::sqrt(centre_row(row, s.centre.data(), d, centred.data() + i * d)));
    lists[static_cast<std::size_t>(i)].reset(static_cast<int>(std::min(s.k, points.end - points.begin)), score_error(norm, s.largest_norm, d));
  }
  for (std::int64_t p = points.begin; p < points.end; p += kPointTile) {
    check_job_stop();
    const std::int64_t n = std::min(kPointTile, points.end - p);
    blas::gemm(Transpose::kNo, Transpose::kYes, m, n, d, S{-2}, centred.data(), d, s.centred.data() + p * d, d, S{0}, dots.data(), n);
    for (std::int64_t i = 0; i < m; ++i) {
      Shortlist<S>& list = lists[static_cast<std::size_t>(i)];
      const S *const row = dots.data() + i * n, *const norms = s.norms.data() + p;
      if (p == points.begin) {
        const std::int64_t few = std::min(n, std::max(kFirst, 4 * s.k));
        for (std::int64_t j = 0; j < few; ++j) first[static_cast<std::size_t>(j)] = row[j] + norms[j];
        list.start(std::span(first).first(static_cast<std::size_t>(few)));
      }
      const int found = find_below(row, norms, list.limit(), n, hits.data());
      for (int h = 0; h < found; ++h) list.add(row[hits[static_cast<std::size_t>(h)]] + norms[hits[static_cast<std::size_t>(h)]],
                                               static_cast<std::int32_t>(p) + hits[static_cast<std::size_t>(h)]);
      list.prune_if_long();
    }
  }
}

// The exact k nearest of one query within a range of points, from its shortlist where that is enough. Otherwise none,
// if S is not T.
template <class T, class S>
std::vector<Neighbour> rank(const Search<T, S>& s, std::int64_t query, Range points, Shortlist<S>& list) {
  const T* const q = raw(s.queries) + query * s.queries.stride;
  const auto measure = [&](std::int32_t p) {
    return Neighbour{exact_distance(q, raw(s.points) + p * s.points.stride, s.d()), p};
  };
  std::vector<Neighbour> found;
  list.prune();
  if (list.usable()) {
    for (const Scored<S>& candidate : list.list()) found.push_back(measure(candidate.index));
  } else if (!std::is_same_v<T, S>) {
    return {};
  } else {
    for (std::int64_t p = points.begin; p < points.end; ++p) {
      if (p % kPointTile == 0) check_job_stop();
      found.push_back(measure(static_cast<std::int32_t>(p)));
    }
  }
  const auto keep = static_cast<std::ptrdiff_t>(std::min<std::int64_t>(s.k, points.end - points.begin));
  std::partial_sort(found.begin(), found.begin() + keep, found.end());
  found.resize(static_cast<std::size_t>(keep));
  return found;
}

// How the work is cut. It may depend on the threads: the k nearest do not depend on the cut.
struct Cut {
  std::int64_t query_tile, query_tiles, point_range, point_ranges;
};
Cut cut(std::int64_t queries, std::int64_t points) {
  const std::int64_t wanted = 3 * std::int64_t{omp_get_max_threads()};
  Cut c{};
  c.query_tile = std::clamp<std::int64_t>(tiles_of(queries, wanted), 16, kQueryTile);
  c.query_tiles = tiles_of(queries, c.query_tile);
  const std::int64_t ranges = std::clamp<std::int64_t>(tiles_of(wanted, c.query_tiles), 1, tiles_of(points, 4 * kPointTile));
  c.point_range = c.query_tiles >= wanted ? points : tiles_of(points, ranges);
  c.point_ranges = tiles_of(points, c.point_range);
  return c;
}

// Answers all queries except those that it returns, whose points S does not separate.
template <class S, class T>
std::vector<std::int64_t> search_in(MatrixView<const T> queries, MatrixView<const T> points, int k, MatrixView<std::int32_t> indices,
                                    MatrixView<T> squared) {
  Search<T, S> search{queries, points, k, {}, {}, {}};
  prepare(search);
  const Cut c = cut(queries.rows, points.rows);
  std::vector<std::vector<Neighbour>> found(static_cast<std::size_t>(queries.rows * c.point_ranges));
  for_tiles(c.query_tiles * c.point_ranges, 1, queries.rows * (points.size() / 8 + kRankNs), [&](std::int64_t task, std::int64_t, std::int64_t) {
    const std::int64_t q = task % c.query_tiles * c.query_tile, r = task / c.query_tiles;
    const Range rows{q, std::min(queries.rows, q + c.query_tile)};
    const Range range{r * c.point_range, std::min(points.rows, (r + 1) * c.point_range)};
    std::vector<Shortlist<S>> lists(static_cast<std::size_t>(rows.end - rows.begin));
    shortlist_points(search, rows, range, lists);
    for (std::int64_t i = rows.begin; i < rows.end; ++i)
      found[static_cast<std::size_t>(i * c.point_ranges + r)] = rank(search, i, range, lists[static_cast<std::size_t>(i - rows.begin)]);
  });
  const auto is_answered = [&](std::int64_t i) {
    const auto first = found.begin() + i * c.point_ranges;
    return std::none_of(first, first + c.point_ranges, [](const auto& some) { return some.empty(); });
  };
  std::vector<std::int64_t> left;
  for (std::int64_t i = 0; i < queries.rows; ++i)
    if (!is_answered(i)) left.push_back(i);
  for_tiles(queries.rows, kRowTile, queries.rows * k * c.point_ranges * 8, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (!is_answered(i)) continue;
      auto& best = found[static_cast<std::size_t>(i * c.point_ranges)];
      for (std::int64_t r = 1; r < c.point_ranges; ++r) {
        const auto& more = found[static_cast<std::size_t>(i * c.point_ranges + r)];
        best.insert(best.end(), more.begin(), more.end());
      }
      std::ranges::sort(best);
      for (int j = 0; j < k; ++j) {
        raw(indices)[i * indices.stride + j] = best[static_cast<std::size_t>(j)].index;
        raw(squared)[i * squared.stride + j] = static_cast<T>(best[static_cast<std::size_t>(j)].distance);
      }
    }
  });
  return left;
}

template <class T>
class CpuNeighbours final : public NeighbourOps<T> {
 public:
  void nearest(MatrixView<const T> queries, MatrixView<const T> points, int k, MatrixView<std::int32_t> indices,
               MatrixView<T> squared) override {
    require(k >= 1 && k <= std::min<std::int64_t>(points.rows, 1024), schema::ErrorCode::kInvalidValue,
            "nearest: k is {}, must be 1 to {}", k, std::min<std::int64_t>(points.rows, 1024));
    if (queries.rows == 0) return;
    answer_left_over(queries, search_in<float>(queries, points, k, indices, squared), indices, squared,
                     [&](MatrixView<const T> some, MatrixView<std::int32_t> i, MatrixView<T> s) {
                       search_in<T>(some, points, k, i, s);
                     });
  }

  bool nearest_of_others(MatrixView<const T> X, std::span<const std::int32_t> groups, int k,
                         const std::function<void()>& pause, MatrixView<std::int32_t> indices,
                         MatrixView<T> squared) override {
    return engine::nearest_of_others(*this, X, groups, k, pause, indices, squared);
  }

  void vote(MatrixView<const std::int32_t> indices, MatrixView<const T> squared, VectorView<const std::int32_t> y,
            bool by_distance, MatrixView<T> proba) override {
    for_tiles(indices.rows, kRowTile, indices.size() * 4, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        vote_row(raw(indices) + i * indices.stride, raw(squared) + i * squared.stride, indices.cols, raw(y),
                 by_distance, raw(proba) + i * proba.stride, proba.cols);
    });
  }
};

}   // namespace

template <class T>
std::unique_ptr<NeighbourOps<T>> make_cpu_neighbours() {
  return std::make_unique<CpuNeighbours<T>>();
}
template std::unique_ptr<NeighbourOps<float>> make_cpu_neighbours<float>();
template std::unique_ptr<NeighbourOps<double>> make_cpu_neighbours<double>();

}  // namespace kedge::engine
