// Grows a tree of boosting: the best leaf is cut, the smaller child's histogram is added up, the larger child's is what
// is left of the parent's.
#include "engine/backend/host/boost_grower.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/backend/host/row_chunks.h"
#include "engine/backend/simd.h"
#include "engine/core/require.h"
#include "engine/core/rng.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kFewRows = 8192;     // up to which rows have exact_
constexpr std::int64_t kDirectRows = 512;   // nodes up to this are added up without a block of packed numbers
constexpr int kCodes = 256;
constexpr int kFewCountBits = 14, kManyCountBits = 28;   // CutJudge::count_bits: of few rows, and of 2^27
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The exponent e of the least 2^e that is not below x; 0 for 0.
int exponent_of(double x) {
  if (x == 0) return 0;
  int e;
  const double m = std::frexp(x, &e);
  return m == 0.5 ? e - 1 : e;
}
int bits_of(std::int64_t n) {
  return std::bit_width(static_cast<std::uint64_t>(n));
}

// Two numbers in [0, 1) that depend on a row and a tree alone.
struct Dither {
  double first, second;
};
inline __attribute__((always_inline)) Dither dither(std::uint32_t row, std::uint32_t tree) {
  std::uint32_t x = row * 0x9E3779B1U ^ tree;
  x ^= x >> 16, x *= 0x85EBCA6BU, x ^= x >> 13, x *= 0xC2B2AE35U, x ^= x >> 16;
  return {static_cast<double>(x & 0xffff) * 0x1p-16, static_cast<double>(x >> 16) * 0x1p-16};
}

// As whole numbers of 2^-k, rounded down after a share of one was added. -> packed numbers.
struct Packing {
  double gradient_scale, hessian_scale;   // of the units
  int count_bits, hessian_bits;
  std::uint32_t tree;
};
KEDGE_CLONES void pack_rows(const Packing p, const double* g, const double* h, std::int64_t begin, std::int64_t end,
                            std::uint64_t* out) {
  for (std::int64_t i = begin; i < end; ++i) {
    const Dither d = dither(static_cast<std::uint32_t>(i), p.tree);
    const double hessian = h ? std::floor(h[i] * p.hessian_scale + d.second) : 1.0;
    const auto first = static_cast<std::int64_t>(std::floor(g[i] * p.gradient_scale + d.first));
    const auto second = static_cast<std::int64_t>(hessian);
    out[i] = (static_cast<std::uint64_t>(first) << (p.count_bits + p.hessian_bits)) +
             (static_cast<std::uint64_t>(second) << p.count_bits) + 1;
  }
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
  const std::uint64_t count = value & ((std::uint64_t{1} << count_bits) - 1);
  const std::uint64_t second = value >> count_bits & ((std::uint64_t{1} << hessian_bits) - 1);
  return BoostSum{static_cast<std::int64_t>(value) >> (count_bits + hessian_bits),
                  static_cast<std::int64_t>(second << kManyCountBits | count)};
}

// The same of n numbers, added to the pairs of sums behind each other.
using Lane [[gnu::may_alias]] = std::int64_t;
KEDGE_CLONES void add_unpacked(const std::uint64_t* packed, int n, int count_bits, int hessian_bits, Lane* sums) {
  const std::uint64_t counts = (std::uint64_t{1} << count_bits) - 1, seconds = (std::uint64_t{1} << hessian_bits) - 1;
  for (int b = 0; b < n; ++b) {
    const std::uint64_t value = packed[b];
    sums[2 * b] += static_cast<std::int64_t>(value) >> (count_bits + hessian_bits);
    sums[2 * b + 1] += static_cast<std::int64_t>((value >> count_bits & seconds) << kManyCountBits | (value & counts));
  }
}

bool is_worse(double gain_a, std::int32_t id_a, double gain_b, std::int32_t id_b) {
  return gain_a != gain_b ? gain_a < gain_b : id_a > id_b;
}

}   // namespace

