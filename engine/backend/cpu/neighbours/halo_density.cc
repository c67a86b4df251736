// DBSCAN's components by cells of space, and the halos around them.
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/backend/cpu/neighbours/density_sets.h"
#include "engine/backend/cpu/neighbours/own_density.h"
#include "engine/backend/cpu/neighbours/space_cells.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/host/kd_tree.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kSample = 8192;                         // rows, of all ranks
constexpr std::int64_t kMovedBytes = std::int64_t{16} << 20;   // that a rank moves at once
constexpr std::int64_t kTile = 256, kWalkNs = 2000;

// Points of this rank's cell, then those of its halo.
template <class T>
struct CellPoints {
  std::vector<std::int32_t> rows;   // of the table
  std::vector<T> values;
  std::int64_t own = 0;   // of the cell

  const T* at(std::int64_t i, std::int64_t d) const { return values.data() + i * d; }
};

// Which cells each row of a rank goes to: its own, and those whose points' box it is near.
template <class T>
class Moves {
 public:
  Moves(Ranks& ranks, MatrixView<const T> points, const Distance& distance, double limit)
      : ranks_(ranks),
        points_(points),
        distance_(distance),
        limit_(limit),
        d_(points.cols),
        own_(own_rows(&ranks, points.rows)) {
    const std::int64_t stride = std::max<std::int64_t>(1, points.rows / kSample);
    const std::vector<T> sample = parts_of_ranks<T>(&ranks, [&] {
      std::vector<T> mine;
      for (std::int64_t i = own_.begin; i < own_.end; ++i)
        if (i % stride == 0) mine.insert(mine.end(), row(i), row(i) + d_);
      return mine;
    });
    const SpaceCells<T> cells(sample, d_, ranks.size());
    find_boxes(cells);
    count();
  }

  // Points that a rank gets.
  std::int64_t own_of(int rank) const { return totals_[static_cast<std::size_t>(rank)]; }
  std::int64_t halo_of(int rank) const { return totals_[static_cast<std::size_t>(ranks_.size() + rank)]; }

  CellPoints<T> move() {
    CellPoints<T> got;
    const int me = ranks_.rank();
    got.own = own_of(me);
    const auto n = static_cast<std::size_t>(got.own + halo_of(me)), d = static_cast<std::size_t>(d_);
    got.rows.resize(n), got.values.resize(n * d);
    std::size_t own_at = 0, halo_at = static_cast<std::size_t>(got.own);
    const std::int64_t row_bytes = d_ * static_cast<std::int64_t>(sizeof(T)) + 4;
    const std::int64_t at_once = std::max<std::int64_t>(1, kMovedBytes / row_bytes);
    const auto take = [&](ByteReader& in, std::size_t& at) {
      const auto rows = in.template numbers<std::int32_t>();
      const auto values = in.template numbers<T>();
      std::ranges::copy(rows, got.rows.begin() + static_cast<std::ptrdiff_t>(at));
      std::ranges::copy(values, got.values.begin() + static_cast<std::ptrdiff_t>(at * d));
      at += rows.size();
    };
    for (std::int64_t first = 0; first < most_rows(); first += at_once) {
      const PartedBytes parts = ranks_.exchange([&] { return packed(first, at_once); });
      for (int r = 0; r < parts.size(); ++r) {
        ByteReader in(parts.part(r));
        take(in, own_at), take(in, halo_at);
      }
    }
    return got;
  }

 private:
  const T* row(std::int64_t i) const { return raw(points_) + i * points_.stride; }

  std::int64_t most_rows() const {
    std::int64_t most = 0;
    for (int r = 0; r < ranks_.size(); ++r) most = std::max(most, rows_of_rank(r, ranks_.size(), points_.rows).size());
    return most;
  }

  // The box of the points of each cell, as KdView has boxes.
  void find_boxes(const SpaceCells<T>& cells) {
    const auto d = static_cast<std::size_t>(d_), n_cells = static_cast<std::size_t>(ranks_.size());
    const auto widen = [d](T* box, const T* low, const T* high) {
      for (std::size_t j = 0; j < d; ++j) box[j] = std::min(box[j], low[j]), box[d + j] = std::max(box[d + j], high[j]);
    };
    std::vector<T> empty;
    for (std::size_t e = 0; e < n_cells * 2 * d; ++e)
      empty.push_back(e % (2 * d) < d ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity());
    const std::vector<T> all = parts_of_ranks<T>(&ranks_, [&] {
      std::vector<T> mine = empty;
      cell_.resize(static_cast<std::size_t>(own_.size()));
      for (std::int64_t i = 0; i < own_.size(); ++i) {
        if (i % kTile == 0) check_job_stop();
        const T* const point = row(own_.begin + i);
        const int cell = cells.cell_of(point);
        cell_[static_cast<std::size_t>(i)] = cell;
        widen(mine.data() + static_cast<std::size_t>(cell) * 2 * d, point, point);
      }
      return mine;
    });
    boxes_ = empty;
    for (std::size_t e = 0; e < all.size(); e += 2 * d)
      widen(boxes_.data() + e % boxes_.size(), all.data() + e, all.data() + e + d);
  }

