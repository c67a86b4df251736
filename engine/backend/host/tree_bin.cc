// Binning on the host: a hash table per column while it has at most 256 distinct values, a radix sort for the
// others.
#include "engine/backend/host/tree_bin.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "engine/backend/host/parallel_tasks.h"
#include "engine/backend/raw.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

constexpr int kMaxBins = 256;
constexpr std::int64_t kBlock = 16;  // columns that one task bins together: a cache line of floats

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// The distinct values of a column in the order in which they came. A value is looked up as its bits with -0
// turned into 0, so that the bits of -0 can mark free slots.
template <class T>
struct Distinct {
  using Key = Bits<T>;
  static constexpr int kSlots = 1024;
  static constexpr Key kFree = Key{1} << (sizeof(T) * 8 - 1);
  struct Slot {
    Key key, order;
  };
  std::array<Slot, kSlots> slots;
  std::array<T, kMaxBins> values;
  int count = 0;
  bool overflow = false;

  static Key key_of(T value) { return std::bit_cast<Key>(value + T{0}); }
  static std::size_t slot_of(Key key) {
    return (key * static_cast<Key>(0x9E3779B97F4A7C15u)) >> (sizeof(T) * 8 - 10);
  }
  void clear() { slots.fill({kFree, 0}), count = 0, overflow = false; }
  // The value's number; sets overflow at the 257th distinct value.
  std::uint8_t find(Key key) {
    std::size_t slot = slot_of(key);
    for (; slots[slot].key != kFree; slot = (slot + 1) % kSlots)
      if (slots[slot].key == key) return static_cast<std::uint8_t>(slots[slot].order);
    if (count == kMaxBins) return overflow = true, 0;
    slots[slot] = {key, static_cast<Key>(count)}, values[count] = std::bit_cast<T>(key);
    return static_cast<std::uint8_t>(count++);
  }
};

// Bits in the order of the values: unsigned integers that compare as the numbers do.
template <class T>
Bits<T> to_ordered(T value) {
  const auto bits = std::bit_cast<Bits<T>>(value);
  const Bits<T> sign = Bits<T>{1} << (sizeof(T) * 8 - 1);
  return bits & sign ? ~bits : bits | sign;
}
template <class T>
T from_ordered(Bits<T> key) {
  const Bits<T> sign = Bits<T>{1} << (sizeof(T) * 8 - 1);
  return std::bit_cast<T>(key & sign ? static_cast<Bits<T>>(key & ~sign) : static_cast<Bits<T>>(~key));
}

template <class Key>
void radix_sort(std::vector<Key>& keys, std::vector<Key>& scratch) {
  scratch.resize(keys.size());
  for (unsigned shift = 0; shift < sizeof(Key) * 8; shift += 8) {
    std::array<std::size_t, 257> start{};
    for (const Key key : keys) ++start[((key >> shift) & 255) + 1];
    if (std::find(start.begin(), start.end(), keys.size()) != start.end()) continue;  // all in one bucket
    for (int b = 0; b < 256; ++b) start[b + 1] += start[b];
    for (const Key key : keys) scratch[start[(key >> shift) & 255]++] = key;
    keys.swap(scratch);
  }
}

struct ColumnBins {
  std::vector<double> low, high;
};

// Cuts sorted keys into at most 256 bins of about equal size, equal values together: each bin takes values
// until it holds its share of what is left.
template <class T>
ColumnBins quantile_bins(const std::vector<Bits<T>>& sorted, std::vector<Bits<T>>& last_key) {
  ColumnBins bins;
  last_key.clear();
  const std::size_t n = sorted.size();
  for (std::size_t begin = 0; begin < n;) {
    const std::size_t bins_left = kMaxBins - last_key.size();
    std::size_t end = bins_left <= 1 ? n : begin + std::max<std::size_t>(1, (n - begin) / bins_left);
    while (end < n && sorted[end] == sorted[end - 1]) ++end;
    bins.low.push_back(from_ordered<T>(sorted[begin]));
    bins.high.push_back(from_ordered<T>(sorted[end - 1]));
    last_key.push_back(sorted[end - 1]);
    begin = end;
  }
  return bins;
}

template <class T>
class Binner {
 public:
  Binner(MatrixView<const T> X, std::uint8_t* codes, std::vector<ColumnBins>& bins)
      : X_(X), codes_(codes), bins_(bins), tables_(kBlock) {}