BoostGrower::BoostGrower(const BoostTable& table, const BoostRules& rules) : table_(table), rules_(rules) {
  std::int64_t size = 0;
  for (const BoostColumn& column : table.columns) offset_.push_back(size), size += column.n_bins() + 1;
  offset_.push_back(size);
  rows_.resize(static_cast<std::size_t>(table.n_rows + kSpareRows));
  scratch_.resize(rows_.size());
  if (table.n_rows <= kFewRows) exact_.resize(static_cast<std::size_t>(table.n_rows));
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
    std::ranges::pop_heap(heap_,
                          [](const Node& a, const Node& b) { return is_worse(a.cut.gain, a.id, b.cut.gain, b.id); });
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
    require(peak.is_finite, schema::ErrorCode::kBadData,
            "boosting: the gradients of tree {} are not finite: lower learning_rate, or scale the target", number_ + 1);
    largest_gradient_ = std::max(largest_gradient_, peak.gradient),
    largest_hessian_ = std::max(largest_hessian_, peak.hessian);
  }
}

void BoostGrower::quantise(std::span<const double> gradients, std::span<const double> hessians, std::uint64_t number) {
  const int g_exponent = exponent_of(largest_gradient_), h_exponent = exponent_of(largest_hessian_),
            n_bits = bits_of(table_.n_rows);
  judge_.l2 = rules_.l2, judge_.least_rows = rules_.min_samples_leaf;
  const bool few = !exact_.empty();
  block_ = std::min<std::int64_t>(4095, table_.n_rows);
  count_bits_ = bits_of(block_);
  judge_.count_bits = few ? kFewCountBits : kManyCountBits;
  const int most_h_bits = 62 - judge_.count_bits - n_bits;
  const int h_bits = hessians.empty() ? 0 : few ? most_h_bits : std::min(12, most_h_bits);
  hessian_bits_ = h_bits + count_bits_;
  const int g_bits = few ? std::min(52, 61 - n_bits) : 64 - 2 * count_bits_ - hessian_bits_ - 1;
  judge_.gradient_unit = std::ldexp(1.0, g_exponent - g_bits);
  judge_.hessian_unit = hessians.empty() ? 1 : std::ldexp(1.0, h_exponent - h_bits);
  const double g_scale = std::ldexp(1.0, g_bits - g_exponent), h_scale = std::ldexp(1.0, h_bits - h_exponent);
  const double* const h = hessians.empty() ? nullptr : hessians.data();
  const Packing packing{g_scale, h_scale, count_bits_, hessian_bits_,
                        static_cast<std::uint32_t>(number * 0x9E3779B97F4A7C15U >> 32)};
  std::vector<BoostSum> sums(static_cast<std::size_t>(row_chunks(table_.n_rows)));
  for_row_chunks(table_.n_rows, 3, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    BoostSum sum{};
    if (!few) pack_rows(packing, gradients.data(), h, begin, end, packed_.data());
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (few)   // rounded to float32 as in scikit-learn, so that sums are its sums
        exact_[at] = BoostSum{std::llrint(double{static_cast<float>(gradients[at])} * g_scale),
                              (h ? std::llrint(double{static_cast<float>(h[i])} * h_scale) : 1) << kFewCountBits | 1};
      sum += few ? exact_[at] : unpacked(packed_[at], count_bits_, hessian_bits_);
    }
    sums[static_cast<std::size_t>(chunk)] = sum;
  });
  root_sum_ = std::accumulate(sums.begin(), sums.end(), BoostSum{});
}

BoostGrower::Node BoostGrower::root() {
  Node node;
  node.cuts = {.sum = root_sum_, .value = 0, .low = -kInfinity, .high = kInfinity};
  node.value_low = -kInfinity, node.value_high = kInfinity;
  node.end = table_.n_rows;
  for (std::size_t i = 0; i < rules_.interactions.size(); ++i) node.sets.push_back(static_cast<std::int32_t>(i));
  append_node(node);
  if (node.size() >= 2 * rules_.min_samples_leaf && judge_.hessian(node.cuts.sum) >= judge_.least_hessian) {
    Node* const list[] = {&node};
    search(list, nullptr);
  }
  return node;
}

void BoostGrower::push(Node node) {
  if (node.cut.gain <= 0) return finish(node);
  heap_.push_back(std::move(node));
  std::ranges::push_heap(heap_,
                         [](const Node& a, const Node& b) { return is_worse(a.cut.gain, a.id, b.cut.gain, b.id); });
}

void BoostGrower::finish(const Node& node) {
  leaves_.push_back(
      {.node = node.id, .begin = node.begin, .end = node.end, .low = node.value_low, .high = node.value_high});
  if (node.histogram >= 0) free_.push_back(node.histogram);
}