  // near(i, cell) for the cells but its own whose points' box is within the distance of own row i, first <= i < end.
  template <class Near>
  void each_near(std::int64_t first, std::int64_t end, const Near& near) const {
    const KdView<T> boxes{.boxes = boxes_.data(), .d = d_};
    with_metric(distance_.metric, [&]<Metric M>() {
      for (std::int64_t i = first; i < end; ++i) {
        if (i % kTile == 0) check_job_stop();
        for (int cell = 0; cell < ranks_.size(); ++cell)
          if (cell != cell_[static_cast<std::size_t>(i)] &&
              least_distance<M>(boxes, cell, row(own_.begin + i), distance_.power) <= limit_)
            near(i, cell);
      }
    });
  }

  void count() {
    ranks_.share([&]() -> std::vector<std::byte> {
      totals_.assign(static_cast<std::size_t>(2 * ranks_.size()), 0);
      for (const int cell : cell_) ++totals_[static_cast<std::size_t>(cell)];
      each_near(0, own_.size(),
                [&](std::int64_t, int cell) { ++totals_[static_cast<std::size_t>(ranks_.size() + cell)]; });
      return {};
    });
    ranks_.combine(totals_, IntegerOp::kSum);
  }

  // For each rank what own rows [first, first + count) it gets: of its cell, then of its halo.
  PartedBytes packed(std::int64_t first, std::int64_t count) const {
    const std::int64_t end = std::min(first + count, own_.size());
    std::vector<std::vector<std::int32_t>> own(static_cast<std::size_t>(ranks_.size())), halo(own.size());
    for (std::int64_t i = first; i < end; ++i)
      own[static_cast<std::size_t>(cell_[static_cast<std::size_t>(i)])].push_back(static_cast<std::int32_t>(i));
    each_near(first, end, [&](std::int64_t i, int cell) {
      halo[static_cast<std::size_t>(cell)].push_back(static_cast<std::int32_t>(i));
    });
    PartedBytes out;
    for (std::size_t r = 0; r < own.size(); ++r) {
      ByteWriter part;
      for (const auto* rows : {&own[r], &halo[r]}) {
        std::vector<std::int32_t> of_table;
        std::vector<T> values;
        for (const std::int32_t i : *rows) {
          of_table.push_back(static_cast<std::int32_t>(own_.begin) + i);
          values.insert(values.end(), row(own_.begin + i), row(own_.begin + i) + d_);
        }
        part.numbers(of_table), part.numbers(values);
      }
      out.add(part.bytes());
    }
    return out;
  }

  Ranks& ranks_;
  MatrixView<const T> points_;
  const Distance distance_;
  const double limit_;
  const std::int64_t d_;
  const Part own_;
  std::vector<int> cell_;   // of each own row
  std::vector<T> boxes_;
  std::vector<std::int64_t> totals_;   // points of each cell, then of each halo
};

// What a walk looks for around a point, with the numbers of the table's rows.
struct CellJob {
  const DensityJob& all;
  const std::int32_t* rows;
  std::int64_t own;   // points of the cell, which come first
};

template <Metric M, class T>
KEDGE_CLONES bool is_core(const KdView<T>& tree, const T* q, double power, const CellJob& job) {
  if (job.all.weights.empty()) {
    CountVisitor visitor{job.all.limit, tree.n, static_cast<std::int64_t>(std::ceil(std::max(job.all.least, 0.0)))};
    kd_walk<M>(tree, q, power, visitor);
    return static_cast<double>(visitor.count) >= job.all.least;
  }
  double weight = 0;
  EachVisitor visitor{job.all.limit, [&](std::int32_t j, double) { weight += raw(job.all.weights)[job.rows[j]]; }};
  kd_walk<M>(tree, q, power, visitor);
  return weight >= job.all.least;
}

// Joins a core point with the core points of lower rows; each pair is met from its other end too, maybe on another
// rank.
template <Metric M, class T>
KEDGE_CLONES void join(const KdView<T>& tree, const T* q, double power, const CellJob& job, const UnionFind& sets,
                       std::int32_t row) {
  EachVisitor visitor{job.all.limit, [&](std::int32_t j, double) {
                        const std::int32_t other = job.rows[j];
                        if (other < row && raw(job.all.core)[other]) sets.unite(row, other);
                      }};
  kd_walk<M>(tree, q, power, visitor);
}

template <Metric M, class T>
KEDGE_CLONES std::int32_t lowest_component(const KdView<T>& tree, const T* q, double power, const CellJob& job,
                                           const std::int32_t* component) {
  std::int32_t lowest = -1;
  EachVisitor visitor{job.all.limit, [&](std::int32_t j, double) {
                        const std::int32_t other = component[job.rows[j]];   // -1 if it is not core
                        if (other >= 0 && (lowest < 0 || other < lowest)) lowest = other;
                      }};
  kd_walk<M>(tree, q, power, visitor);
  return lowest;
}

