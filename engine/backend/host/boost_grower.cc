// Grows a tree of boosting: the best leaf is cut, the smaller child's histogram is added up, the larger child's is what
// is left of the parent's.
#include "engine/backend/host/boost_grower.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/backend/host/row_chunks.h"
#include "engine/backend/simd.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kDirectRows = 512;   // nodes up to this are added up without a block of packed numbers
constexpr int kCodes = 256;
// -> packed numbers.
KEDGE_CLONES void pack_rows(const BoostUnits units, std::uint32_t key, const double* g, const double* h,
                            std::int64_t begin, std::int64_t end, std::uint64_t* out) {
  for (std::int64_t i = begin; i < end; ++i)
    out[i] = packed_row(units, key, static_cast<std::uint32_t>(i), g[i], h ? h[i] : 0, h != nullptr);
}

struct Peaks {
  double gradient = 0, hessian = 0;
  bool is_finite = true;
};
KEDGE_CLONES Peaks peaks_of(const double* g, const double* h, std::int64_t begin, std::int64_t end) {
  double largest = 0, second = 0, rest = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const double a = g[i] < 0 ? -g[i] : g[i];
    largest = a > largest ? a : largest;
    rest += a * 0.0;   // NaN where it is not finite
  }
  for (std::int64_t i = begin; h && i < end; ++i) second = h[i] > second ? h[i] : second, rest += h[i] * 0.0;
  return {largest, second, rest == 0};
}

// histogram[j * kCodes + code] += the packed number of each row, for W columns of a group, one behind the other.
template <int W>
void add_block(const std::uint8_t* codes, const std::uint32_t* rows, std::int64_t n, const std::uint64_t* packed,
               std::uint64_t* histogram) {
  constexpr std::int64_t kAhead = 24;
  for (std::int64_t i = 0; i < n; ++i) {
    __builtin_prefetch(codes + std::int64_t{rows[i + kAhead]} * kBoostGroup);   // rows_ has as many places more
    const std::uint64_t value = packed[rows[i]];
    const std::uint8_t* const code = codes + std::int64_t{rows[i]} * kBoostGroup;
    for (int j = 0; j < W; ++j) histogram[j * kCodes + code[j]] += value;
  }
}
using AddBlock = void (*)(const std::uint8_t*, const std::uint32_t*, std::int64_t, const std::uint64_t*,
                          std::uint64_t*);
template <std::size_t... I>
constexpr std::array<AddBlock, sizeof...(I)> add_blocks(std::index_sequence<I...>) {
  return {&add_block<static_cast<int>(I) + 1>...};
}
constexpr auto kAddBlock = add_blocks(std::make_index_sequence<kBoostGroup>());
constexpr std::int64_t kSpareRows = 32;   // behind rows_, for prefetching

BoostSum unpacked(std::uint64_t value, int count_bits, int hessian_bits) {
  return BoostSum{packed_gradient(value, count_bits, hessian_bits), packed_rest(value, count_bits, hessian_bits)};
}

// The same of n numbers, added to the pairs of sums behind each other.
using Lane [[gnu::may_alias]] = std::int64_t;
KEDGE_CLONES void add_unpacked(const std::uint64_t* packed, int n, int count_bits, int hessian_bits, Lane* sums) {
  for (int b = 0; b < n; ++b) {
    sums[2 * b] += packed_gradient(packed[b], count_bits, hessian_bits);
    sums[2 * b + 1] += packed_rest(packed[b], count_bits, hessian_bits);
  }
}

}   // namespace

BoostGrower::BoostGrower(const BoostTable& table, const BoostRules& rules) : table_(table), rules_(rules) {
  std::int64_t size = 0;
  for (const BoostColumn& column : table.columns) offset_.push_back(size), size += column.n_bins() + 1;
  offset_.push_back(size);
  rows_.resize(static_cast<std::size_t>(table.n_rows + kSpareRows));
  scratch_.resize(rows_.size());
  if (table.n_rows <= kFewBoostRows) exact_.resize(static_cast<std::size_t>(table.n_rows));
  else packed_.resize(static_cast<std::size_t>(table.n_rows));
}

void BoostGrower::grow(std::span<const double> gradients, std::span<const double> hessians, std::uint64_t number,
                       BoostForest& forest) {
  forest_ = &forest, number_ = number, root_id_ = forest.n_nodes(), ranks_.emplace(table_);
  leaves_.clear(), heap_.clear(), free_.clear();
  for (std::size_t i = 0; i < pool_.size(); ++i) free_.push_back(static_cast<std::int32_t>(i));
  std::iota(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(table_.n_rows), 0U);
  measure(gradients, hessians);
  quantise(gradients, hessians, number);
  push(root());
  while (!heap_.empty()) {
    check_job_stop();
    std::ranges::pop_heap(heap_, [](const Node& a, const Node& b) { return a.is_worse(b); });
    Node best = std::move(heap_.back());
    heap_.pop_back();
    expand(std::move(best));
  }
  value_leaves(gradients, hessians);
  forest.tree_offset.push_back(forest.n_nodes());
}

