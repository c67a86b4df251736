// Rows as bytes, their products by AVX-512 VNNI, and shortlists that hold every point that may be near.
#include "engine/backend/cpu/byte_scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/backend/cpu/rows.h"
#include "engine/backend/cpu/simd.h"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define KEDGE_BYTE_PRODUCTS 1
#include <immintrin.h>
#endif

namespace kedge::engine {
namespace {

constexpr std::int64_t kBlock = 64, kQueryRows = 6, kQueryTile = 48;
constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kSampled = 64;       // at most, queries that tell whether bytes are useful
constexpr std::int64_t kUsefulShare = 32;   // a list may have this part of the points
constexpr double kRounding = 1e-9;          // of sums in double, with much to spare

template <class T>
KEDGE_CLONES double exact_distance(const T* a, const T* b, std::int64_t d) {
  return lane_sum(d, [=](std::int64_t j) { return squared_difference(a[j], b[j]); });
}

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

template <class T>
KEDGE_CLONES void find_range(const T* row, std::int64_t d, T& low, T& high, double& sum) {
  T least = low, most = high;
  double total = 0;
  for (std::int64_t j = 0; j < d; ++j) {
    least = row[j] < least ? row[j] : least, most = row[j] > most ? row[j] : most;
    total += static_cast<double>(row[j]) * 0;   // NaN if one is not finite
  }
  low = least, high = most, sum += total;
}

// The k-th smallest of n >= k scores: bisects their range, counting in vectors.
KEDGE_CLONES std::int32_t kth_score(const std::int32_t* scores, std::int64_t n, std::int64_t k) {
  std::int32_t least = scores[0], most = scores[0];
  for (std::int64_t i = 1; i < n; ++i) least = scores[i] < least ? scores[i] : least, most = scores[i] > most ? scores[i] : most;
  std::int64_t below = std::int64_t{least} - 1, reached = most;   // by fewer than k, by k or more
  while (reached - below > 1) {
    const auto middle = static_cast<std::int32_t>(below + (reached - below) / 2);
    std::int32_t count = 0, last = least;
    for (std::int64_t i = 0; i < n; ++i) count += scores[i] <= middle;
    if (count == k) {
      for (std::int64_t i = 0; i < n; ++i) last = scores[i] <= middle && scores[i] > last ? scores[i] : last;
      return last;
    }
    (count < k ? below : reached) = middle;
  }
  return static_cast<std::int32_t>(reached);
}

// Keeps those with a score up to the limit, in their order; returns how many.
std::int64_t keep_near(std::int32_t* scores, std::int32_t* indices, std::int64_t n, std::int32_t limit) {
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int32_t score = scores[i];
    scores[kept] = score, indices[kept] = indices[i];
    kept += score <= limit;
  }
  return kept;
}

// ranks[i] = how many come before i, by distance and then by their place.
KEDGE_CLONES void rank_all(const double* __restrict distances, std::int64_t n, std::int64_t* __restrict ranks) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double own = distances[i];
    std::int64_t before = 0;
    for (std::int64_t j = 0; j < i; ++j) before += distances[j] <= own;
    for (std::int64_t j = i + 1; j < n; ++j) before += distances[j] < own;
    ranks[i] = before;
  }
}

using Found = std::vector<std::pair<double, std::int32_t>>;   // distances and points, in the order of the points

// Calls put(rank, point, distance) for the k nearest, of equal distances the first.
template <class Put>
void take_nearest(Found& found, std::int64_t k, const Put& put) {
  constexpr std::size_t kRanked = 160;   // comparing all pairs in vectors is faster than sorting most of a short list
  if (found.size() <= kRanked && found.size() < 4 * static_cast<std::size_t>(k)) {
    double distances[kRanked];
    std::int64_t ranks[kRanked];
    for (std::size_t i = 0; i < found.size(); ++i) distances[i] = found[i].first;
    rank_all(distances, static_cast<std::int64_t>(found.size()), ranks);
    for (std::size_t i = 0; i < found.size(); ++i)
      if (ranks[i] < k) put(ranks[i], found[i].second, found[i].first);
    return;
  }
  std::ranges::partial_sort(found, found.begin() + k);
  for (std::int64_t j = 0; j < k; ++j) put(j, found[static_cast<std::size_t>(j)].second, found[static_cast<std::size_t>(j)].first);
}

