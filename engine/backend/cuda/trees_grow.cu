// Growing trees on the device, level by level, many trees per launch: draw columns, score their cuts, choose, part the rows.
// Histograms are integers and the formulas are shared with the CPU, so the trees are the same bit for bit.
#include <algorithm>
#include <stop_token>
#include <string>

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/trees_device.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

constexpr int kThreads = 64, kWarps = kThreads / 32;
constexpr std::int32_t kBins = 256;
constexpr std::int64_t kSlots = 1 << 21;   // columns of nodes that are scored by one launch
constexpr std::int32_t kExtraColumns = 16;

// The columns `first` .. first + width - 1 of each node's random order; a thread per node replays its Fisher-Yates shuffle without
// storing the order: a place that an earlier step swapped away holds what that step put there. O((first + width)^2) a node.
__global__ void draw_columns(const LevelNode* nodes, std::int64_t n_nodes, std::uint64_t seed, std::int32_t n_cols, std::int32_t first,
                             std::int32_t width, std::int32_t* swapped, std::int32_t* displaced, std::int32_t* columns) {
  const std::int64_t node = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (node >= n_nodes) return;
  const std::int32_t steps = first + width;
  std::int32_t* other = swapped + node * steps;
  std::int32_t* moved = displaced + node * steps;
  const auto at = [&](std::int32_t place, std::int32_t before) {
    for (std::int32_t i = before; i-- > 0;)
      if (other[i] == place) return moved[i];
    return place;
  };
  PhiloxBlock block{};
  for (std::int32_t j = 0; j < steps; ++j) {
    if (j % 4 == 0) block = philox(seed, nodes[node].key, static_cast<std::uint64_t>(j / 4));
    const auto place = j + static_cast<std::int32_t>(feature_step(block.word[j % 4], static_cast<std::uint32_t>(n_cols - j)));
    const std::int32_t column = at(place, j), here = at(j, j);
    other[j] = place, moved[j] = here;
    if (j >= first) columns[node * width + j - first] = column;
  }
}

// Inclusive sums of 256 counters by one warp.
__device__ void scan_bins(std::int32_t* bins) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  std::int32_t carry = 0;
  for (std::int32_t first = 0; first < kBins; first += 32) {
    std::int32_t sum = bins[first + lane];
    for (int step = 1; step < 32; step *= 2) {
      const std::int32_t before = __shfl_up_sync(kFullWarp, sum, step);
      if (lane >= step) sum += before;
    }
    bins[first + lane] = sum + carry;
    carry += __shfl_sync(kFullWarp, sum, 31);
  }
}

struct TreeWeights {
  const double* class_weight;   // trees x n_classes, or null
  const double* min_weight_leaf;
  bool entropy;
  std::int64_t min_rows;
  __device__ CutRules rules(std::int32_t tree, std::int32_t n_classes) const {
    return {entropy, class_weight ? class_weight + std::int64_t{tree} * n_classes : nullptr, min_weight_leaf[tree]};
  }
};