void BoostGrower::measure(std::span<const double> gradients, std::span<const double> hessians) {
  std::vector<Peaks> peaks(static_cast<std::size_t>(row_chunks(table_.n_rows)));
  for_row_chunks(table_.n_rows, 1, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    peaks[static_cast<std::size_t>(chunk)] =
        peaks_of(gradients.data(), hessians.empty() ? nullptr : hessians.data(), begin, end);
  });
  largest_gradient_ = 0, largest_hessian_ = hessians.empty() ? 1 : 0;
  for (const Peaks& peak : peaks) {
    require_finite_gradients(peak.is_finite, number_);
    largest_gradient_ = std::max(largest_gradient_, peak.gradient),
    largest_hessian_ = std::max(largest_hessian_, peak.hessian);
  }
}

void BoostGrower::quantise(std::span<const double> gradients, std::span<const double> hessians, std::uint64_t number) {
  units_ = boost_units(largest_gradient_, largest_hessian_, !hessians.empty(), table_.n_rows);
  judge_.l2 = rules_.l2, judge_.least_rows = rules_.min_samples_leaf, judge_.count_bits = units_.count_bits;
  judge_.gradient_unit = units_.gradient_unit, judge_.hessian_unit = units_.hessian_unit;
  const double g_scale = units_.gradient_scale, h_scale = units_.hessian_scale;
  const bool few = !exact_.empty();
  const double* const h = hessians.empty() ? nullptr : hessians.data();
  const std::uint32_t key = boost_dither_key(number);
  std::vector<BoostSum> sums(static_cast<std::size_t>(row_chunks(table_.n_rows)));
  for_row_chunks(table_.n_rows, 3, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    BoostSum sum{};
    if (!few) pack_rows(units_, key, gradients.data(), h, begin, end, packed_.data());
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (few)   // rounded to float32 as in scikit-learn, so that sums are its sums
        exact_[at] = BoostSum{std::llrint(double{static_cast<float>(gradients[at])} * g_scale),
                              (h ? std::llrint(double{static_cast<float>(h[i])} * h_scale) : 1) << kFewCountBits | 1};
      sum += few ? exact_[at] : unpacked(packed_[at], units_.packed_count_bits, units_.hessian_bits);
    }
    sums[static_cast<std::size_t>(chunk)] = sum;
  });
  root_sum_ = std::accumulate(sums.begin(), sums.end(), BoostSum{});
}

BoostGrower::Node BoostGrower::root() {
  Node node(boost_root(rules_, table_.n_rows, root_sum_));
  append_node(*forest_, root_id_, node);
  if (node.size() >= 2 * rules_.min_samples_leaf && judge_.hessian(node.cuts.sum) >= judge_.least_hessian) {
    Node* const list[] = {&node};
    search(list, nullptr);
  }
  return node;
}

void BoostGrower::push(Node node) {
  if (node.cut.gain <= 0) return finish(node);
  heap_.push_back(std::move(node));
  std::ranges::push_heap(heap_, [](const Node& a, const Node& b) { return a.is_worse(b); });
}

void BoostGrower::finish(const Node& node) {
  leaves_.push_back(
      {.node = node.id, .begin = node.begin, .end = node.end, .low = node.value_low, .high = node.value_high});
  if (node.histogram >= 0) free_.push_back(node.histogram);
}

void BoostGrower::expand(Node node) {
  const std::int64_t n_leaves = static_cast<std::int64_t>(leaves_.size() + heap_.size()) + 2;
  auto [left, right] = part(node);
  const bool is_full = rules_.max_leaves > 0 && n_leaves == rules_.max_leaves;
  std::vector<Node*> open;
  for (Node* child : {&left, &right})
    if (!is_full && may_cut(rules_, *child)) open.push_back(child);
  if (open.empty()) {
    if (node.histogram >= 0) free_.push_back(node.histogram);
  } else {
    Node *const smaller = left.size() < right.size() ? &left : &right, *const larger =
                                                                           smaller == &left ? &right : &left;
    smaller->histogram = take_histogram(),
    larger->histogram = node.histogram;   // the parent's becomes the larger child's
    Node* const pair[] = {smaller, larger};
    for (Node* child : pair)
      child->cut.gain = std::ranges::find(open, child) != open.end() ? 0 : -1;   // 0: to be searched
    search(pair, &node);
  }
  push(std::move(left)), push(std::move(right));
  if (!is_full) return;
  for (const Node& rest : heap_) finish(rest);
  heap_.clear();
}

