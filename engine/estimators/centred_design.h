// Rows less a mean and times a factor, as a Design: what products and gathers in double read.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "engine/core/array.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {

// Borrows the samples' table, which is dense.
template <class T>
struct CentredDesign {
  Array<double> shift, scale;   // device copies of what the design borrows
  Design<T> design;
  CentredDesign(const Context& ctx, const Samples<T>& rows, const std::vector<double>& mean,
                const std::vector<double>& factor) {
    const Samples<T> mapped = rows.then(mean, factor);
    shift = Array<double>(ctx.memory(), std::span<const double>(mapped.shift));
    scale = Array<double>(ctx.memory(), std::span<const double>(mapped.scale));
    design = {.X = std::as_const(rows.table->X).view(),
              .rows = rows.row_view(),
              .shift = std::as_const(shift).view(),
              .scale = std::as_const(scale).view()};
  }
  CentredDesign(const Context& ctx, const Samples<T>& rows, const std::vector<double>& mean)
      : CentredDesign(ctx, rows, mean, std::vector<double>(mean.size(), 1.0)) {}
};

}   // namespace kedge::engine
