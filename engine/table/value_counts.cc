// Looks first whether the columns hold bytes, which is as fast as memory is read. Other columns are counted one by one.
#include "engine/table/value_counts.h"

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

namespace kedge::engine {
namespace {

constexpr std::int64_t kFew = 256;
constexpr std::int64_t kBlock = 1 << 16;   // values looked at before a doubt ends the search

// Whether all of these are whole numbers from 0 to 255.
template <class T>
bool are_bytes(std::span<const T> values) {
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    bool all = true;
    for (const T value : values.subspan(begin, std::min<std::size_t>(kBlock, values.size() - begin))) {
      const bool is_in_range = value >= 0 && value <= 255;
      const T whole = static_cast<T>(static_cast<int>(is_in_range ? value : T{0}));
      all = all & is_in_range & (whole == value);
    }
    if (!all) return false;
  }
  return true;
}

// The distinct values of one column, by their bits; open addressing.
class Distinct {
 public:
  Distinct() : slots_(kSlots, kFree) {}

  // False once there are too many.
  bool add(double value) {
    const auto key = std::bit_cast<std::uint64_t>(value + 0.0);   // -0 is 0
    if (key == kFree) return true;
    std::size_t slot = (key * 0x9E3779B97F4A7C15U) >> (64 - kBits);
    while (slots_[slot] != kFree && slots_[slot] != key) slot = (slot + 1) % kSlots;
    if (slots_[slot] == key) return true;
    slots_[slot] = key;
    return ++count_ <= kFew;
  }

 private:
  static constexpr int kBits = 10;
  static constexpr std::size_t kSlots = std::size_t{1} << kBits;
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};   // a NaN
  std::vector<std::uint64_t> slots_;
  std::int64_t count_ = 0;
};

template <class T>
bool have_few(std::span<const T> values, std::int64_t stride, const Selection& selection) {
  values = values.first(static_cast<std::size_t>(selection.n_rows * stride));
  if (are_bytes(values)) return true;
  std::vector<Distinct> columns(selection.columns.size());
  for (std::int64_t i = 0; i < selection.n_rows; ++i) {
    const T* const row = values.data() + i * stride;
    for (std::size_t j = 0; j < columns.size(); ++j)
      if (!columns[j].add(static_cast<double>(row[selection.columns[j]]))) return false;
  }
  return true;
}

}   // namespace

std::optional<bool> have_few_values(const DatasetFile& data, const Selection& selection) {
  const DatasetMeta& meta = data.meta();
  if (meta.is_sparse()) return std::nullopt;
  if (selection.n_rows <= kFew) return true;
  if (meta.is_float32) return have_few(data.values_f32(), meta.n_values_columns, selection);
  return have_few(data.values_f64(), meta.n_values_columns, selection);
}

}   // namespace kedge::engine