#ifdef KEDGE_BYTE_PRODUCTS
#define KEDGE_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni"), always_inline)) inline

struct Four {   // times 16 points
  __m512i a, b, c, d;
};

// In assembly, because gcc 12 copies every sum before its intrinsic and after it.
KEDGE_VNNI void add_products(__m512i points, __m512i query, __m512i& sum) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(points), "v"(query));
}

KEDGE_VNNI void add_products(const Four& points, const std::int8_t* query, Four& sums) {
  std::int32_t word;
  __builtin_memcpy(&word, query, 4);
  const __m512i all = _mm512_set1_epi32(word);
  add_products(points.a, all, sums.a), add_products(points.b, all, sums.b);
  add_products(points.c, all, sums.c), add_products(points.d, all, sums.d);
}

KEDGE_VNNI std::uint64_t put_scores(__m512i sum, const std::int32_t* norms, __m512i limit, std::int32_t* scores) {
  const __m512i score = _mm512_sub_epi32(_mm512_loadu_si512(norms), _mm512_add_epi32(sum, sum));
  _mm512_storeu_si512(scores, score);
  return _mm512_cmple_epi32_mask(score, limit);
}

KEDGE_VNNI std::uint64_t put_scores(const Four& sums, const std::int32_t* norms, std::int32_t limit, std::int32_t* scores) {
  const __m512i most = _mm512_set1_epi32(limit);
  return put_scores(sums.a, norms, most, scores) | put_scores(sums.b, norms + 16, most, scores + 16) << 16 |
         put_scores(sums.c, norms + 32, most, scores + 32) << 32 | put_scores(sums.d, norms + 48, most, scores + 48) << 48;
}

// Of M queries with 64 points: scores[m][p] = norms[p] - 2 * (query m times point p); bit p of a hit: that is at most limits[m].
template <int M>
__attribute__((target("avx512f,avx512bw,avx512vnni"))) void score_block(const std::uint8_t* block, std::int64_t words,
                                                                        const std::int8_t* queries, const std::int32_t* norms,
                                                                        const std::int32_t* limits,
                                                                        std::int32_t (*scores)[kBlock], std::uint64_t* hits) {
  const __m512i zero = _mm512_setzero_si512();
  Four s0{zero, zero, zero, zero}, s1 = s0, s2 = s0, s3 = s0, s4 = s0,
                                   s5 = s0;   // one by one: an array would not stay in registers
  const std::int64_t row = 4 * words;
  for (std::int64_t w = 0; w < words; ++w, block += 4 * kBlock, queries += 4) {
    const Four points{_mm512_loadu_si512(block), _mm512_loadu_si512(block + 64), _mm512_loadu_si512(block + 128),
                      _mm512_loadu_si512(block + 192)};
    add_products(points, queries, s0);
    if constexpr (M > 1) add_products(points, queries + row, s1);
    if constexpr (M > 2) add_products(points, queries + 2 * row, s2);
    if constexpr (M > 3) add_products(points, queries + 3 * row, s3);
    if constexpr (M > 4) add_products(points, queries + 4 * row, s4);
    if constexpr (M > 5) add_products(points, queries + 5 * row, s5);
  }
  hits[0] = put_scores(s0, norms, limits[0], scores[0]);
  if constexpr (M > 1) hits[1] = put_scores(s1, norms, limits[1], scores[1]);
  if constexpr (M > 2) hits[2] = put_scores(s2, norms, limits[2], scores[2]);
  if constexpr (M > 3) hits[3] = put_scores(s3, norms, limits[3], scores[3]);
  if constexpr (M > 4) hits[4] = put_scores(s4, norms, limits[4], scores[4]);
  if constexpr (M > 5) hits[5] = put_scores(s5, norms, limits[5], scores[5]);
}