// The best cut of one column in one node per block; the lowest of equal ones. Shared: (n_classes + 1) x 256 counters, the last for
// rows. Reads 9 bytes a row (8 coalesced, the code near its neighbours, as rows stay in order) and adds 2 shared atomics; for
// nodes below about 500 rows clearing and scanning the counters, 2,816 words for ten classes, is the limit instead.
__global__ void score_columns(const LevelNode* nodes, const DeviceRow* rows, const std::int32_t* counts, const std::uint8_t* codes,
                              std::int64_t n_table, const std::int32_t* columns, std::int32_t width, std::int32_t n_classes,
                              TreeWeights weights, DeviceCut* cuts) {
  KEDGE_DYNAMIC_SHARED(std::int32_t, histogram);
  __shared__ double best_score[kWarps];
  __shared__ std::int32_t best_bin[kWarps], any_cut[kWarps];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const std::int64_t slot = blockIdx.x, at = slot / width;
  const LevelNode node = nodes[at];
  const std::int32_t column = columns[slot];
  std::int32_t* bin_rows = histogram + n_classes * kBins;
  for (std::int32_t i = thread; i < (n_classes + 1) * kBins; i += kThreads) histogram[i] = 0;
  __syncthreads();
  for (std::int32_t i = thread; i < node.n; i += kThreads) {
    const DeviceRow row = rows[node.begin + i];
    const std::int32_t code = codes[column * n_table + row.row];
    atomicAdd(&histogram[row.cls * kBins + code], static_cast<std::int32_t>(row.weight));
    atomicAdd(&bin_rows[code], 1);
  }
  __syncthreads();
  for (std::int32_t c = warp; c <= n_classes; c += kWarps) scan_bins(histogram + c * kBins);
  __syncthreads();

  const CutRules rules = weights.rules(node.tree, n_classes);
  double score = kRefusedCut;
  std::int32_t bin = kBins, varies = 0;
  for (std::int32_t b = thread; b < kBins; b += kThreads) {
    const std::int32_t left_rows = bin_rows[b];
    if (left_rows == (b ? bin_rows[b - 1] : 0) || left_rows == node.n) continue;   // not in the node, or nothing to its right
    varies = 1;
    if (left_rows < weights.min_rows || node.n - left_rows < weights.min_rows) continue;
    const double cut = cut_score(rules, n_classes, counts + at * n_classes, node.drawn,
                                 [&](std::int32_t c) { return histogram[c * kBins + b]; });
    if (cut > score) score = cut, bin = b;   // b rises
  }
  for (int step = 16; step > 0; step /= 2) {
    const double other = __shfl_down_sync(kFullWarp, score, step);
    const std::int32_t other_bin = __shfl_down_sync(kFullWarp, bin, step);
    varies |= __shfl_down_sync(kFullWarp, varies, step);
    if (other > score || (other == score && other_bin < bin)) score = other, bin = other_bin;
  }
  if (lane == 0) best_score[warp] = score, best_bin[warp] = bin, any_cut[warp] = varies;
  __syncthreads();
  if (thread != 0) return;
  for (int w = 1; w < kWarps; ++w) {
    varies |= any_cut[w];
    if (best_score[w] > score || (best_score[w] == score && best_bin[w] < bin)) score = best_score[w], bin = best_bin[w];
  }
  std::int32_t next = bin + 1;
  while (next < kBins && bin_rows[next] == bin_rows[bin]) ++next;
  cuts[slot] = {score, column, static_cast<std::int16_t>(bin), static_cast<std::int16_t>(next), varies};
}

// The best of a node's columns, the first drawn of equal ones. `extra`: the columns beyond max_features, of which only the first
// that varies counts.
__global__ void choose_cuts(const DeviceCut* cuts, std::int64_t n_nodes, std::int32_t width, bool extra, DeviceCut* chosen) {
  const std::int64_t node = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (node >= n_nodes) return;
  DeviceCut best;
  for (std::int32_t k = 0; k < width && !(extra && best.varies); ++k) {
    const DeviceCut cut = cuts[node * width + k];
    const std::int32_t varies = best.varies | cut.varies;
    if (cut.score > best.score) best = cut;
    best.varies = varies;
  }
  chosen[node] = best;
}

