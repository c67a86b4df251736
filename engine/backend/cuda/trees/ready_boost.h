// Boosting whose rows and histograms lie on the device.
#pragma once

#include <memory>

#include "engine/backend/cuda/libraries.h"
#include "engine/backend/cuda/runtime.h"
#include "engine/backend/ops/boosting.h"

namespace kedge::engine {

// As BoostOps::takes() and start().
bool takes_boosting(const CudaRuntime& runtime, BoostLoss loss, std::int64_t n_rows, std::int64_t n_cols,
                    const BoostRules& rules);
std::unique_ptr<BoostRun> start_boosting(CudaRuntime& runtime, BoostFit fit);

// As BoostOps::bin() and code().
template <class T>
BoostCodes bin_boosting(CudaRuntime& runtime, DeviceLibraries& libraries, const BoostCells<T>& cells,
                        const BoostBinning& binning);
template <class T>
BoostCodes code_boosting(CudaRuntime& runtime, const BoostCells<T>& cells, const std::vector<BoostColumn>& columns);

}   // namespace kedge::engine
