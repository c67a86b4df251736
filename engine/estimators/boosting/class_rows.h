// What boosting makes for each class, as rows over all classes of the data set.
#pragma once

#include <vector>

#include "engine/estimators/classes.h"

namespace kedge::engine {

// outputs: what was made for each present class, class by class, host. out: rows over all classes on the device; a
// class that is absent gets `absent`.
void put_rows(const Context& ctx, const PresentClasses& present, const std::vector<double>& outputs, double absent,
              MatrixView<double> out);

}   // namespace kedge::engine
