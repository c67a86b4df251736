// Both steps of expectation maximisation on the CPU.
#pragma once

#include "engine/backend/ops/mixtures.h"

namespace kedge::engine {

class CpuMixtures : public MixtureOps {
 public:
  MixtureSums share_rows(MatrixView<const double> X, const NormalComponents& components, MatrixView<double> shares,
                         VectorView<double> log_densities) override;
  std::vector<double> sum_terms(MatrixView<const double> X, MatrixView<const double> shares, RowTerms terms) override;
};

}   // namespace kedge::engine