// Copies the rows of each node, one block each, left ones first and in order; counts the draws on the left by class. Moves 16 bytes and
// reads 2 codes a row.
__global__ void part_rows(const LevelNode* nodes, const DeviceCut* cuts, const DeviceRow* rows, const std::uint8_t* codes,
                          std::int64_t n_table, std::int32_t n_classes, DeviceRow* out, std::int32_t* left_rows,
                          std::int32_t* left_counts) {
  __shared__ std::int32_t warp_left[kWarps];
  const LevelNode node = nodes[blockIdx.x];
  const DeviceCut cut = cuts[blockIdx.x];
  if (cut.feature < 0) return;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const auto goes_left = [&](const DeviceRow& row) { return codes[cut.feature * n_table + row.row] <= cut.left_bin; };
  std::int32_t total = 0;
  for (std::int32_t first = 0; first < node.n; first += kThreads) {
    const std::int32_t i = first + thread;
    total += __syncthreads_count(i < node.n && goes_left(rows[node.begin + (i < node.n ? i : 0)]));
  }
  std::int32_t left_before = 0;   // of the chunks so far
  for (std::int32_t first = 0; first < node.n; first += kThreads) {
    const std::int32_t i = first + thread;
    const DeviceRow row = rows[node.begin + (i < node.n ? i : 0)];
    const bool left = i < node.n && goes_left(row);
    const unsigned ballot = __ballot_sync(kFullWarp, left);
    if (lane == 0) warp_left[warp] = __popc(ballot);
    __syncthreads();
    std::int32_t before = left_before + __popc(ballot & ((1u << lane) - 1));
    for (int w = 0; w < warp; ++w) before += warp_left[w];
    for (int w = 0; w < kWarps; ++w) left_before += warp_left[w];
    if (left) {
      out[node.begin + before] = row;
      atomicAdd(&left_counts[static_cast<std::int64_t>(blockIdx.x) * n_classes + row.cls], static_cast<std::int32_t>(row.weight));
    } else if (i < node.n) {
      out[node.begin + total + i - before] = row;
    }
    __syncthreads();
  }
  if (thread == 0) left_rows[blockIdx.x] = total;
}

template <class T>
Array<T> upload(CudaRuntime& runtime, const std::vector<T>& host) {
  return Array<T>(runtime, std::span<const T>(host));
}

// A batch of trees while it grows.
class Batch {
 public:
  Batch(CudaRuntime& runtime, const DeviceForestInput& input, std::int64_t first, const std::vector<std::vector<std::uint32_t>>& drawn,
        const std::stop_token& stop)
      : runtime_(runtime), in_(input), stop_(stop), shared_bytes_((std::size_t{1} + input.n_classes) * kBins * 4) {
    if (shared_bytes_ + 1024 > runtime.max_shared_bytes())
      throw schema::Error(schema::ErrorCode::kInvalidValue, "a forest for " + std::to_string(input.n_classes) +
                          " classes on a GPU, at most " + std::to_string((runtime.max_shared_bytes() - 1024) / 1024 - 1) + " are possible");
    take_rows(first, drawn);
  }

  std::vector<Forest> grow() {
    while (!level_.empty()) split_level();
    std::vector<Forest> trees;
    for (std::size_t t = 0; t < drafts_.size(); ++t) {
      if (in_.options.max_leaf_nodes > 0)
        expand_best_first(drafts_[t], in_.options.max_leaf_nodes, [&](std::int32_t node) { return wanted_[t][node]; });
      trees.push_back(finish_tree(drafts_[t], in_.n_classes, in_.table.edges, in_.table.n_cols,
                                  [&](std::int32_t node, Forest& out) { drafts_[t].append_value(node, rules_[t], out); }));
    }
    return trees;
  }

 private:
  // A node of the level with what only the host knows of it.
  struct HostNode {
    LevelNode device;
    std::int32_t node;
  };

  void take_rows(std::int64_t first, const std::vector<std::vector<std::uint32_t>>& drawn) {
    std::vector<DeviceRow> rows;
    std::vector<double> class_weight, min_weight;
    for (std::size_t t = 0; t < drawn.size(); ++t) {
      const auto begin = static_cast<std::int64_t>(rows.size());
      std::vector<std::int32_t> counts(static_cast<std::size_t>(in_.n_classes));
      for (std::size_t i = 0; i < drawn[t].size(); ++i) {
        if (drawn[t][i] == 0) continue;
        const std::int64_t row = in_.rows_host.empty() ? static_cast<std::int64_t>(i) : in_.rows_host[i];
        const std::int32_t cls = in_.y_host[row];
        rows.push_back({static_cast<std::uint32_t>(row), static_cast<std::uint16_t>(cls), static_cast<std::uint16_t>(drawn[t][i])});
        counts[cls] += static_cast<std::int32_t>(drawn[t][i]);
      }
      rules_.push_back(make_rules(in_.options, counts));
      drafts_.emplace_back(in_.n_classes);
      wanted_.emplace_back();
      drafts_[t].add(counts.data(), 0, tree_root_key(first + static_cast<std::int64_t>(t)), rules_[t]);
      add_to_level(static_cast<std::int32_t>(t), 0, begin, static_cast<std::int64_t>(rows.size()) - begin);
      class_weight.insert(class_weight.end(), rules_[t].class_weight.begin(), rules_[t].class_weight.end());
      min_weight.push_back(rules_[t].min_weight_leaf);
    }
    level_.swap(next_level_);
    rows_ = upload(runtime_, rows), parted_ = Array<DeviceRow>(runtime_, rows_.size());
    class_weight_ = upload(runtime_, class_weight), min_weight_ = upload(runtime_, min_weight);
  }