std::pair<BoostGrower::Node, BoostGrower::Node> BoostGrower::part(const Node& node) {
  const std::int64_t n_left = part_rows(node);
  auto children = boost_children(judge_, rules_, node, n_left);
  std::pair<Node, Node> result{Node(std::move(children.first)), Node(std::move(children.second))};
  append_node(*forest_, root_id_, result.first), append_node(*forest_, root_id_, result.second);
  put_cut(*forest_, root_id_, table_.columns, node, result.first.id, n_left);
  return result;
}

// Moves the rows that go left before the others, each in order; chunks of rows by themselves, then to their places.
std::int64_t BoostGrower::part_rows(const Node& node) {
  constexpr std::int64_t kPartNs = 2;
  const BoostCut& cut = node.cut;
  const std::array<std::uint8_t, kCodes> goes_left =
      left_codes(cut, table_.columns[static_cast<std::size_t>(cut.column)]);
  const std::uint8_t* const codes = table_.column(cut.column);
  const std::int64_t n = node.size(),
                     n_chunks =
                         n * kPartNs < kAloneNs
                             ? 1
                             : std::max<std::int64_t>(1, std::min<std::int64_t>(omp_get_max_threads(), n / kRowChunk));
  std::vector<std::int64_t> n_left(static_cast<std::size_t>(n_chunks));
  std::uint32_t *const rows = rows_.data() + node.begin, *const scratch = scratch_.data() + node.begin;
  for_tasks(n_chunks, n * kPartNs, [&](std::int64_t c) {
    const std::int64_t begin = c * n / n_chunks, end = (c + 1) * n / n_chunks;
    std::uint32_t *left = rows + begin,
                  *right = scratch + begin;   // the left ones stay in the chunk: never before they are read
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint32_t row = rows[i];
      const std::uint8_t goes = goes_left[codes[row]];
      *left = row, *right = row;
      left += goes, right += 1 - goes;
    }
    n_left[static_cast<std::size_t>(c)] = left - (rows + begin);
  });
  std::int64_t place = 0;
  for (std::int64_t c = 0; c < n_chunks; ++c) {
    std::copy_n(rows + c * n / n_chunks, n_left[static_cast<std::size_t>(c)], rows + place);
    place += n_left[static_cast<std::size_t>(c)];
  }
  const std::int64_t total = place;
  for (std::int64_t c = 0; c < n_chunks; ++c) {
    const std::int64_t begin = c * n / n_chunks,
                       n_right = (c + 1) * n / n_chunks - begin - n_left[static_cast<std::size_t>(c)];
    std::copy_n(scratch + begin, n_right, rows + place);
    place += n_right;
  }
  return total;
}

std::int32_t BoostGrower::take_histogram() {
  if (free_.empty()) {
    free_.push_back(static_cast<std::int32_t>(pool_.size()));
    pool_.emplace_back(static_cast<std::size_t>(offset_.back()));
  }
  const std::int32_t taken = free_.back();
  free_.pop_back();
  return taken;
}

// Histograms and best cuts: of the root alone, or of the two children of a parent, the smaller first. Each task is a
// piece of this rank's columns.
void BoostGrower::search(std::span<Node* const> nodes, const Node* parent) {
  if (!parent) nodes[0]->histogram = take_histogram(), nodes[0]->cut.gain = 0;
  std::array<std::vector<std::uint8_t>, 2> masks;
  std::array<std::vector<BoostCut>, 2> cuts;
  for (std::size_t k = 0; k < nodes.size(); ++k)
    masks[k] = allowed_columns(rules_, table_.n_cols(), number_, *nodes[k]),
    cuts[k].resize(static_cast<std::size_t>(table_.n_cols()));
  const std::int64_t cost =
      nodes[0]->size() * table_.n_cols() / 2 + offset_.back() * 2 * static_cast<std::int64_t>(nodes.size());
  const auto cut_piece = [&](const BoostPiece& piece) {
    const std::int64_t begin = offset_[static_cast<std::size_t>(piece.first)],
                       end = offset_[static_cast<std::size_t>(piece.first + piece.width)];
    BoostSum* const own = pool_[static_cast<std::size_t>(nodes[0]->histogram)].data();
    std::fill(own + begin, own + end, BoostSum{});
    add_rows(piece, *nodes[0], own);
    if (parent) {
      BoostSum* const rest = pool_[static_cast<std::size_t>(nodes[1]->histogram)].data();
      for (std::int64_t i = begin; i < end; ++i) rest[i] -= own[i];
    }
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      if (nodes[k]->cut.gain < 0) continue;
      const BoostSum* const bins = pool_[static_cast<std::size_t>(nodes[k]->histogram)].data();
      for (std::int64_t j = piece.first; j < piece.first + piece.width; ++j) {
        const auto at = static_cast<std::size_t>(j);
        if (!masks[k][at]) continue;
        cuts[k][at] = best_cut(judge_, nodes[k]->cuts, table_.columns[at], bins + offset_[at],
                               rules_.monotonic.empty() ? 0 : rules_.monotonic[at]);
        cuts[k][at].column = static_cast<std::int32_t>(j);
      }
    }
  };
  const std::vector<BoostPiece>& pieces = ranks_->own();
  const auto cut_all = [&] {
    for_tasks(std::ssize(pieces), cost, [&](std::int64_t i) { cut_piece(pieces[static_cast<std::size_t>(i)]); });
  };
  ranks_->share(cut_all, cuts);
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (nodes[k]->cut.gain < 0) continue;
    BoostCut best;
    for (const std::int32_t j : rules_.order)
      if (cuts[k][static_cast<std::size_t>(j)].gain > best.gain) best = cuts[k][static_cast<std::size_t>(j)];
    nodes[k]->cut = best;
  }
}

