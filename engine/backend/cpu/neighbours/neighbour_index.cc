// Neighbour searches on the CPU: walks of a k-d tree, or scans.
#include "engine/backend/cpu/neighbours/neighbour_index.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/cpu/neighbours/density.h"
#include "engine/backend/cpu/neighbours/left_over.h"
#include "engine/backend/cpu/neighbours/pair_scan.h"
#include "engine/backend/cpu/neighbours/row_distance.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/cpu/wide/byte_scan.h"
#include "engine/backend/host/kd_tree.h"
#include "engine/backend/raw.h"
#include "engine/core/demand_memory.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kSoon = 4;   // queries from one to that which is fetched meanwhile
constexpr std::int64_t kQueryTile = 32, kPointTile = 512;
constexpr std::int64_t kFewestByteQueries = 32;   // to be worth the rounding of the points
constexpr std::int64_t kWalkNs = 2000;   // about what a walk takes
constexpr std::int64_t kFewestDealtQueries = 4096;   // a few blocks, which ranks divide

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <Metric M, class T>
KEDGE_CLONES void walk_nearest(const KdView<T>& tree, const T* q, double power, NearestVisitor& visitor) {
  kd_walk<M>(tree, q, power, visitor);
}
template <Metric M, class T>
KEDGE_CLONES std::int64_t walk_count(const KdView<T>& tree, const T* q, double power, double limit) {
  CountVisitor visitor{limit, tree.n, std::numeric_limits<std::int64_t>::max()};
  kd_walk<M>(tree, q, power, visitor);
  return visitor.count;
}
template <Metric M, class T>
KEDGE_CLONES void walk_list(const KdView<T>& tree, const T* q, double power, double limit, std::int32_t* indices, T* reduced) {
  EachVisitor visitor{limit, [&](std::int32_t index, double distance) { *indices++ = index, *reduced++ = static_cast<T>(distance); }};
  kd_walk<M>(tree, q, power, visitor);
}
template <Metric M, class T>
KEDGE_CLONES void scan_rows(const T* q, MatrixView<const T> points, double power, double* out) {
  for (std::int64_t p = 0; p < points.rows; ++p)
    out[p] = row_distance<M>(q, raw(points) + p * points.stride, points.cols, power);
}

template <class T>
void put_found(const NearestVisitor& found, std::int64_t i, MatrixView<std::int32_t> indices, MatrixView<T> reduced) {
  for (int j = 0; j < found.k; ++j) {
    raw(indices)[i * indices.stride + j] = found.indices[j];
    raw(reduced)[i * reduced.stride + j] = static_cast<T>(found.distances[j]);
  }
}

// Numbers of the queries, those that lie in the same part of the points' box one after the other: a walk then finds in the cache what the one
// before it has read. The parts are cells of a grid in Morton's order (Samet, Foundations of Multidimensional Data Structures, 2006, 2.1).
template <class T>
std::vector<std::int32_t> in_order_of_place(MatrixView<const T> queries, const KdView<T>& tree) {
  constexpr int kCodeBits = 15;
  static_assert(kKdColumns <= kCodeBits);
  const T *const low = tree.boxes, *const high = low + tree.d;
  const int bits = kCodeBits / static_cast<int>(tree.d);
  const double cells = static_cast<double>(1 << bits);
  std::array<double, kKdColumns> scale;
  for (std::int64_t j = 0; j < tree.d; ++j) {
    const double width = static_cast<double>(high[j]) - static_cast<double>(low[j]);
    scale[static_cast<std::size_t>(j)] = width > 0 ? cells / width : 0;
  }
  std::vector<std::uint16_t> codes(static_cast<std::size_t>(queries.rows));
  for_tiles(queries.rows, 1024, queries.rows * 40, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* q = raw(queries) + i * queries.stride;
      unsigned code = 0;
      for (std::int64_t j = 0; j < tree.d; ++j) {
        const double at = (static_cast<double>(q[j]) - static_cast<double>(low[j])) * scale[static_cast<std::size_t>(j)];
        const auto cell = static_cast<unsigned>(at > 0 ? std::min(at, cells - 1) : 0.0);   // 0 for what is no number, too
        for (int b = 0; b < bits; ++b) code |= (cell >> b & 1) << (b * static_cast<int>(tree.d) + static_cast<int>(j));
      }
      codes[static_cast<std::size_t>(i)] = static_cast<std::uint16_t>(code);
    }
  });
  std::vector<std::int32_t> place((1 << kCodeBits) + 1), order(codes.size());
  for (const std::uint16_t code : codes) ++place[code + 1u];
  std::partial_sum(place.begin(), place.end(), place.begin());
  for (std::size_t i = 0; i < codes.size(); ++i) order[static_cast<std::size_t>(place[codes[i]]++)] = static_cast<std::int32_t>(i);
  return order;
}

