// Nodes of few rows, finished by one warp each with everything below them: a lane a row. The nodes of a depth lie side
// by side in the warp and are scored together, so that the smallest ones, of which there are most, leave no lane idle.
#pragma once

#include "engine/backend/cuda/trees/trees_nodes.cuh"

namespace kedge::engine {

inline constexpr std::int32_t kTinyRows = 32, kTinyWarps = 4;
inline constexpr std::int32_t kTinyColumns = 64;     // that a node may draw before it looks further
inline constexpr std::int64_t kTinyWeight = 46340;   // its square fits 31 bits
inline constexpr std::int32_t kTinyClasses = 256, kTinyTableColumns = 65535;   // what a lane's words hold

// What the columns of a node are drawn from.
struct TinyDraw {
  std::uint64_t seed;
  std::int32_t n_cols, width;

  // Shared memory of a block: the steps of the nodes' shuffles, then their columns.
  static std::size_t bytes(std::int32_t width) {
    return static_cast<std::size_t>(kTinyWarps) * kTinyRows * width * sizeof(std::uint16_t);
  }
  // Step j of a node's shuffle, from its word of the node's stream.
  __device__ std::int32_t step(std::uint32_t word, std::int32_t j) const {
    return j + static_cast<std::int32_t>(feature_step(word, static_cast<std::uint32_t>(n_cols - j)));
  }
  // The column of step j, without a memory of the steps before it.
  __device__ std::int32_t late_column(std::uint64_t key, std::int32_t j) const {
    PhiloxBlock block = philox(seed, key, static_cast<std::uint64_t>(j / 4));
    std::int32_t place = step(block.word[j % 4], j);
    for (std::int32_t i = j; i-- > 0;) {
      if (i % 4 == 3) block = philox(seed, key, static_cast<std::uint64_t>(i / 4));
      if (step(block.word[i % 4], i) == place) place = i;
    }
    return place;
  }
};

// The best cut of a node as far as a lane knows: the one behind the lane's place in the order of the codes.
struct TinyCut {
  double score = kRefusedCut;
  std::uint32_t place = ~0u;   // step of the draw << 16 | left bin << 8 | right bin: the lowest of equal ones
  std::int32_t column = -1;
  std::uint32_t left_weight = 0, left_squares = 0, right_squares = 0;
};

// What a lane knows of its row, and of the row's node: lanes first .. first + n - 1.
struct TinyLane {
  std::uint32_t row, drawn;   // drawn: class << 16 | draws
  std::int32_t first, n;
  std::int32_t node, lefts;   // lefts: steps to the left on the way from the warp's root
  std::uint64_t key;
  std::uint32_t weight, squares;   // draws of the node; the sum of the squares of its classes' draws
  std::uint32_t own;               // draws of the row's class in the node
  double impurity;
  bool is_open, is_first;   // the node may be split; no lower lane of the node has the class

  __device__ std::uint32_t draws() const { return drawn & 0xffff; }
  __device__ std::uint32_t cls() const { return drawn >> 16; }
  __device__ unsigned lanes() const { return (n < 32 ? (1u << n) - 1 : ~0u) << first; }
};

// The most rows of the nodes whose lanes say so.
__device__ inline std::int32_t most_rows(const TinyLane& at, bool counts) {
  std::int32_t most = counts ? at.n : 0;
  for (int step = 16; step > 0; step /= 2) most = max(most, __shfl_xor_sync(kFullWarp, most, step));
  return most;
}

// Moves of lanes: each tells its place, and learns who takes the lane's own.
__device__ inline int source_of(std::uint8_t* order, std::int32_t place) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  order[place] = static_cast<std::uint8_t>(lane);
  __syncwarp();
  const int source = order[lane];
  __syncwarp();
  return source;
}

// Counts the classes of nodes that are new.
__device__ inline void count_classes(TinyLane& at, bool is_new) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int32_t most = most_rows(at, is_new);
  std::uint32_t own = 0;
  bool is_first = true;
  for (std::int32_t j = 0; j < most; ++j) {
    const int from = min(at.first + j, 31);
    const std::uint32_t other = __shfl_sync(kFullWarp, at.drawn, from);
    if (j >= at.n || other >> 16 != at.cls()) continue;
    own += other & 0xffff;
    is_first = is_first && from >= lane;
  }
  if (is_new) at.own = own, at.is_first = is_first;
}