  void bin_block(std::int64_t first) {
    const std::int64_t n = std::min(kBlock, X_.cols - first);
    for (std::int64_t j = 0; j < n; ++j) tables_[j].clear();
    for (std::int64_t begin = 0; begin < X_.rows; begin += kRows) {
      const std::int64_t rows = std::min(kRows, X_.rows - begin);
      for (std::int64_t j = 0; j < n; ++j) {
        fetch_ahead(first, begin + kRows + j * (kRows / kBlock));
        if (!tables_[j].overflow) number_values(first, j, begin, rows);
      }
    }
    for (std::int64_t j = 0; j < n; ++j)
      tables_[j].overflow ? bin_quantiles(first + j) : rank_values(first + j, tables_[j]);
  }

 private:
  static constexpr std::int64_t kRows =
      256;  // 16 KB of floats: read once from memory, then by each column from the cache

  static T checked(T value, std::int64_t row, std::int64_t col) {
    require(!std::isnan(value), schema::ErrorCode::kBadData, "row {}, column {} is NaN; trees need numbers",
            row, col);
    return value == 0 ? T{0} : value;  // -0 is 0
  }

  // Fetches the block's part of the next 16 rows: hardware does not foresee such steps.
  void fetch_ahead(std::int64_t first, std::int64_t begin) const {
    for (std::int64_t i = begin; i < std::min(begin + kRows / kBlock, X_.rows); ++i)
      __builtin_prefetch(raw(X_) + i * X_.stride + first);
  }

  void number_values(std::int64_t first, std::int64_t j, std::int64_t begin, std::int64_t rows) {
    Distinct<T>& table = tables_[j];
    const T* x = raw(X_) + begin * X_.stride + first + j;
    std::uint8_t* out = codes_ + (first + j) * X_.rows + begin;
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto key = Distinct<T>::key_of(x[i * X_.stride]);
      const auto slot = table.slots[Distinct<T>::slot_of(key)];
      if (slot.key == key) [[likely]]
        out[i] = static_cast<std::uint8_t>(slot.order);
      else
        checked(std::bit_cast<T>(key), begin + i, first + j), out[i] = table.find(key);
    }
  }

  void rank_values(std::int64_t col, const Distinct<T>& table) {
    std::array<std::uint8_t, kMaxBins> order{}, rank{};
    for (int i = 0; i < table.count; ++i) order[i] = static_cast<std::uint8_t>(i);
    std::sort(order.begin(), order.begin() + table.count,
              [&](int a, int b) { return table.values[a] < table.values[b]; });
    for (int i = 0; i < table.count; ++i) {
      rank[order[i]] = static_cast<std::uint8_t>(i);
      bins_[col].low.push_back(table.values[order[i]]);
    }
    bins_[col].high = bins_[col].low;
    std::uint8_t* codes = codes_ + col * X_.rows;
    for (std::int64_t i = 0; i < X_.rows; ++i) codes[i] = rank[codes[i]];
  }

  void bin_quantiles(std::int64_t col) {
    keys_.resize(static_cast<std::size_t>(X_.rows));
    for (std::int64_t i = 0; i < X_.rows; ++i) keys_[i] = to_ordered(checked(raw(X_)[i * X_.stride + col], i, col));
    std::vector<Bits<T>> sorted = keys_, last_key;
    radix_sort(sorted, scratch_);
    bins_[col] = quantile_bins<T>(sorted, last_key);
    std::uint8_t* codes = codes_ + col * X_.rows;
    for (std::int64_t i = 0; i < X_.rows; ++i)
      codes[i] = static_cast<std::uint8_t>(std::lower_bound(last_key.begin(), last_key.end(), keys_[i]) -
                                           last_key.begin());
  }

  MatrixView<const T> X_;
  std::uint8_t* codes_;
  std::vector<ColumnBins>& bins_;
  std::vector<Distinct<T>> tables_;
  std::vector<Bits<T>> keys_, scratch_;
};

}  // namespace

template <class T>
BinEdges bin_columns(MatrixView<const T> X, std::uint8_t* codes, int n_threads) {
  std::vector<ColumnBins> bins(static_cast<std::size_t>(X.cols));
  std::vector<Binner<T>> binners;
  for (int i = 0; i < n_threads; ++i) binners.emplace_back(X, codes, bins);
  if (X.rows > 0) {
    parallel_tasks(n_threads, (X.cols + kBlock - 1) / kBlock,
                   [&](std::int64_t block, int worker) { binners[worker].bin_block(block * kBlock); });
  }
  BinEdges edges;
  edges.offset.push_back(0);
  for (const ColumnBins& column : bins) {
    edges.low.insert(edges.low.end(), column.low.begin(), column.low.end());
    edges.high.insert(edges.high.end(), column.high.begin(), column.high.end());
    edges.offset.push_back(static_cast<std::int32_t>(edges.low.size()));
  }
  return edges;
}

template BinEdges bin_columns<float>(MatrixView<const float>, std::uint8_t*, int);
template BinEdges bin_columns<double>(MatrixView<const double>, std::uint8_t*, int);

}  // namespace kedge::engine