void BoostGrower::add_rows(const BoostPiece& piece, const Node& node, BoostSum* histogram) const {
  const BoostGroup& group = table_.groups[static_cast<std::size_t>(piece.group)];
  const std::uint8_t* const codes = table_.group(piece.group) + (piece.first - group.first);
  if (exact_.empty() && node.size() > kDirectRows) return add_packed(piece, codes, node, histogram);
  const std::int64_t* const offset = offset_.data() + piece.first;
  for (std::int64_t i = node.begin; i < node.end; ++i) {
    const std::uint32_t row = rows_[static_cast<std::size_t>(i)];
    const BoostSum sum =
        exact_.empty() ? unpacked(packed_[row], units_.packed_count_bits, units_.hessian_bits) : exact_[row];
    const std::uint8_t* const code = codes + std::int64_t{row} * kBoostGroup;
    for (int j = 0; j < piece.width; ++j) histogram[offset[j] + code[j]] += sum;
  }
}

void BoostGrower::add_packed(const BoostPiece& piece, const std::uint8_t* codes, const Node& node,
                             BoostSum* histogram) const {
  alignas(64) std::uint64_t packed[kBoostGroup * kCodes];
  for (std::int64_t begin = node.begin; begin < node.end; begin += kBoostBlock) {
    std::fill(packed, packed + piece.width * kCodes, 0);
    kAddBlock[static_cast<std::size_t>(piece.width - 1)](
        codes, rows_.data() + begin, std::min(kBoostBlock, node.end - begin), packed_.data(), packed);
    for (int j = 0; j < piece.width; ++j) {
      const auto column = static_cast<std::size_t>(piece.first + j);
      BoostSum* const bins = histogram + offset_[column];
      const int n = std::min(kCodes, table_.columns[column].n_bins() + 1);
      add_unpacked(packed + j * kCodes, n, units_.packed_count_bits, units_.hessian_bits,
                   reinterpret_cast<Lane*>(bins));
    }
  }
}

// By sums of whole numbers of 62 bits, so that their order does not matter and predictions know nothing of the rounding
// of gradients.
void BoostGrower::value_leaves(std::span<const double> gradients, std::span<const double> hessians) {
  const double g_scale = units_.value_gradient_scale, h_scale = units_.value_hessian_scale;
  std::ranges::sort(leaves_, {}, &BoostLeaf::begin);
  for_tasks(static_cast<std::int64_t>(leaves_.size()), table_.n_rows * 3, [&](std::int64_t l) {
    BoostLeaf& leaf = leaves_[static_cast<std::size_t>(l)];
    std::int64_t g = 0, h = 0;
    for (std::int64_t i = leaf.begin; i < leaf.end; ++i) {
      const std::uint32_t row = rows_[static_cast<std::size_t>(i)];
      g += static_cast<std::int64_t>(gradients[row] * g_scale);
      if (!hessians.empty()) h += static_cast<std::int64_t>(hessians[row] * h_scale);
    }
    const double hessian =
        hessians.empty() ? static_cast<double>(leaf.end - leaf.begin) : static_cast<double>(h) / h_scale;
    leaf.value = leaves_.size() == 1 ? 0
                                     : rules_.learning_rate * boost_value(static_cast<double>(g) / g_scale, hessian,
                                                                          rules_.l2, leaf.low, leaf.high);
    forest_->value[static_cast<std::size_t>(root_id_ + leaf.node)] = leaf.value;
  });
}

}   // namespace kedge::engine