void score_rows(std::int64_t rows, const std::uint8_t* block, std::int64_t words, const std::int8_t* queries,
                const std::int32_t* norms, const std::int32_t* limits, std::int32_t (*scores)[kBlock], std::uint64_t* hits) {
  constexpr decltype(&score_block<1>) kForRows[] = {score_block<1>, score_block<2>, score_block<3>,
                                                    score_block<4>, score_block<5>, score_block<6>};
  kForRows[rows - 1](block, words, queries, norms, limits, scores, hits);
}
#else
void score_rows(std::int64_t, const std::uint8_t*, std::int64_t, const std::int8_t*, const std::int32_t*, const std::int32_t*,
                std::int32_t (*)[kBlock], std::uint64_t*) {}
#endif

}   // namespace

bool has_byte_products() {
#ifdef KEDGE_BYTE_PRODUCTS
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

template <class T>
struct ByteScan<T>::Queries {
  std::vector<std::int8_t> levels;     // words of four columns
  std::vector<std::int64_t> offsets;   // score + offset = |q - q'|^2
  std::vector<double> slack;           // twice what rounding hides, in steps
};

// Points whose score is at most the limit, which falls as they come in.
template <class T>
struct ByteScan<T>::Shortlist {
  std::vector<std::int32_t> scores, points;   // in the order of the points
  std::size_t k = 0, capacity = 0, most = 0;
  std::int32_t limit = kNever - 1;
  bool given_up = false;

  void prune(std::int64_t offset, double slack) {
    if (points.size() < k || given_up) return;
    const auto n = static_cast<std::int64_t>(points.size());
    const std::int32_t kth = kth_score(scores.data(), n, static_cast<std::int64_t>(k));
    const double reach = (std::sqrt(static_cast<double>(kth + offset)) + slack) * (1 + kRounding);
    limit = static_cast<std::int32_t>(
        std::min(std::ceil(reach * reach) - static_cast<double>(offset), static_cast<double>(kNever - 1)));
    const auto kept = static_cast<std::size_t>(keep_near(scores.data(), points.data(), n, limit));
    scores.resize(kept), points.resize(kept);
    if (2 * kept > capacity) capacity *= 2;
    if (kept > most) given_up = true, limit = std::numeric_limits<std::int32_t>::min(), scores.clear(), points.clear();
  }
};

template <class T>
std::unique_ptr<ByteScan<T>> ByteScan<T>::make(MatrixView<const T> points) {
  const std::int64_t n = points.rows, d = points.cols;
  if (!has_byte_products() || d < kFewestColumns || d > kMostColumns || n < kFewestPoints) return nullptr;
  T low = points.data[0], high = low;
  double check = 0;
  for (std::int64_t i = 0; i < n; ++i) find_range(points.data + i * points.stride, d, low, high, check);
  const double step = (static_cast<double>(high) - static_cast<double>(low)) / 255;
  if (check != 0 || !(step > std::numeric_limits<double>::min()) || !std::isfinite(step)) return nullptr;
  std::unique_ptr<ByteScan> scan(new ByteScan(points));
  scan->level_ = {static_cast<double>(low) + 128 * step, step};
  scan->words_ = (d + 3) / 4;
  const std::int64_t blocks = tiles_of(n, kBlock);
  scan->levels_.assign(static_cast<std::size_t>(blocks * kBlock * scan->words_ * 4), 0);
  scan->norms_.assign(static_cast<std::size_t>(blocks * kBlock), kNever);
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
  std::vector<std::int8_t> row(static_cast<std::size_t>(d));
  std::uint8_t* const out = levels_.data() + first * words_ * 4;
  double largest = 0;
  for (std::int64_t p = 0; p < count; ++p) {
    largest =
        std::max(largest, round_row(points_.data + (first + p) * points_.stride, d, level_.middle, level_.step, row.data()));
    std::int32_t norm = 0;
    for (std::int64_t j = 0; j < d; ++j) {
      const std::int32_t level = row[static_cast<std::size_t>(j)];
      norm += level * level;
      out[(j / 4 * kBlock + p) * 4 + j % 4] = static_cast<std::uint8_t>(level + 128);
    }
    norms_[static_cast<std::size_t>(first + p)] = norm;
  }
  return largest;
}

// The points' levels are 128 too high for the product: by 128 times the sum of the query's.
template <class T>
typename ByteScan<T>::Queries ByteScan<T>::prepare(MatrixView<const T> rows) const {
  Queries q;
  q.levels.assign(static_cast<std::size_t>(rows.rows * words_ * 4), 0);
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    std::int8_t* const row = q.levels.data() + i * words_ * 4;
    const double rest = round_row(rows.data + i * rows.stride, rows.cols, level_.middle, level_.step, row);
    std::int64_t sum = 0, norm = 0;
    for (std::int64_t j = 0; j < rows.cols; ++j) sum += row[j], norm += row[j] * row[j];
    q.offsets.push_back(norm + 256 * sum);
    q.slack.push_back(2 * (rest + largest_rest_) / level_.step);
  }
  return q;
}

