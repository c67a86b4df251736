// Path-dependent contributions, by the walk of engine/backend/host/tree_shap.cc: the 32 rows of a block are the lanes
// of a warp, which takes them through one tree for up to kMostValues values of its leaves. All lanes are at the same
// node, so that no branch but the choice of a factor divides them. What a cut changes at a point is computed by the
// lane of the point, for all. A tree's sums by column are its own; a second kernel adds them up in the order of the
// trees, as the CPU does, so that the bits are the same.
//
// A node costs 6 reads and writes of 256 bytes a point and value, and 4 divisions: 100 trees of 511 nodes with 4 points
// are 0.3 GB for 32 rows, which stay in shared memory up to kPlainSharedBytes, beyond in the caches.
#include <algorithm>

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/cuda/trees/packed_shap.h"
#include "engine/backend/cuda/trees/ready_shap.h"
#include "engine/backend/cuda/trees/walked_rows.cuh"
#include "engine/backend/host/tree_shap_trees.h"

namespace kedge::engine {
namespace {

constexpr int kLaneRows = 32;                                     // a warp
constexpr std::int64_t kPartBytes = std::int64_t{256} << 20;      // of cells and parts that are kept at once
constexpr std::int64_t kScratchBytes = std::int64_t{512} << 20;   // of paths, where they lie in memory
constexpr std::int64_t kWarpsEach = 8;                            // a multiprocessor, there

// Rows by blocks of 32: within a block column after column, behind the last row zeros.
struct ShapRows {
  const double* cells;
  std::int64_t n_cols, n_blocks;
};

// What a warp keeps of the path to the node at work, by level; as Path of host/tree_shap_path.h.
struct WarpPath {
  double *products, *sums;   // this lane's
  shap::PointChange* changes;
  std::uint8_t* follow;   // this lane's
  int n_points, n_values;

