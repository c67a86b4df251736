// Deals the columns of a boosted tree: see boost_ranks.h.
#include "engine/backend/host/boost_ranks.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace kedge::engine {
namespace {

static_assert(std::is_trivially_copyable_v<BoostCut>);
constexpr std::int64_t kLeastCells = std::int64_t{1} << 19;   // fewer are added up before ranks have met

}   // namespace

BoostRanks::BoostRanks(const BoostTable& table)
    : n_cols_(table.n_cols()), ranks_(table.n_rows * n_cols_ >= kLeastCells ? ranks_of_row_sums() : nullptr) {
  const auto begin = ranks_ ? static_cast<std::int64_t>(first_column(ranks_->rank())) : 0,
             end = ranks_ ? static_cast<std::int64_t>(first_column(ranks_->rank() + 1)) : n_cols_;
  for (std::int64_t g = 0; g < static_cast<std::int64_t>(table.groups.size()); ++g) {
    const BoostGroup& group = table.groups[static_cast<std::size_t>(g)];
    const std::int64_t first = std::max(begin, group.first), last = std::min(end, group.first + group.width);
    if (first < last) pieces_.push_back({g, first, static_cast<int>(last - first)});
  }
}

void BoostRanks::share_bins(const std::function<void()>& work, BoostTable& table) const {
  if (!ranks_) return work();
  const auto codes_of = [&](int rank) {
    const auto n = static_cast<std::size_t>(table.n_rows), first = first_column(rank);
    return std::as_writable_bytes(std::span(table.codes).subspan(first * n, (first_column(rank + 1) - first) * n));
  };
  const PartedBytes all = ranks_->share([&] {
    work();
    ByteWriter out;
    for (std::size_t j = first_column(ranks_->rank()); j < first_column(ranks_->rank() + 1); ++j) {
      const BoostColumn& column = table.columns[j];
      out.number(column.is_category), out.number(column.has_missing), out.numbers(column.edges);
    }
    const auto codes = codes_of(ranks_->rank());
    out.append(codes.data(), codes.size());
    return out.take();
  });
  for (int r = 0; r < all.size(); ++r) {
    if (r == ranks_->rank()) continue;
    ByteReader in(all.part(r));
    for (std::size_t j = first_column(r); j < first_column(r + 1); ++j) {
      BoostColumn& column = table.columns[j];
      column.is_category = in.number<bool>(), column.has_missing = in.number<bool>();
      column.edges = in.numbers<double>();
    }
    std::ranges::copy(in.rest(), codes_of(r).begin());
  }
}

void BoostRanks::share(const std::function<void()>& work, std::span<std::vector<BoostCut>> cuts) const {
  if (!ranks_) return work();
  const auto columns_of = [&](int rank, std::vector<BoostCut>& list) {
    const std::size_t first = first_column(rank);
    return std::as_writable_bytes(std::span(list).subspan(first, first_column(rank + 1) - first));
  };
  const PartedBytes all = ranks_->share([&] {
    work();
    std::vector<std::byte> own;
    for (std::vector<BoostCut>& list : cuts) {
      if (list.empty()) continue;
      const auto bytes = columns_of(ranks_->rank(), list);
      own.insert(own.end(), bytes.begin(), bytes.end());
    }
    return own;
  });
  for (int r = 0; r < all.size(); ++r) {
    const std::byte* from = all.part(r).data();
    for (std::vector<BoostCut>& list : cuts) {
      if (list.empty()) continue;
      const auto to = columns_of(r, list);
      if (!to.empty()) std::memcpy(to.data(), from, to.size());
      from += to.size();
    }
  }
}

}   // namespace kedge::engine
