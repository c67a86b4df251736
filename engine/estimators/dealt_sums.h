// Fits whose sums over rows are dealt over the ranks of a job, on processors and on GPUs.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/backend/row_sums.h"
#include "engine/comm/ranks.h"
#include "engine/estimators/catalogue.h"

namespace kedge::engine {

// Whether ranks with such a device divide the sums of a fit: processors those of all rows of the catalogue that
// deals_row_sums() names, GPUs those of which they have the operations.
bool deals_row_sums(const CatalogueEntry& entry, const Device& device);

// As RowSumsScope, for the operations of this device as well, which it borrows.
class DealtSumsScope {
 public:
  DealtSumsScope(Device& device, bool are_dealt);
  ~DealtSumsScope();
  DealtSumsScope(const DealtSumsScope&) = delete;
  DealtSumsScope& operator=(const DealtSumsScope&) = delete;

 private:
  const RowSumsScope sums_;
  const std::unique_ptr<RowMeeting> meeting_;
  RowSumsDevice* const device_;
  RowMeeting* before_ = nullptr;
};

// The ranks that divide sums over n rows of this device now; null: each makes the whole sum.
Ranks* ranks_of_rows_on(const Device& device, std::int64_t n);

}   // namespace kedge::engine