  __device__ WarpPath(double* scratch, const ShapTree& tree, int values, int lane)
      : products(scratch + lane),
        sums(products + std::int64_t{tree.n_levels} * tree.n_points * kLaneRows),
        changes(reinterpret_cast<shap::PointChange*>(scratch + std::int64_t{tree.n_levels} * tree.n_points * kLaneRows *
                                                                   (1 + values))),
        follow(reinterpret_cast<std::uint8_t*>(changes + std::int64_t{tree.n_levels} * tree.n_points) + lane),
        n_points(tree.n_points),
        n_values(values) {}
  __device__ double& product(int level, int q) const { return products[(level * n_points + q) * kLaneRows]; }
  __device__ double& sum(int level, int v, int q) const {
    return sums[((level * n_values + v) * n_points + q) * kLaneRows];
  }
  __device__ shap::PointChange& change(int level, int q) const { return changes[level * n_points + q]; }
  __device__ std::uint8_t& follows(int level) const { return follow[level * kLaneRows]; }
};

// Sets what is known at a node: whether the row follows the path, and the product of its factors.
__device__ void enter(const ShapStep& step, bool goes_left, const double* points, const double* rests,
                      const WarpPath& path) {
  const int lane = static_cast<int>(threadIdx.x);
  const bool repeats = step.before_depth >= 0;
  const bool before = path.follows(repeats ? step.before_depth : 0) != 0, now = before && goes_left == step.is_left;
  path.follows(step.depth) = now ? 1 : 0;
  __syncwarp();   // the changes of a node that was here before are read
  if (lane < path.n_points)
    path.change(step.depth, lane) =
        shap::point_change(step.share, step.before_share, repeats, points[lane], rests[lane]);
  __syncwarp();
  const double lost = step.share / step.before_share;
  for (int q = 0; q < path.n_points; ++q) {
    const shap::PointChange& change = path.change(step.depth, q);
    path.product(step.depth, q) = path.product(step.depth - 1, q) * (now      ? change.follows_ratio
                                                                     : before ? change.leaves_ratio
                                                                              : lost);
  }
}

// All leaves below the node are summed up: adds them to its parent's, and gives what they say of the column.
__device__ double leave(const ShapStep& step, int v, const WarpPath& path) {
  const bool before = path.follows(step.before_depth >= 0 ? step.before_depth : 0) != 0,
             now = path.follows(step.depth) != 0;
  double slopes = 0;
  for (int q = 0; q < path.n_points; ++q) {
    const shap::PointChange& change = path.change(step.depth, q);
    const double s = path.sum(step.depth, v, q), slope = now ? change.follows_slope : change.leaves_slope;
    double& above = path.sum(step.depth - 1, v, q);
    slopes += s * (before ? slope : 0.0);
    above = step.is_left ? s : above + s;
  }
  return slopes;
}

// One tree for 32 rows: adds to parts[part * kLaneRows], this lane's, for n_values values from `first` on.
__device__ void walk_tree(const ShapView& trees, const ShapTree& tree, const double* cells, int first,
                          const WarpPath& path, double* parts) {
  const double *const points = trees.rules + tree.rule, *const rests = points + tree.n_points,
                      *const weights = rests + tree.n_points;
  path.follows(0) = 1;
  for (int q = 0; q < path.n_points; ++q) path.product(0, q) = weights[q];
  for (std::int32_t i = 0; i < tree.n_steps; ++i) {
    ShapStep step = trees.steps[tree.first + i];
    const bool goes_left = cut_goes_left(step.flags, trees.is_strict, step.threshold, step.set, trees.sets,
                                         cells[std::int64_t{step.column} * kLaneRows]);
    enter(step, goes_left, points, rests, path);
    if (step.leaf < 0) continue;
    for (int v = 0; v < path.n_values; ++v) {
      const double value = trees.values[std::int64_t{step.leaf} * trees.leaf_values + first + v];
      for (int q = 0; q < path.n_points; ++q) path.sum(step.depth, v, q) = value * path.product(step.depth, q);
    }
    for (;; step = trees.steps[tree.first + step.parent]) {   // the nodes above that have all their leaves
      for (int v = 0; v < path.n_values; ++v)
        parts[(std::int64_t{step.slot} * trees.leaf_values + first + v) * kLaneRows] += leave(step, v, path);
      if (step.is_left || step.depth == 1) break;
    }
  }
}

// A warp a block. scratch: of each block, far; null: in shared memory.
__global__ void __launch_bounds__(kLaneRows)
    walk_shap_trees(ShapView trees, ShapRows rows, ShapPiece piece, double* far, double* parts) {
  KEDGE_DYNAMIC_SHARED(double, near);
  double* const scratch = far ? far + blockIdx.x * piece.scratch : near;
  const int lane = static_cast<int>(threadIdx.x);
  const std::int64_t n_groups = (trees.leaf_values + shap::kMostValues - 1) / shap::kMostValues,
                     n_items = (piece.last - piece.first) * n_groups * rows.n_blocks;
  for (std::int64_t item = blockIdx.x; item < n_items; item += gridDim.x) {   // blocks of rows of one tree go together
    const std::int64_t block = item % rows.n_blocks, walk = item / rows.n_blocks;
    const ShapTree tree = trees.trees[piece.first + walk / n_groups];
    const int first = static_cast<int>(walk % n_groups) * shap::kMostValues,
              n_values = min(shap::kMostValues, trees.leaf_values - first);
    double* const own = parts + (block * piece.n_parts + tree.parts) * kLaneRows + lane;
    for (std::int64_t s = 0; s < tree.n_slots; ++s)
      for (int v = 0; v < n_values; ++v) own[(s * trees.leaf_values + first + v) * kLaneRows] = 0;
    __syncwarp();   // the path of the walk before is read
    walk_tree(trees, tree, rows.cells + block * rows.n_cols * kLaneRows + lane, first,
              WarpPath(scratch, tree, n_values, lane), own);
  }
}

// Where the contributions of n rows go.
struct ShapOut {
  double* out;
  std::int64_t stride, n;
};

// A number of a row a thread: adds the parts of a piece in the order of the trees.
__global__ void add_shap_parts(ShapColumns columns, std::int64_t n_blocks, std::int64_t n_parts, const double* parts,
                               bool is_first, bool is_last, ShapOut of) {
  const std::int64_t item = own_item(), lane = item % kLaneRows, width = columns.n_cols + 1;
  const std::int64_t column = item / kLaneRows % width, output = item / kLaneRows / width % columns.n_outputs;
  const std::int64_t block = item / kLaneRows / width / columns.n_outputs, row = block * kLaneRows + lane;
  if (block >= n_blocks || row >= of.n) return;
  double& out = of.out[row * of.stride + output * width + column];
  if (column == columns.n_cols) {
    out = columns.expected[output];
    return;
  }
  const std::int64_t key = columns.by_output ? output * columns.n_cols + column : column;
  const std::int64_t value = columns.by_output ? 0 : output;
  double sum = is_first ? 0.0 : out;
  for (std::int64_t e = columns.begin[key]; e < columns.begin[key + 1]; ++e)
    sum += parts[(block * n_parts + columns.part[e] + value) * kLaneRows + lane];
  out = is_last ? sum * columns.scale : sum;
}

// Cells of n rows as the walk reads them.
template <class X>
__global__ void read_shap_cells(ValueRows<X, double> rows, std::int64_t n, KeyColumns keys, ShapRows to,
                                double* cells) {
  const std::int64_t item = own_item(), lane = item % kLaneRows, column = item / kLaneRows % to.n_cols;
  const std::int64_t block = item / kLaneRows / to.n_cols, row = block * kLaneRows + lane;
  if (block >= to.n_blocks) return;
  cells[item] = row < n ? keys.read(rows.cell(row, static_cast<std::uint32_t>(column)), column) : 0.0;
}

class CudaShap final : public ReadyShap {
 public:
  CudaShap(CudaRuntime& runtime, const ShapTrees& trees) : runtime_(runtime), packed_(runtime, trees) {}