// The same from the other end: what is not core in the cell, within the distance of a core point, gets its component if
// that is the lowest so far.
template <Metric M, class T>
KEDGE_CLONES void claim(const KdView<T>& tree, const T* q, double power, const CellJob& job, std::int32_t component) {
  EachVisitor visitor{job.all.limit, [&](std::int32_t j, double) {
                        if (j >= job.own || raw(job.all.core)[job.rows[j]]) return;
                        const std::atomic_ref<std::int32_t> claimed(raw(job.all.component)[job.rows[j]]);
                        std::int32_t seen = claimed.load(std::memory_order_relaxed);
                        while ((seen < 0 || component < seen) &&
                               !claimed.compare_exchange_weak(seen, component, std::memory_order_relaxed)) {
                        }
                      }};
  kd_walk<M>(tree, q, power, visitor);
}

template <Metric M, class T>
void find_components(Ranks& ranks, const CellPoints<T>& points, std::int64_t d, double power, const DensityJob& job) {
  std::optional<KdTree<T>> tree;
  const CellJob cell{job, points.rows.data(), points.own};
  // body(row, point) for the first `end` points, in the order of the tree: neighbours in space follow one another and
  // find their nodes in the caches.
  const auto each = [&](std::int64_t end_point, auto&& body) {
    if (points.own == 0) return;
    if (!tree) tree.emplace(MatrixView<const T>(points.values.data(), std::ssize(points.rows), d));
    for_tiles(tree->n, kTile, tree->n * kWalkNs, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        const std::int32_t i = tree->order[static_cast<std::size_t>(p)];
        if (i < end_point) body(points.rows[static_cast<std::size_t>(i)], points.at(i, d));
      }
    });
  };
  find_core(&ranks, job, [&] {
    each(points.own,
         [&](std::int32_t row, const T* q) { raw(job.core)[row] = is_core<M>(tree->view(), q, power, cell); });
  });
  const UnionFind sets(job.component);
  join_core(&ranks, sets, job, [&] {
    each(points.own, [&](std::int32_t row, const T* q) {
      if (raw(job.core)[row]) join<M>(tree->view(), q, power, cell, sets, row);
    });
  });
  const auto is_core_row = [&](std::int32_t row) { return raw(job.core)[row] != 0; };
  const std::int64_t all_core = std::ranges::count_if(points.rows, is_core_row);
  const std::int64_t own_core = std::count_if(points.rows.begin(), points.rows.begin() + points.own, is_core_row);
  name_points(&ranks, sets, job, [&](const std::vector<std::int32_t>& component) {
    if (all_core < points.own - own_core)   // the fewer look for the others
      return each(std::ssize(points.rows), [&](std::int32_t row, const T* q) {
        if (raw(job.core)[row]) claim<M>(tree->view(), q, power, cell, component[static_cast<std::size_t>(row)]);
      });
    each(points.own, [&](std::int32_t row, const T* q) {
      if (!raw(job.core)[row])
        raw(job.component)[row] = lowest_component<M>(tree->view(), q, power, cell, component.data());
    });
  });
}

}   // namespace

template <class T>
bool halo_density(Ranks& ranks, MatrixView<const T> points, const Distance& distance, const DensityJob& job) {
  const std::int64_t n = points.rows, most = std::max(2 * n / ranks.size(), n / 2);
  std::optional<CellPoints<T>> moved;
  {
    Moves<T> moves(ranks, points, distance, job.limit);
    for (int r = 0; r < ranks.size(); ++r)
      if (moves.own_of(r) + moves.halo_of(r) > most) return false;
    moved = moves.move();
  }
  with_metric(distance.metric,
              [&]<Metric M>() { find_components<M>(ranks, *moved, points.cols, distance.power, job); });
  return true;
}

template bool halo_density(Ranks&, MatrixView<const float>, const Distance&, const DensityJob&);
template bool halo_density(Ranks&, MatrixView<const double>, const Distance&, const DensityJob&);

namespace {

// Whether sums of these weights are the same in any order: whole numbers that no sum of doubles rounds.
bool are_counts(VectorView<const double> weights) {
  constexpr double kMost = 0x1p53;
  double sum = 0;
  for (std::int64_t i = 0; i < weights.size; ++i) {
    const double weight = raw(weights)[i];
    if (weight != std::floor(weight)) return false;
    sum += std::abs(weight);
  }
  return sum < kMost;
}

}   // namespace

template <class T>
bool density_of_own_rows(Ranks& ranks, MatrixView<const T> points, const Distance& distance, const DensityJob& job) {
  const bool is_few_columns = points.cols <= kKdColumns;
  if (is_few_columns && !are_counts(job.weights)) return false;
  if (!is_few_columns || !halo_density(ranks, points, distance, job)) ring_density(ranks, points, distance, job);
  return true;
}

template bool density_of_own_rows(Ranks&, MatrixView<const float>, const Distance&, const DensityJob&);
template bool density_of_own_rows(Ranks&, MatrixView<const double>, const Distance&, const DensityJob&);

}   // namespace kedge::engine
