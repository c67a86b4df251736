// What the files of the CUDA tree operations share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "engine/backend/cuda/libraries.h"
#include "engine/backend/cuda/runtime.h"
#include "engine/backend/host/host_grower.h"
#include "engine/backend/host/tree_draft.h"
#include "engine/core/array.h"

namespace kedge::engine {

class GrownTrees;

// A row of a tree on the device: which, its class, and how often it was drawn.
struct CountedRow {
  std::uint32_t row;
  std::uint16_t cls, draws;
};

// The same with a weight of its own, times the draws, as a whole number of a fixed unit.
struct WeighedRow {
  std::int64_t weight;
  std::uint32_t row;
  std::int32_t cls;
};

// A row with a value: its position among the forest's rows; its weight, and weighted value, as whole numbers of fixed units.
struct SummedRow {
  std::int64_t weight, sum;
  std::uint32_t row, position;
};

// What a node of values predicts, and how far its rows are from that.
struct NodeMeasure {
  double mean, impurity, weight;
};

// A node of the level that is being split.
struct LevelNode {
  std::int64_t begin = 0, weight = 0;  // first of its rows; what they weigh in the rows' unit
  std::uint64_t key = 0;
  std::int32_t n = 0, tree = 0;        // rows; tree within the batch
  std::int32_t node = 0, depth = 0;    // which DeviceNode, and how far below its root
};

// A node of a tree that grows on the device. The nodes of a batch lie in the order in which they were made, the root of
// tree t at t, the right child of a node after its left one.
struct DeviceNode {
  double threshold = 0, impurity = 0, weight = 0, mean = 0, improvement = 0;   // mean: of trees of values
  std::uint64_t key = 0;
  std::int32_t tree = 0, n_rows = 0;
  std::int32_t feature = -1, left = -1, bin = 0;   // left: -1 for a leaf
  std::int32_t size = 0;                           // nodes from here on down; set when all are made
  std::int32_t place = -1;                         // in the batch's forest; -1: not in it
  std::int32_t root = -1;   // of a node that finish_nodes() has made: which of its nodes that was below; place_of()
                            // says what `place` is then
};

// The best cut of a column, or of a node; feature -1 and kRefusedCut where there is none.
struct DeviceCut {
  double score = kRefusedCut, threshold = kMidpoint;   // threshold: the value drawn for a random cut
  std::int32_t feature = -1;
  std::int16_t left_bin = 0, right_bin = 0;
  std::int32_t varies = 0;   // the column has two values in the node
};

// The bins of a table on the device.
struct DeviceTable {
  const std::uint8_t* codes;
  std::int64_t n_rows;
  const std::int32_t* offset;   // of the edges, as BinEdges
  const double *low, *high;
};

// Threads of the host that draw and take the rows of a batch.
inline int tree_threads() { return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 8); }

// Sets the codes and edges of X's columns, as bin_columns() does; false, and neither, where a value is NaN. X has rows
// and columns. Waits once for each 128 MiB of columns.
template <class T>
bool bin_on_device(CudaRuntime& runtime, DeviceLibraries& libraries, MatrixView<const T> X, BinnedTable& table);

// What all trees of a forest share. `host` names no codes of cells. rows and classes are those of `host` on the device.
struct DeviceForestInput {
  const BinnedTable& table;
  const HostForestInput& host;
  VectorView<const std::int32_t> rows, classes;
};

// Whether this forest is for grow_batch(); else it is left to grow_on_host().
bool grows_on_device(const CudaRuntime& runtime, const HostForestInput& input);
// Whether grow_batch() also draws its rows on the device; else `host` must have rows and codes that the host reads.
bool draws_on_device(const HostForestInput& input);
// How many trees a batch may have.
std::int64_t trees_at_once(const HostForestInput& input);

// How often each of n positions is drawn for the trees first .. first + count - 1.
std::vector<std::vector<std::uint32_t>> draw_trees(const ForestOptions& options, std::int64_t first, std::int64_t count,
                                                   std::int64_t n);

// Grows trees first .. first + count - 1, all level by level together; `packs`: for prepare() of the result, too. Waits
// for the device a few times per pass of a level. Errors: kCancelled; kInvalidValue for more classes than shared memory
// holds, or a row that is drawn more than 65,535 times.
std::unique_ptr<GrownTrees> grow_batch(CudaRuntime& runtime, const DeviceForestInput& input, std::int64_t first,
                                       std::int64_t count, bool packs);

}  // namespace kedge::engine