  void contributions(MatrixView<const float> X, const CellKeys& keys, MatrixView<double> out) const override {
    contribute(X, keys, out);
  }
  void contributions(MatrixView<const double> X, const CellKeys& keys, MatrixView<double> out) const override {
    contribute(X, keys, out);
  }
  std::int64_t numbers_a_row() const override { return packed_.n_outputs() * (packed_.n_cols() + 1); }

 private:
  // Some blocks of rows after the other.
  template <class X>
  void contribute(MatrixView<const X> rows, const CellKeys& keys, MatrixView<double> out) const {
    if (rows.rows == 0) return;
    const DeviceKeys of_cells(runtime_, keys);
    const std::int64_t n_blocks = (rows.rows + kLaneRows - 1) / kLaneRows, n_cols = packed_.n_cols();
    const std::int64_t numbers = (n_cols + packed_.most_parts()) * kLaneRows;   // of a block
    const std::int64_t most =
        std::clamp<std::int64_t>(kPartBytes / 8 / std::max<std::int64_t>(1, numbers), 1, n_blocks);
    Array<double> cells(runtime_, most * n_cols * kLaneRows), parts(runtime_, most * packed_.most_parts() * kLaneRows);
    for (std::int64_t first = 0; first < n_blocks; first += most) {
      const std::int64_t begin = first * kLaneRows, n = std::min(rows.rows - begin, most * kLaneRows);
      const ShapRows block{raw(cells), n_cols, std::min(most, n_blocks - first)};
      KEDGE_LAUNCH(runtime_, read_shap_cells<X>, blocks_for(block.n_blocks * n_cols * kLaneRows, kWalkThreads),
                   kWalkThreads, 0, (ValueRows<X, double>{raw(rows) + begin * rows.stride, rows.stride}), n,
                   of_cells.view(), block, cells.data());
      add_pieces(block, parts, {raw(out) + begin * out.stride, out.stride, n});
    }
  }

  void add_pieces(const ShapRows& rows, Array<double>& parts, const ShapOut& of) const {
    const std::vector<ShapPiece>& pieces = packed_.pieces();
    const std::int64_t numbers = rows.n_blocks * numbers_a_row() * kLaneRows;
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      walk(pieces[p], rows, parts);
      KEDGE_LAUNCH(runtime_, add_shap_parts, blocks_for(numbers, kWalkThreads), kWalkThreads, 0,
                   packed_.columns(pieces[p]), rows.n_blocks, pieces[p].n_parts, parts.data(), p == 0,
                   p + 1 == pieces.size(), of);
    }
  }

  void walk(const ShapPiece& piece, const ShapRows& rows, Array<double>& parts) const {
    const ShapView view = packed_.view();
    const std::int64_t n_groups = (view.leaf_values + shap::kMostValues - 1) / shap::kMostValues,
                       n_items = (piece.last - piece.first) * n_groups * rows.n_blocks, bytes = piece.scratch * 8;
    if (bytes <= static_cast<std::int64_t>(kPlainSharedBytes)) {
      KEDGE_LAUNCH(runtime_, walk_shap_trees, blocks_for(n_items, 1), kLaneRows, static_cast<std::size_t>(bytes), view,
                   rows, piece, static_cast<double*>(nullptr), parts.data());
      return;
    }
    const std::int64_t warps =
        std::min(n_items, std::clamp<std::int64_t>(kScratchBytes / bytes, 1, runtime_.multiprocessors() * kWarpsEach));
    Array<double> far(runtime_, warps * piece.scratch);
    KEDGE_LAUNCH(runtime_, walk_shap_trees, blocks_for(warps, 1), kLaneRows, 0, view, rows, piece, far.data(),
                 parts.data());
  }

  CudaRuntime& runtime_;
  PackedShap packed_;
};

}   // namespace

std::unique_ptr<ReadyShap> make_ready_shap(CudaRuntime& runtime, const ShapTrees& trees) {
  return std::make_unique<CudaShap>(runtime, trees);
}

}   // namespace kedge::engine
