// DBSCAN's components by rows that go round the ranks.
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>

#include "engine/backend/cpu/neighbours/density_sets.h"
#include "engine/backend/cpu/neighbours/own_density.h"
#include "engine/backend/cpu/rows.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kSide = 1024, kStep = 256;   // of a tile of pairs; blocks of rows begin at multiples of kSide
constexpr std::int64_t kPieceBytes = std::int64_t{8} << 20;
constexpr std::int64_t kMostPairs = std::int64_t{1} << 26;   // kept until core points are known: 512 MiB

// Rows that every rank sees now.
template <class T>
struct Piece {
  MatrixView<const T> values;
  Part rows;
  int owner;
};

template <class T>
std::vector<std::byte> bytes_of_rows(MatrixView<const T> points, Part rows) {
  const std::size_t row_bytes = static_cast<std::size_t>(points.cols) * sizeof(T);
  std::vector<std::byte> bytes(static_cast<std::size_t>(rows.size()) * row_bytes);
  for (std::int64_t i = 0; i < rows.size(); ++i)
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * row_bytes, raw(points) + (rows.begin + i) * points.stride,
                row_bytes);
  return bytes;
}

// look(piece) for the rows of all ranks, in order; a rank brings its own. Errors: those of look(), on every rank.
template <class T, class Look>
void show_rows(Ranks& ranks, MatrixView<const T> points, const Look& look) {
  const std::int64_t n = points.rows, d = points.cols;
  const std::int64_t tile_bytes = kSide * d * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t most = std::max<std::int64_t>(1, kPieceBytes / tile_bytes) * kSide;
  PartedBytes shown;
  Piece<T> piece{{}, {0, 0}, 0};
  const auto look_at_shown = [&] {
    if (piece.rows.size() == 0) return;
    piece.values = MatrixView<const T>(reinterpret_cast<const T*>(shown.bytes.data()), piece.rows.size(), d);
    look(piece);
  };
  for (int owner = 0; owner < ranks.size(); ++owner) {
    const Part of_owner = rows_of_rank(owner, ranks.size(), n);
    for (std::int64_t first = of_owner.begin; first < of_owner.end; first += most) {
      const Part next{first, std::min(first + most, of_owner.end)};
      shown = ranks.share([&] {
        look_at_shown();
        return owner == ranks.rank() ? bytes_of_rows(points, next) : std::vector<std::byte>();
      });
      piece.rows = next, piece.owner = owner;
    }
  }
  ranks.share([&] {
    look_at_shown();
    return std::vector<std::byte>();
  });
}

template <class T>
class RingDensity {
 public:
  RingDensity(Ranks& ranks, MatrixView<const T> points, const Distance& distance, const DensityJob& job)
      : ranks_(ranks), points_(points), job_(job), own_(own_rows(&ranks, points.rows)) {
    if (own_.size() > 0) scan_.emplace(points.row_range(own_.begin, own_.size()), distance);
  }

  void run() {
    if (job_.weights.empty()) count();
    else weigh();
    const bool are_kept = every_rank_kept();
    const UnionFind sets(job_.component);
    PairJoin found(sets, job_);
    const auto join = [&](const std::vector<Pair>& pairs) { found.join(pairs); };
    if (!are_kept)
      show_rows(ranks_, points_,
                [&](const Piece<T>& piece) { each_pairs(piece, [&](std::vector<Pair> pairs) { join(pairs); }); });
    join_core(&ranks_, sets, job_, [&] { std::ranges::for_each(kept_, join); });
    name_points(&ranks_, sets, job_, [&](const std::vector<std::int32_t>& component) { found.claim(component); });
  }

 private:
  struct Tile {
    std::int64_t own, shown;   // numbers of kSide rows, from the first of the table on
  };

  // Of two tiles of rows one rank looks at the pairs: of its own the upper triangle, of others every second.
  std::vector<Tile> tiles_of(const Piece<T>& piece) const {
    const bool is_own = piece.owner == ranks_.rank();
    const std::int64_t odd = ranks_.rank() > piece.owner ? 1 : 0;
    std::vector<Tile> tiles;
    for (std::int64_t own = own_.begin / kSide; own * kSide < own_.end; ++own)
      for (std::int64_t shown = piece.rows.begin / kSide; shown * kSide < piece.rows.end; ++shown)
        if (is_own ? own <= shown : (own + shown) % 2 == odd) tiles.push_back({own, shown});
    return tiles;
  }