void BoostGrower::expand(Node node) {
  const std::int64_t n_leaves = static_cast<std::int64_t>(leaves_.size() + heap_.size()) + 2;
  auto [left, right] = part(node);
  const bool is_full = rules_.max_leaves > 0 && n_leaves == rules_.max_leaves,
             is_deep = rules_.max_depth > 0 && left.depth == rules_.max_depth;
  std::vector<Node*> open;
  for (Node* child : {&left, &right})
    if (!is_full && !is_deep && child->size() >= 2 * rules_.min_samples_leaf) open.push_back(child);
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

std::pair<BoostGrower::Node, BoostGrower::Node> BoostGrower::part(Node& node) {
  const std::int64_t n_left = part_rows(node);
  const BoostCut& cut = node.cut;
  std::pair<Node, Node> children;
  auto& [left, right] = children;
  left.begin = node.begin, left.end = right.begin = node.begin + n_left, right.end = node.end;
  left.cuts.sum = cut.left_sum, right.cuts.sum = node.cuts.sum - cut.left_sum;
  for (Node* child : {&left, &right}) {
    child->depth = node.depth + 1, child->value_low = node.cuts.low, child->value_high = node.cuts.high;
    child->cuts.value = boost_value(judge_.gradient(child->cuts.sum), judge_.hessian(child->cuts.sum), judge_.l2,
                                    node.cuts.low, node.cuts.high);
    for (const std::int32_t set : node.sets)
      if (std::ranges::find(rules_.interactions[static_cast<std::size_t>(set)], cut.column) !=
          rules_.interactions[static_cast<std::size_t>(set)].end())
        child->sets.push_back(set);
    append_node(*child);
  }
  if (!table_.columns[static_cast<std::size_t>(cut.column)].has_missing)
    node.cut.missing_left = left.size() > right.size();
  set_cut(node, left.id);
  bound(node, left, right);
  return children;
}

// Monotonic cuts bound what lies below them by the middle of the two values.
void BoostGrower::bound(const Node& parent, Node& left, Node& right) const {
  left.cuts.low = right.cuts.low = parent.cuts.low, left.cuts.high = right.cuts.high = parent.cuts.high;
  const int sign = rules_.monotonic.empty() ? 0 : rules_.monotonic[static_cast<std::size_t>(parent.cut.column)];
  if (sign == 0) return;
  const double middle = (left.cuts.value + right.cuts.value) / 2;
  (sign > 0 ? left.cuts.high : left.cuts.low) = middle;
  (sign > 0 ? right.cuts.low : right.cuts.high) = middle;
}

// Moves the rows that go left before the others, each in order; chunks of rows by themselves, then to their places.
std::int64_t BoostGrower::part_rows(const Node& node) {
  constexpr std::int64_t kPartNs = 2;
  const BoostCut& cut = node.cut;
  const BoostColumn& column = table_.columns[static_cast<std::size_t>(cut.column)];
  std::array<std::uint8_t, kCodes> goes_left{};
  for (int code = 0; code <= column.n_bins() && code < kCodes; ++code)
    goes_left[static_cast<std::size_t>(code)] = cut.is_category           ? cut.left.has(code)
                                                : code == column.n_bins() ? cut.missing_left
                                                                          : code <= cut.bin;
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

// By column, 1 where the node may look at it: what interactions leave, and of that a random share.
std::vector<std::uint8_t> BoostGrower::allowed(const Node& node) const {
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(table_.n_cols()), rules_.interactions.empty() ? 1 : 0);
  for (const std::int32_t set : node.sets)
    for (const std::int32_t column : rules_.interactions[static_cast<std::size_t>(set)])
      mask[static_cast<std::size_t>(column)] = 1;
  if (rules_.max_features >= 1) return mask;
  std::vector<std::int32_t> columns;
  for (std::size_t j = 0; j < mask.size(); ++j)
    if (mask[j]) columns.push_back(static_cast<std::int32_t>(j));
  const auto n = static_cast<std::int64_t>(columns.size());
  const auto kept =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(rules_.max_features * static_cast<double>(n))));
  PhiloxStream random(rules_.seed, number_ << 24 | static_cast<std::uint64_t>(node.id));
  for (std::int64_t i = 0; i < n; ++i) {
    std::swap(columns[static_cast<std::size_t>(i)],
              columns[static_cast<std::size_t>(i + random.below(static_cast<std::uint32_t>(n - i)))]);
    if (i >= kept) mask[static_cast<std::size_t>(columns[static_cast<std::size_t>(i)])] = 0;
  }
  return mask;
}