template <class T>
class CpuNeighbourIndex final : public NeighbourIndex<T> {
 public:
  CpuNeighbourIndex(NeighbourOps<T>& ops, MatrixView<const T> points, const Distance& distance)
      : ops_(ops), points_(points), distance_(distance) {
    if (!DemandMemory::any_holds(raw(points))) make_tree();
  }

  void nearest(MatrixView<const T> queries, int k, MatrixView<std::int32_t> indices, MatrixView<T> reduced) override {
    require(k >= 1 && k <= points_.rows, schema::ErrorCode::kInvalidValue, "nearest: k is {}, must be 1 to {}", k, points_.rows);
    Ranks* const ranks = indices.stride == k && reduced.stride == k ? ranks_of_queries(queries.rows) : nullptr;
    if (!ranks) return find_nearest(queries, k, indices, reduced);
    const Part own = own_rows(ranks, queries.rows);
    const auto find_own = [&] {
      find_nearest(queries.row_range(own.begin, own.size()), k, indices.row_range(own.begin, own.size()),
                   reduced.row_range(own.begin, own.size()));
    };
    const auto of_rank = [&](int r) {
      const Part part = rows_of_rank(r, ranks->size(), queries.rows);
      return Part{part.begin * k, part.end * k};
    };
    fill_on_ranks(*ranks, find_own, of_rank, raw(indices), raw(reduced));
  }

  void count_within(MatrixView<const T> queries, double limit, VectorView<std::int32_t> counts) override {
    Ranks* const ranks = ranks_of_queries(queries.rows);
    if (!ranks) return count(queries, limit, raw(counts));
    const Part own = own_rows(ranks, queries.rows);
    fill_on_ranks(
        *ranks, [&] { count(queries.row_range(own.begin, own.size()), limit, raw(counts) + own.begin); },
        [&](int r) { return rows_of_rank(r, ranks->size(), queries.rows); }, raw(counts));
  }

  void list_within(MatrixView<const T> queries, double limit, VectorView<const std::int64_t> offsets,
                   VectorView<std::int32_t> indices, VectorView<T> reduced) override {
    Ranks* const ranks = ranks_of_queries(queries.rows);
    const auto list_part = [&](Part part) {
      list(queries.row_range(part.begin, part.size()), limit, raw(offsets) + part.begin, raw(indices), raw(reduced));
    };
    if (!ranks) return list_part({0, queries.rows});
    const auto of_rank = [&](int r) {
      const Part part = rows_of_rank(r, ranks->size(), queries.rows);
      const auto offset = [&](std::int64_t i) { return i < queries.rows ? raw(offsets)[i] : indices.size; };
      return Part{offset(part.begin), offset(part.end)};
    };
    fill_on_ranks(*ranks, [&] { list_part(own_rows(ranks, queries.rows)); }, of_rank, raw(indices), raw(reduced));
  }

  void density_components(double limit, double least, VectorView<const double> weights, VectorView<std::uint8_t> core,
                          VectorView<std::int32_t> component) override {
    const DensityJob job{limit, least, weights, core, component};
    Ranks* const with_own_rows = DemandMemory::any_holds(raw(points_)) ? ranks_of_rows(points_.rows) : nullptr;
    if (with_own_rows && density_of_own_rows(*with_own_rows, points_, distance_, job)) return;
    make_tree();
    if (tree_) tree_density(tree_->view(), points_, distance_, job);
    else scan_density(scan(), job);
  }