// Draws the columns of the open nodes, each node's by its own lanes.
__device__ inline void draw_tiny(const TinyLane& at, const TinyDraw& draw, std::uint16_t* steps,
                                 std::uint16_t* columns) {
  const std::int32_t own = static_cast<std::int32_t>(threadIdx.x) % 32 - at.first;
  if (at.is_open)
    for (std::int32_t i = own; 4 * i < draw.width; i += at.n) {
      const PhiloxBlock block = philox(draw.seed, at.key, static_cast<std::uint64_t>(i));
      KEDGE_UNROLL
      for (std::int32_t w = 0; w < 4; ++w)
        if (4 * i + w < draw.width) steps[4 * i + w] = static_cast<std::uint16_t>(draw.step(block.word[w], 4 * i + w));
    }
  __syncwarp();
  if (at.is_open)
    for (std::int32_t j = own; j < draw.width; j += at.n) {
      std::int32_t place = steps[j];
      for (std::int32_t i = j; i-- > 0;)
        if (steps[i] == place) place = i;
      columns[j] = static_cast<std::uint16_t>(place);
    }
  __syncwarp();
}

// Scores the cuts of one column of each node whose lanes are `active`, and keeps the best. most: rows of such a node;
// step: of the draw; varies: becomes true where the node has two codes. The rows take the order of their codes, in
// which squares of the sums on the left are running sums: a row of a class that has s draws so far adds w (2 s + w).
__device__ inline void score_tiny(const TinyLane& at, bool active, std::int32_t most, std::int32_t code,
                                  std::int32_t column, std::int32_t step, std::int64_t min_rows, double min_weight,
                                  std::uint8_t* order, TinyCut& best, bool& varies) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int32_t code_of_first = __shfl_sync(kFullWarp, code, at.first);
  const unsigned different = __ballot_sync(kFullWarp, active && code != code_of_first);
  if (different == 0) return;
  const bool differs = (different & at.lanes()) != 0;
  varies = varies || differs;
  const std::uint32_t word = static_cast<std::uint32_t>(code) << 24 | at.cls() << 16 | at.draws();
  std::int32_t before = 0;
  std::uint32_t mine = 0;
  for (std::int32_t j = 0; j < most; ++j) {
    const int from = min(at.first + j, 31);
    const std::uint32_t other = __shfl_sync(kFullWarp, word, from);
    if (j >= at.n) continue;
    const std::uint32_t both = other ^ word;
    if (both >> 24 != 0 ? other >= word : from >= lane) continue;
    ++before;
    if ((both >> 16 & 0xff) == 0) mine += other & 0xffff;
  }
  const int source = source_of(order, differs ? at.first + before : lane);
  const std::uint32_t draws = at.draws();
  const std::uint32_t sorted = __shfl_sync(kFullWarp, word, source);
  std::uint32_t squares = draws * (2 * mine + draws), cross = draws * at.own, weight = sorted & 0xffff;
  squares = __shfl_sync(kFullWarp, squares, source);
  cross = __shfl_sync(kFullWarp, cross, source);
  for (int up = 1; up < most; up *= 2) {
    const std::uint32_t more_weight = __shfl_up_sync(kFullWarp, weight, up);
    const std::uint32_t more_squares = __shfl_up_sync(kFullWarp, squares, up);
    const std::uint32_t more_cross = __shfl_up_sync(kFullWarp, cross, up);
    if (lane - up >= at.first) weight += more_weight, squares += more_squares, cross += more_cross;
  }
  const std::uint32_t left = sorted >> 24;
  const std::uint32_t right = __shfl_down_sync(kFullWarp, left, 1);
  const std::int32_t left_rows = lane - at.first + 1, right_rows = at.n - left_rows;
  if (!differs || right_rows == 0 || left == right || left_rows < min_rows || right_rows < min_rows) return;
  const std::uint32_t right_weight = at.weight - weight, right_squares = at.squares + squares - 2 * cross;
  if (static_cast<double>(weight) < min_weight || static_cast<double>(right_weight) < min_weight) return;
  const double score = gini_score(squares, weight, right_squares, right_weight);
  if (!(score > best.score)) return;   // the lane's step rises
  best = {score, static_cast<std::uint32_t>(step) << 16 | left << 8 | right, column, weight, squares, right_squares};
}

// The best cut of each open node, in all of its lanes.
__device__ inline TinyCut choose_tiny(const TinyLane& at, std::int32_t most, const TinyCut& own) {
  double score = kRefusedCut;
  std::uint32_t place = ~0u;
  int winner = at.first;
  for (std::int32_t j = 0; j < most; ++j) {
    const int from = min(at.first + j, 31);
    const double other = __shfl_sync(kFullWarp, own.score, from);
    const std::uint32_t other_place = __shfl_sync(kFullWarp, own.place, from);
    if (j < at.n && (other > score || (other == score && other_place < place)))
      score = other, place = other_place, winner = from;
  }
  TinyCut best{.score = score, .place = place};
  best.column = __shfl_sync(kFullWarp, own.column, winner);
  best.left_weight = __shfl_sync(kFullWarp, own.left_weight, winner);
  best.left_squares = __shfl_sync(kFullWarp, own.left_squares, winner);
  best.right_squares = __shfl_sync(kFullWarp, own.right_squares, winner);
  return best;
}