  void add_to_level(std::int32_t t, std::int32_t node, std::int64_t begin, std::int64_t n) {
    wanted_[t].resize(drafts_[t].nodes.size());
    const DraftNode& at = drafts_[t].nodes[node];
    if (!may_split(at, n, in_.options, rules_[t])) return;
    std::int64_t draws = 0;
    for (const std::int32_t count : drafts_[t].counts_of(node)) draws += count;
    next_level_.push_back({{begin, draws, at.key, static_cast<std::int32_t>(n), t}, node});
  }

  void split_level() {
    const auto steps = std::max<std::int64_t>(1, in_.options.max_features);
    const std::int64_t chunk = std::max<std::int64_t>(1, kSlots / steps);
    for (std::int64_t begin = 0; begin < static_cast<std::int64_t>(level_.size()); begin += chunk)
      split_chunk({level_.begin() + begin, level_.begin() + std::min<std::int64_t>(begin + chunk, static_cast<std::int64_t>(level_.size()))});
    std::swap(rows_, parted_);
    level_.swap(next_level_);
    next_level_.clear();
  }

  void split_chunk(const std::vector<HostNode>& nodes) {
    if (stop_.stop_requested()) throw schema::Error(schema::ErrorCode::kCancelled, "the job was cancelled");
    std::vector<DeviceCut> cuts = find_cuts(nodes, 0, in_.options.max_features);
    std::int32_t first = in_.options.max_features;
    for (std::vector<HostNode> constant; first < in_.table.n_cols; first += kExtraColumns) {
      constant.clear();
      std::vector<std::size_t> of;
      for (std::size_t i = 0; i < nodes.size(); ++i)
        if (!cuts[i].varies) constant.push_back(nodes[i]), of.push_back(i);
      if (constant.empty()) break;
      const std::vector<DeviceCut> more = find_cuts(constant, first, kExtraColumns);
      for (std::size_t i = 0; i < of.size(); ++i) cuts[of[i]] = more[i];
    }
    part(nodes, cuts);
  }

  std::vector<LevelNode> device_nodes(const std::vector<HostNode>& nodes) const {
    std::vector<LevelNode> device;
    for (const HostNode& node : nodes) device.push_back(node.device);
    return device;
  }

  // The best cut of each node among the columns first .. first + width - 1 of its order.
  std::vector<DeviceCut> find_cuts(const std::vector<HostNode>& host, std::int32_t first, std::int32_t width) {
    const auto n = static_cast<std::int64_t>(host.size());
    const auto n_cols = static_cast<std::int32_t>(in_.table.n_cols);
    width = std::min(width, n_cols - first);
    std::vector<std::int32_t> node_counts;
    for (const HostNode& node : host) {
      const auto counts = drafts_[node.device.tree].counts_of(node.node);
      node_counts.insert(node_counts.end(), counts.begin(), counts.end());
    }
    const Array<LevelNode> nodes = upload(runtime_, device_nodes(host));
    const Array<std::int32_t> counts = upload(runtime_, node_counts);
    Array<std::int32_t> swapped(runtime_, n * (first + width)), displaced(runtime_, n * (first + width)), columns(runtime_, n * width);
    Array<DeviceCut> cuts(runtime_, n * width), chosen(runtime_, n);
    KEDGE_LAUNCH(runtime_, draw_columns, blocks_for(n, kThreads), kThreads, 0, nodes.data(), n, in_.options.seed, n_cols, first, width,
                 swapped.data(), displaced.data(), columns.data());
    const TreeWeights weights{class_weight_.size() > 0 ? class_weight_.data() : nullptr, min_weight_.data(),
                              in_.options.criterion == Criterion::kEntropy, std::max<std::int64_t>(1, in_.options.min_samples_leaf)};
    KEDGE_LAUNCH(runtime_, score_columns, blocks_for(n * width, 1), kThreads, shared_bytes_, nodes.data(), rows_.data(), counts.data(),
                 in_.table.codes.data(), in_.table.n_rows, columns.data(), width, in_.n_classes, weights, cuts.data());
    KEDGE_LAUNCH(runtime_, choose_cuts, blocks_for(n, kThreads), kThreads, 0, cuts.data(), n, width, first > 0, chosen.data());
    return chosen.to_host();
  }

