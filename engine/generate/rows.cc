// Permutations of rows and columns in place.
#include "engine/generate/rows.h"

#include <algorithm>

#include "engine/core/stop.h"

namespace kedge::engine::generate {

// Follows each cycle of the order once, so that one row is held aside, whatever the size of the table.
void Rows::shuffle_rows(Draws& draws) const {
  const std::vector<std::int64_t> order = draws.shuffled(n_);
  std::vector<bool> is_done(order.size());
  std::vector<double> aside(static_cast<std::size_t>(d_) + 1);
  for (std::int64_t begin = 0; begin < n_; ++begin) {
    if (is_done[static_cast<std::size_t>(begin)]) continue;
    check_job_stop();
    std::ranges::copy(row(begin), aside.begin());
    std::int64_t at = begin;
    for (;;) {
      is_done[static_cast<std::size_t>(at)] = true;
      const std::int64_t from = order[static_cast<std::size_t>(at)];
      if (from == begin) break;
      std::ranges::copy(row(from), row(at).begin());
      at = from;
    }
    std::ranges::copy(aside, row(at).begin());
  }
}

void Rows::shuffle_columns(Draws& draws) const {
  const std::vector<std::int64_t> order = draws.shuffled(d_);
  std::vector<double> before(static_cast<std::size_t>(d_));
  for (std::int64_t i = 0; i < n_; ++i) {
    const std::span<double> cells = row(i);
    std::copy_n(cells.begin(), d_, before.begin());
    for (std::size_t j = 0; j < order.size(); ++j) cells[j] = before[static_cast<std::size_t>(order[j])];
  }
}

}   // namespace kedge::engine::generate