// By gini from whole numbers, whose sums are exact in any order; of one class it is 0 by the formula, too.
__device__ inline NodeMeasure measure_tiny(std::uint32_t weight, std::uint32_t squares) {
  const double w = weight;
  return {0, node_impurity({.weight = w, .power = static_cast<double>(squares), .present = 2}, false), w};
}

struct TinyForest {
  DeviceNode* nodes;
  std::int64_t* totals;
  std::int32_t* n_nodes;
  std::int32_t n_classes;
};

// Makes the children of the nodes with `is_split`, and moves their rows, left ones first and in order. root: what the
// children's DeviceNode::root becomes; depth: theirs.
__device__ inline void split_tiny(TinyLane& at, bool is_split, double improvement, const NodeMeasure (&measure)[2],
                                  const TinyCut& cut, const DeviceTable& table, std::int32_t root, std::int32_t tree,
                                  const TinyForest& out, std::uint8_t* order) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const bool leads = lane == at.first;
  const std::int32_t made = take_places(out.n_nodes, is_split && leads, 2);
  const std::int32_t children = __shfl_sync(kFullWarp, made, at.first);
  const std::int32_t left_bin = static_cast<std::int32_t>(cut.place >> 8 & 0xff),
                     right_bin = static_cast<std::int32_t>(cut.place & 0xff);
  if (is_split && leads) {
    const std::int32_t begin = table.offset[cut.column];
    const Cut chosen = choose_cut(table.low + begin, table.high + begin, left_bin, right_bin);
    DeviceNode& node = out.nodes[at.node];
    node.feature = cut.column, node.left = children, node.improvement = improvement, node.bin = chosen.bin,
    node.threshold = chosen.threshold;
  }
  const bool goes_left = is_split && table.codes[cut.column * table.n_rows + at.row] <= left_bin;
  const unsigned left = __ballot_sync(kFullWarp, goes_left) & at.lanes(), below = (1u << lane) - 1;
  const std::int32_t n_left = __popc(left);
  const std::int32_t place = !is_split   ? lane
                             : goes_left ? at.first + __popc(left & below)
                                         : at.first + n_left + __popc(at.lanes() & ~left & below);
  const int source = source_of(order, place);
  at.row = __shfl_sync(kFullWarp, at.row, source);
  at.drawn = __shfl_sync(kFullWarp, at.drawn, source);
  if (is_split) {
    const bool is_right = lane >= at.first + n_left;
    at.node = children + is_right, at.key = tree_child_key(at.key, is_right), at.lefts += !is_right;
    at.n = is_right ? at.n - n_left : n_left, at.first += is_right ? n_left : 0;
    at.weight = is_right ? at.weight - cut.left_weight : cut.left_weight;
    at.squares = is_right ? cut.right_squares : cut.left_squares,
    at.impurity = is_right ? measure[1].impurity : measure[0].impurity;
  }
  count_classes(at, is_split);
  if (is_split && lane == at.first) {
    DeviceNode node;
    node.impurity = at.impurity, node.weight = at.weight, node.key = at.key, node.tree = tree, node.n_rows = at.n;
    node.root = root, node.place = at.lefts * kTinyRows + at.first;
    out.nodes[at.node] = node;
  }
  std::int64_t* const totals = out.totals + std::int64_t{at.node} * out.n_classes;
  for (std::int32_t c = lane - at.first; is_split && c < out.n_classes; c += at.n) totals[c] = 0;
  __syncwarp();
  if (is_split && at.is_first) totals[at.cls()] = at.own;
}