  // body(pairs) of an own row and one that is shown, on all threads.
  template <class Body>
  void each_pairs(const Piece<T>& piece, const Body& body) const {
    if (own_.size() == 0) return;
    const std::vector<Tile> tiles = tiles_of(piece);
    const auto n_tiles = std::ssize(tiles);
    for_tiles(n_tiles, 1, n_tiles * kSide * kSide * points_.cols / 8, [&](std::int64_t t, std::int64_t, std::int64_t) {
      const Tile& tile = tiles[static_cast<std::size_t>(t)];
      const std::int64_t first = tile.shown * kSide, begin = tile.own * kSide;
      const std::int64_t count = std::min(kSide, piece.rows.end - first), end = std::min(begin + kSide, own_.end);
      const auto queries = scan_->prepare(piece.values.row_range(first - piece.rows.begin, count));
      const bool is_diagonal = piece.owner == ranks_.rank() && tile.own == tile.shown;
      std::vector<Pair> pairs;
      std::vector<typename PairScan<T>::Hit> hits;
      for (std::int64_t at = begin; at < end; at += kStep, hits.clear()) {
        scan_->find(queries, at - own_.begin, std::min(kStep, end - at), job_.limit, false, hits);
        for (const auto& hit : hits) {
          const auto own = static_cast<std::int32_t>(own_.begin) + hit.point;
          const auto shown = static_cast<std::int32_t>(first) + hit.query;
          if (!is_diagonal || own < shown) pairs.push_back({own, shown});
        }
      }
      body(std::move(pairs));
    });
  }

  // Core points by the number of their pairs. These are kept where they fit, so that no second round is needed.
  void count() {
    std::vector<std::int32_t> counts(static_cast<std::size_t>(points_.rows), 1);   // itself
    const auto add = [&](std::int32_t i) {
      std::atomic_ref<std::int32_t>(counts[static_cast<std::size_t>(i)]).fetch_add(1, std::memory_order_relaxed);
    };
    show_rows(ranks_, points_, [&](const Piece<T>& piece) {
      each_pairs(piece, [&](std::vector<Pair> pairs) {
        for (const Pair& pair : pairs) add(pair.a), add(pair.b);
        keep(std::move(pairs));
      });
    });
    const std::int64_t of_itself = ranks_.size() - 1;   // which every rank has counted
    combine_rows(
        ranks_, points_.rows, IntegerOp::kSum, [&](std::int64_t i) { return counts[static_cast<std::size_t>(i)]; },
        [&](std::int64_t i, std::int64_t count) {
          raw(job_.core)[i] = static_cast<double>(count - of_itself) >= job_.least;
        });
  }

  // Weights are added in the order of the rows, as one process adds them: it sums doubles.
  void weigh() {
    constexpr std::int64_t kTile = 256;
    std::vector<double> weight(static_cast<std::size_t>(own_.size()), 0.0);
    show_rows(ranks_, points_, [&](const Piece<T>& piece) {
      const std::int64_t cost = own_.size() * piece.values.size() / 8;
      for_tiles(own_.size(), kTile, cost, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
        std::vector<typename PairScan<T>::Hit> hits;
        for (std::int64_t first = 0; first < piece.rows.size(); first += kSide, hits.clear()) {
          const std::int64_t count = std::min(kSide, piece.rows.size() - first);
          scan_->find(scan_->prepare(piece.values.row_range(first, count)), begin, end - begin, job_.limit, false,
                      hits);
          for (const auto& hit : hits)   // by the row that is shown
            weight[static_cast<std::size_t>(hit.point)] += raw(job_.weights)[piece.rows.begin + first + hit.query];
        }
      });
    });
    find_core(&ranks_, job_, [&] {
      for (std::int64_t i = 0; i < own_.size(); ++i)
        raw(job_.core)[own_.begin + i] = weight[static_cast<std::size_t>(i)] >= job_.least;
    });
    is_full_ = true;   // no pairs were kept
  }

  void keep(std::vector<Pair> pairs) {
    if (pairs.empty() || is_full_.load()) return;
    const std::scoped_lock lock(mutex_);
    n_kept_ += std::ssize(pairs);
    if (n_kept_ > kMostPairs) is_full_ = true;
    else kept_.push_back(std::move(pairs));
  }

  bool every_rank_kept() {
    const std::vector<std::uint8_t> full =
        parts_of_ranks<std::uint8_t>(&ranks_, [&] { return std::vector<std::uint8_t>{is_full_.load()}; });
    const bool are_kept = std::ranges::none_of(full, [](std::uint8_t one) { return one != 0; });
    if (!are_kept) kept_.clear();
    return are_kept;
  }

  Ranks& ranks_;
  MatrixView<const T> points_;
  const DensityJob& job_;
  const Part own_;
  std::optional<PairScan<T>> scan_;   // of own rows, if there are any
  std::mutex mutex_;
  std::vector<std::vector<Pair>> kept_;
  std::int64_t n_kept_ = 0;
  std::atomic<bool> is_full_ = false;
};

}   // namespace

template <class T>
void ring_density(Ranks& ranks, MatrixView<const T> points, const Distance& distance, const DensityJob& job) {
  RingDensity<T>(ranks, points, distance, job).run();
}

template void ring_density(Ranks&, MatrixView<const float>, const Distance&, const DensityJob&);
template void ring_density(Ranks&, MatrixView<const double>, const Distance&, const DensityJob&);

}   // namespace kedge::engine