  void part(const std::vector<HostNode>& host, const std::vector<DeviceCut>& cuts_host) {
    const auto n = static_cast<std::int64_t>(host.size());
    const Array<LevelNode> nodes = upload(runtime_, device_nodes(host));
    const Array<DeviceCut> cuts = upload(runtime_, cuts_host);
    Array<std::int32_t> left_rows(runtime_, n), left_counts(runtime_, n * in_.n_classes);
    left_counts.zero();
    left_rows.zero();
    KEDGE_LAUNCH(runtime_, part_rows, blocks_for(n, 1), kThreads, 0, nodes.data(), cuts.data(), rows_.data(), in_.table.codes.data(),
                 in_.table.n_rows, in_.n_classes, parted_.data(), left_rows.data(), left_counts.data());
    const std::vector<std::int32_t> rows_left = left_rows.to_host(), counts_left = left_counts.to_host();
    for (std::int64_t i = 0; i < n; ++i)
      if (cuts_host[i].feature >= 0 && cuts_host[i].score > kRefusedCut)
        add_children(host[i], cuts_host[i], rows_left[i], counts_left.data() + i * in_.n_classes);
  }

  void add_children(const HostNode& host, const DeviceCut& cut, std::int32_t n_left, const std::int32_t* left_counts) {
    const std::int32_t t = host.device.tree;
    ClassDraft& draft = drafts_[t];
    const auto counts = draft.counts_of(host.node);
    std::vector<std::int32_t> right_counts(counts.begin(), counts.end());
    for (std::int32_t c = 0; c < in_.n_classes; ++c) right_counts[c] -= left_counts[c];
    const DraftNode at = draft.nodes[host.node];
    const std::int32_t left = draft.add(left_counts, at.depth + 1, tree_child_key(at.key, false), rules_[t]);
    const std::int32_t right = draft.add(right_counts.data(), at.depth + 1, tree_child_key(at.key, true), rules_[t]);
    DraftNode& split = draft.nodes[host.node];
    split.feature = cut.feature, split.left = left, split.right = right;
    split.left_bin = cut.left_bin, split.right_bin = cut.right_bin;
    wanted_[t].resize(draft.nodes.size());
    if (!draft.accept_split(host.node, in_.options.min_impurity_decrease)) return;
    wanted_[t][host.node] = true;
    draft.nodes[host.node].expanded = in_.options.max_leaf_nodes == 0;
    add_to_level(t, left, host.device.begin, n_left);
    add_to_level(t, right, host.device.begin + n_left, host.device.n - n_left);
  }

  CudaRuntime& runtime_;
  const DeviceForestInput& in_;
  const std::stop_token& stop_;
  std::size_t shared_bytes_;
  std::vector<TreeRules> rules_;
  std::vector<ClassDraft> drafts_;
  std::vector<std::vector<bool>> wanted_;   // by tree and node: it has a split that may be taken
  std::vector<HostNode> level_, next_level_;
  Array<DeviceRow> rows_, parted_;
  Array<double> class_weight_, min_weight_;
};

}  // namespace

std::vector<Forest> grow_batch(CudaRuntime& runtime, const DeviceForestInput& input, std::int64_t first,
                               const std::vector<std::vector<std::uint32_t>>& drawn, const std::stop_token& stop) {
  return Batch(runtime, input, first, drawn, stop).grow();
}

}  // namespace kedge::engine