// Histograms and best cuts: of the root alone, or of the two children of a parent, the smaller first. Each task is a
// piece of this rank's columns.
void BoostGrower::search(std::span<Node* const> nodes, const Node* parent) {
  if (!parent) nodes[0]->histogram = take_histogram(), nodes[0]->cut.gain = 0;
  std::array<std::vector<std::uint8_t>, 2> masks;
  std::array<std::vector<BoostCut>, 2> cuts;
  for (std::size_t k = 0; k < nodes.size(); ++k)
    masks[k] = allowed(*nodes[k]), cuts[k].resize(static_cast<std::size_t>(table_.n_cols()));
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
    const BoostSum sum = exact_.empty() ? unpacked(packed_[row], count_bits_, hessian_bits_) : exact_[row];
    const std::uint8_t* const code = codes + std::int64_t{row} * kBoostGroup;
    for (int j = 0; j < piece.width; ++j) histogram[offset[j] + code[j]] += sum;
  }
}

void BoostGrower::add_packed(const BoostPiece& piece, const std::uint8_t* codes, const Node& node,
                             BoostSum* histogram) const {
  alignas(64) std::uint64_t packed[kBoostGroup * kCodes];
  for (std::int64_t begin = node.begin; begin < node.end; begin += block_) {
    std::fill(packed, packed + piece.width * kCodes, 0);
    kAddBlock[static_cast<std::size_t>(piece.width - 1)](codes, rows_.data() + begin,
                                                         std::min(block_, node.end - begin), packed_.data(), packed);
    for (int j = 0; j < piece.width; ++j) {
      const auto column = static_cast<std::size_t>(piece.first + j);
      BoostSum* const bins = histogram + offset_[column];
      const int n = std::min(kCodes, table_.columns[column].n_bins() + 1);
      add_unpacked(packed + j * kCodes, n, count_bits_, hessian_bits_, reinterpret_cast<Lane*>(bins));
    }
  }
}

// By sums of whole numbers of 62 bits, so that their order does not matter and predictions know nothing of the rounding
// of gradients.
void BoostGrower::value_leaves(std::span<const double> gradients, std::span<const double> hessians) {
  const int bits = 62 - bits_of(table_.n_rows), g_exponent = exponent_of(largest_gradient_),
            h_exponent = exponent_of(largest_hessian_);
  const double g_scale = std::ldexp(1.0, bits - g_exponent), h_scale = std::ldexp(1.0, bits - h_exponent);
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

void BoostGrower::append_node(Node& node) {
  BoostForest& f = *forest_;
  node.id = static_cast<std::int32_t>(f.n_nodes() - root_id_);
  f.feature.push_back(-1), f.threshold.push_back(0), f.left.push_back(0), f.missing_left.push_back(0),
      f.set.push_back(-1);
  f.value.push_back(0), f.gain.push_back(0), f.n_rows.push_back(static_cast<std::int32_t>(node.size()));
}

void BoostGrower::set_cut(const Node& node, std::int32_t left) {
  BoostForest& f = *forest_;
  const auto at = static_cast<std::size_t>(root_id_ + node.id);
  const BoostColumn& column = table_.columns[static_cast<std::size_t>(node.cut.column)];
  f.feature[at] = node.cut.column, f.left[at] = static_cast<std::int32_t>(root_id_) + left;
  f.missing_left[at] = node.cut.missing_left, f.gain[at] = node.cut.gain;
  if (!node.cut.is_category) {
    const bool is_last = node.cut.bin == column.n_bins() - 1;   // missing values alone go right
    f.threshold[at] = is_last ? kInfinity : column.edges[static_cast<std::size_t>(node.cut.bin)];
    return;
  }
  f.set[at] = static_cast<std::int32_t>(f.sets.size() / 32);
  for (int byte = 0; byte < 32; ++byte)
    f.sets.push_back(
        static_cast<std::uint8_t>(node.cut.left.words[static_cast<std::size_t>(byte / 8)] >> (byte % 8 * 8)));
}

}   // namespace kedge::engine