 private:
  // The ranks that divide a search among all points: what is found does not depend on how they do.
  Ranks* ranks_of_queries(std::int64_t n) const {
    return n >= kFewestDealtQueries ? ranks_of_rows(points_.rows) : nullptr;
  }

  // Reads all points: where a rank has its own rows of them, not before it has to.
  void make_tree() {
    if (!tree_ && points_.cols <= kKdColumns && points_.rows >= kKdFewestPoints) tree_.emplace(points_);
  }

  void find_nearest(MatrixView<const T> queries, int k, MatrixView<std::int32_t> indices, MatrixView<T> reduced) {
    if (queries.rows == 0) return;
    make_tree();
    if (!tree_ && distance_.metric == Metric::kEuclidean) return scan_euclidean(queries, k, indices, reduced);
    const std::vector<std::int32_t> order = tree_ ? in_order_of_place(queries, tree_->view()) : std::vector<std::int32_t>();
    with_metric(distance_.metric, [&]<Metric M>() {
      const std::int64_t cost = tree_ ? kWalkNs : points_.size();
      for_tiles(queries.rows, kQueryTile, queries.rows * cost, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
        std::vector<double> distances(static_cast<std::size_t>(k));
        std::vector<std::int32_t> found(static_cast<std::size_t>(k));
        if (!tree_) return scan_nearest<M>(queries.row_range(begin, end - begin), k, indices.row_range(begin, end - begin), reduced.row_range(begin, end - begin));
        for (std::int64_t at = begin; at < end; ++at) {
          const std::int64_t i = order[static_cast<std::size_t>(at)], soon = order[static_cast<std::size_t>(std::min(at + kSoon, queries.rows - 1))];
          __builtin_prefetch(raw(queries) + soon * queries.stride);
          NearestVisitor visitor{distances.data(), found.data(), k, 0, kInfinity};
          walk_nearest<M>(tree_->view(), raw(queries) + i * queries.stride, distance_.power, visitor);
          put_found(visitor, i, indices, reduced);
        }
      });
    });
  }

  void count(MatrixView<const T> queries, double limit, std::int32_t* counts) {
    make_tree();
    if (!tree_) {
      return scan_within(queries, limit, false, [&](std::int64_t first, const auto& hits, std::int64_t rows) {
        std::fill_n(counts + first, rows, 0);
        for (const auto& hit : hits) ++counts[first + hit.query];
      });
    }
    with_metric(distance_.metric, [&]<Metric M>() {
      for_tiles(queries.rows, kQueryTile, queries.rows * kWalkNs, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          counts[i] = static_cast<std::int32_t>(
              walk_count<M>(tree_->view(), raw(queries) + i * queries.stride, distance_.power, limit));
      });
    });
  }

  void list(MatrixView<const T> queries, double limit, const std::int64_t* offsets, std::int32_t* indices, T* reduced) {
    make_tree();
    if (!tree_) {
      return scan_within(queries, limit, true, [&](std::int64_t first, const auto& hits, std::int64_t rows) {
        std::vector<std::int64_t> at(offsets + first, offsets + first + rows);
        for (const auto& hit : hits) {
          const std::int64_t slot = at[static_cast<std::size_t>(hit.query)]++;
          indices[slot] = hit.point, reduced[slot] = static_cast<T>(hit.reduced);
        }
      });
    }
    with_metric(distance_.metric, [&]<Metric M>() {
      for_tiles(queries.rows, kQueryTile, queries.rows * kWalkNs, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          walk_list<M>(tree_->view(), raw(queries) + i * queries.stride, distance_.power, limit, indices + offsets[i],
                       reduced + offsets[i]);
      });
    });
  }

  // By bytes where they separate the points, otherwise by products in T.
  void scan_euclidean(MatrixView<const T> queries, int k, MatrixView<std::int32_t> indices, MatrixView<T> reduced) {
    if (!tried_bytes_ && queries.rows >= kFewestByteQueries) {
      tried_bytes_ = true;
      bytes_ = ByteScan<T>::make(points_);
      if (bytes_ && !bytes_->is_useful(queries, k)) bytes_.reset();
    }
    if (!bytes_) return ops_.nearest(queries, points_, k, indices, reduced);
    answer_left_over(queries, bytes_->nearest(queries, k, indices, reduced), indices, reduced,
                     [&](MatrixView<const T> some, MatrixView<std::int32_t> i, MatrixView<T> s) { ops_.nearest(some, points_, k, i, s); });
  }

  const PairScan<T>& scan() {
    if (!scan_) scan_.emplace(points_, distance_);
    return *scan_;
  }

  template <Metric M>
  void scan_nearest(MatrixView<const T> queries, int k, MatrixView<std::int32_t> indices, MatrixView<T> reduced) const {
    std::vector<double> distances(static_cast<std::size_t>(queries.rows * k)), scanned(kPointTile);
    std::vector<std::int32_t> found(distances.size());
    std::vector<NearestVisitor> visitors;
    for (std::int64_t i = 0; i < queries.rows; ++i) visitors.push_back({distances.data() + i * k, found.data() + i * k, k, 0, kInfinity});
    for (std::int64_t first = 0; first < points_.rows; first += kPointTile) {
      const std::int64_t count = std::min(kPointTile, points_.rows - first);
      check_job_stop();
      for (std::int64_t i = 0; i < queries.rows; ++i) {
        scan_rows<M>(raw(queries) + i * queries.stride, points_.row_range(first, count), distance_.power,
                     scanned.data());
        NearestVisitor& visitor = visitors[static_cast<std::size_t>(i)];
        for (std::int64_t p = 0; p < count; ++p)
          if (scanned[static_cast<std::size_t>(p)] <= visitor.limit()) visitor.add(scanned[static_cast<std::size_t>(p)], static_cast<std::int32_t>(first + p));
      }
    }
    for (std::int64_t i = 0; i < queries.rows; ++i) put_found(visitors[static_cast<std::size_t>(i)], i, indices, reduced);
  }

  // take(first query, hits, queries) for tiles of queries, on all threads.
  template <class Take>
  void scan_within(MatrixView<const T> queries, double limit, bool with_distance, Take&& take) {
    const PairScan<T>& pairs = scan();
    constexpr std::int64_t kTile = 128;
    for_tiles(queries.rows, kTile, queries.rows * points_.size() / 8, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      const auto prepared = pairs.prepare(queries.row_range(begin, end - begin));
      std::vector<typename PairScan<T>::Hit> hits;
      for (std::int64_t first = 0; first < points_.rows; first += kPointTile)
        pairs.find(prepared, first, std::min(kPointTile, points_.rows - first), limit, with_distance, hits);
      take(begin, hits, end - begin);
    });
  }

  NeighbourOps<T>& ops_;
  MatrixView<const T> points_;
  Distance distance_;
  std::optional<KdTree<T>> tree_;
  std::optional<PairScan<T>> scan_;   // made on first use
  std::unique_ptr<ByteScan<T>> bytes_;   // null where bytes do not help
  bool tried_bytes_ = false;
};

}  // namespace

template <class T>
std::unique_ptr<NeighbourIndex<T>> make_neighbour_index(NeighbourOps<T>& ops, MatrixView<const T> points,
                                                        const Distance& distance) {
  return std::make_unique<CpuNeighbourIndex<T>>(ops, points, distance);
}

template std::unique_ptr<NeighbourIndex<float>> make_neighbour_index(NeighbourOps<float>&, MatrixView<const float>,
                                                                     const Distance&);
template std::unique_ptr<NeighbourIndex<double>> make_neighbour_index(NeighbourOps<double>&, MatrixView<const double>,
                                                                      const Distance&);

}  // namespace kedge::engine