template <class T>
std::vector<typename ByteScan<T>::Shortlist> ByteScan<T>::shortlist(const Queries& queries, int k) const {
  const auto n = static_cast<std::int64_t>(queries.offsets.size()), blocks = static_cast<std::int64_t>(norms_.size()) / kBlock;
  std::vector<Shortlist> lists(static_cast<std::size_t>(n));
  for (Shortlist& list : lists) {
    list.k = static_cast<std::size_t>(k), list.capacity = std::max(2 * list.k, list.k + 64);
    list.most = std::max<std::size_t>(4 * list.k, static_cast<std::size_t>(points_.rows / 8));
    list.scores.reserve(list.capacity + kBlock), list.points.reserve(list.capacity + kBlock);
  }
  std::int32_t scores[kQueryRows][kBlock], limits[kQueryRows];
  std::uint64_t hits[kQueryRows];
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (std::int64_t first = 0; first < n; first += kQueryRows) {
      const std::int64_t rows = std::min(kQueryRows, n - first);
      for (std::int64_t m = 0; m < rows; ++m) limits[m] = lists[static_cast<std::size_t>(first + m)].limit;
      score_rows(rows, levels_.data() + block * kBlock * words_ * 4, words_, queries.levels.data() + first * words_ * 4,
                 norms_.data() + block * kBlock, limits, scores, hits);
      for (std::int64_t m = 0; m < rows; ++m) {
        if (!hits[m]) continue;
        const auto i = static_cast<std::size_t>(first + m);
        Shortlist& list = lists[i];
        for (std::uint64_t left = hits[m]; left; left &= left - 1) {
          const int p = __builtin_ctzll(left);
          list.scores.push_back(scores[m][p]), list.points.push_back(static_cast<std::int32_t>(block * kBlock + p));
        }
        if (list.points.size() >= list.capacity) list.prune(queries.offsets[i], queries.slack[i]);
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
  for (const Shortlist& list : shortlist(prepare(some), k))
    listed += list.given_up ? points_.rows : static_cast<std::int64_t>(list.points.size());
  return listed <= some.rows * (points_.rows / kUsefulShare + 4 * std::int64_t{k});
}

template <class T>
std::vector<std::int64_t> ByteScan<T>::nearest(MatrixView<const T> queries, int k, MatrixView<std::int32_t> indices,
                                               MatrixView<T> squared) const {
  const std::int64_t d = points_.cols;
  std::vector<std::vector<std::int64_t>> left(static_cast<std::size_t>(tiles_of(queries.rows, kQueryTile)));
  for_tiles(queries.rows, kQueryTile, queries.rows * points_.size() / 64,
            [&](std::int64_t tile, std::int64_t begin, std::int64_t end) {
              const std::vector<Shortlist> lists = shortlist(prepare(queries.row_range(begin, end - begin)), k);
              Found found;
              for (std::int64_t i = begin; i < end; ++i) {
                const Shortlist& list = lists[static_cast<std::size_t>(i - begin)];
                if (list.given_up) {
                  left[static_cast<std::size_t>(tile)].push_back(i);
                  continue;
                }
                found.clear();
                for (const std::int32_t p : list.points)
                  found.emplace_back(exact_distance(queries.data + i * queries.stride, points_.data + p * points_.stride, d), p);
                take_nearest(found, k, [&](std::int64_t j, std::int32_t point, double distance) {
                  indices.data[i * indices.stride + j] = point, squared.data[i * squared.stride + j] = static_cast<T>(distance);
                });
              }
            });
  std::vector<std::int64_t> all;
  for (const auto& some : left) all.insert(all.end(), some.begin(), some.end());
  return all;
}

template class ByteScan<float>;
template class ByteScan<double>;

}   // namespace kedge::engine