// Finishes the nodes of `tiny`, a warp each, and leaves in `weight` of each which lanes begin a leaf. even, odd: where
// the rows of nodes of even and of odd depth lie. Shared: TinyDraw::bytes(). Reads a code a row and column, which is
// near its neighbours', and writes the new nodes.
static __global__ void finish_nodes(LevelNode* tiny, std::int64_t first, std::int64_t end, const CountedRow* even,
                                    const CountedRow* odd, DeviceTable table, TinyDraw draw, SplitRules rules,
                                    TinyForest out) {
  KEDGE_DYNAMIC_SHARED(std::uint16_t, shared_steps);
  __shared__ std::uint8_t orders[kTinyWarps][kTinyRows];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t i = first + std::int64_t{blockIdx.x} * kTinyWarps + warp;
  if (i >= end) return;
  const LevelNode root = tiny[i];
  std::uint8_t* const order = orders[warp];
  std::uint16_t* const steps = shared_steps + warp * kTinyRows * draw.width;
  const bool has_row = lane < root.n;
  const CountedRow own = has_row ? (root.depth % 2 == 0 ? even : odd)[root.begin + lane] : CountedRow{0, 0xff, 0};
  TinyLane at{.row = own.row,
              .drawn = std::uint32_t{own.cls} << 16 | own.draws,
              .first = has_row ? 0 : lane,
              .n = has_row ? root.n : 1,
              .node = root.node,
              .key = root.key,
              .weight = static_cast<std::uint32_t>(root.weight),
              .impurity = out.nodes[root.node].impurity,
              .is_open = has_row};
  count_classes(at, true);
  at.squares = has_row && at.is_first ? at.own * at.own : 0;
  for (int step = 16; step > 0; step /= 2) at.squares += __shfl_xor_sync(kFullWarp, at.squares, step);
  const double tree_weight = out.nodes[root.tree].weight, min_weight = rules.min_weight_leaf[root.tree];
  const std::int64_t min_rows = max(std::int64_t{1}, rules.limits.min_samples_leaf);
  for (std::int32_t depth = root.depth + 1;; ++depth) {
    const std::int32_t most = most_rows(at, at.is_open);
    if (most == 0) break;
    std::uint16_t* const of_node = steps + at.first / 2 * draw.width;   // an open node has two rows
    std::uint16_t* const columns = of_node + kTinyRows / 2 * draw.width;
    draw_tiny(at, draw, of_node, columns);
    const auto code_of = [&](std::int32_t column) {
      return static_cast<std::int32_t>(table.codes[column * table.n_rows + at.row]);
    };
    TinyCut best;
    bool varies = false;
    std::int32_t column = at.is_open ? columns[0] : 0, code = at.is_open ? code_of(column) : 0;
    for (std::int32_t k = 0; k < draw.width; ++k) {   // the next code comes while this one is scored
      const std::int32_t next = at.is_open && k + 1 < draw.width ? columns[k + 1] : 0,
                         next_code = at.is_open ? code_of(next) : 0;
      score_tiny(at, at.is_open, most, code, column, k, min_rows, min_weight, order, best, varies);
      column = next, code = next_code;
    }
    for (std::int32_t k = draw.width; k < draw.n_cols; ++k) {   // of further columns, the first that varies
      const bool looks = at.is_open && !varies;
      if (!__any_sync(kFullWarp, looks)) break;
      column = looks ? draw.late_column(at.key, k) : 0, code = looks ? code_of(column) : 0;
      score_tiny(at, looks, most, code, column, k, min_rows, min_weight, order, best, varies);
    }
    const TinyCut cut = choose_tiny(at, most, best);
    const NodeMeasure measure[2] = {measure_tiny(cut.left_weight, cut.left_squares),
                                    measure_tiny(at.weight - cut.left_weight, cut.right_squares)};
    const double improvement =
        split_improvement(tree_weight, {static_cast<double>(at.weight), at.impurity},
                          {measure[0].weight, measure[0].impurity}, {measure[1].weight, measure[1].impurity});
    const bool is_split = at.is_open && cut.column >= 0 && improvement + kPureImpurity >= rules.min_impurity_decrease;
    split_tiny(at, is_split, improvement, measure, cut, table, static_cast<std::int32_t>(i), root.tree, out, order);
    at.is_open = is_split && may_split(rules.limits, depth, at.n, at.weight, at.impurity, min_weight);
  }
  const unsigned leaves = __ballot_sync(kFullWarp, has_row && lane == at.first);
  if (lane == 0) tiny[i].weight = leaves;
}

// How many nodes are below each that finish_nodes() has made: twice its leaves, less one.
static __global__ void size_finished(DeviceNode* nodes, const LevelNode* tiny, std::int64_t begin, std::int64_t end) {
  const std::int64_t i = begin + own_item();
  if (i >= end) return;
  DeviceNode& node = nodes[i];
  const auto leaves = static_cast<std::uint32_t>(tiny[node.root].weight) >> node.place % kTinyRows;
  node.size = 2 * __popc(node.n_rows < 32 ? leaves & ((1u << node.n_rows) - 1) : leaves) - 1;
}

}   // namespace kedge::engine
