// Donors of missing values: most rows are passed over in vectors, by one product with a bound and no division.
#include "engine/estimators/preprocessing/nearest_donors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr std::size_t kTogether = 32;    // rows that are passed over at once
constexpr double kSlack = 1 + 0x1p-50;   // more than a division and a product round

// Whether one of these kTogether rows may be nearer than the limit. What is no number may be.
KEDGE_CLONES bool may_be_nearer(const double* squares, const double* counts, double limit) {
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < kTogether; ++i)
    any |= squares[i] > limit * counts[i] ? std::uint64_t{0} : std::uint64_t{1};
  return any != 0;
}

KEDGE_CLONES void count_common(const std::uint64_t* own, const std::uint64_t* words, std::size_t n_words, std::size_t n,
                               double* counts) {
  if (n_words == 1) {
    for (std::size_t i = 0; i < n; ++i) counts[i] = std::popcount(words[i] & own[0]);
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    int count = 0;
    for (std::size_t w = 0; w < n_words; ++w) count += std::popcount(words[i * n_words + w] & own[w]);
    counts[i] = count;
  }
}

}   // namespace

void NearestDonors::start(std::vector<std::size_t> columns) {
  columns_ = std::move(columns);
  heaps_.resize(columns_.size());
  for (std::vector<Donor>& heap : heaps_) heap.clear();
  limit_ = std::numeric_limits<double>::infinity();
}

void NearestDonors::take(std::size_t row, double distance) {
  bool has_changed = false;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::vector<Donor>& heap = heaps_[c];
    const bool is_full = heap.size() == n_neighbors_;
    if (is_full && !(distance < heap.front().first)) continue;
    if (std::isnan(rows_[row * n_columns_ + columns_[c]])) continue;
    if (is_full) std::ranges::pop_heap(heap), heap.pop_back();
    heap.emplace_back(distance, row), std::ranges::push_heap(heap);
    has_changed = true;
  }
  if (!has_changed) return;
  limit_ = 0;
  for (const std::vector<Donor>& heap : heaps_)
    limit_ =
        std::max(limit_, heap.size() < n_neighbors_ ? std::numeric_limits<double>::infinity() : heap.front().first);
}

void NearestDonors::meet(std::size_t first, const double* squares, const double* counts, std::size_t n) {
  for (std::size_t begin = 0; begin < n; begin += kTogether) {
    const std::size_t end = std::min(n, begin + kTogether);
    if (end - begin == kTogether && !may_be_nearer(squares + begin, counts + begin, limit_ * kSlack)) continue;
    for (std::size_t i = begin; i < end; ++i)
      if (counts[i] > 0 && !(squares[i] > limit_ * kSlack * counts[i]))
        take(first + i, std::max(0.0, squares[i]) / counts[i]);
  }
}

const std::vector<NearestDonors::Donor>& NearestDonors::nearest(std::size_t c) {
  std::ranges::sort(heaps_[c], {}, [](const Donor& one) { return one.second; });
  return heaps_[c];
}

ColumnMasks::ColumnMasks(std::span<const double> rows, std::size_t n_columns)
    : n_words_((n_columns + 63) / 64), words_(rows.size() / n_columns * n_words_) {
  for (std::size_t e = 0; e < rows.size(); ++e) {
    const std::size_t j = e % n_columns;
    if (!std::isnan(rows[e])) words_[e / n_columns * n_words_ + j / 64] |= std::uint64_t{1} << (j % 64);
  }
}

void ColumnMasks::common(const ColumnMasks& other, std::size_t own, std::size_t first, std::size_t n,
                         double* counts) const {
  count_common(other.words_.data() + own * n_words_, words_.data() + first * n_words_, n_words_, n, counts);
}

}   // namespace kedge::engine
