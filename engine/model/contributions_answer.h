// Contributions as a model answers with them.
#pragma once

#include <string>
#include <vector>

#include "engine/model/stored_model.h"

namespace kedge::engine {

// values: rows x outputs x (columns + 1), among pairs rows x outputs x (columns x columns + 1), the last of each the
// expected answer. Their columns are named by the columns, pairs as "petal_length_cm*petal_width_cm", and
// expected_value; those of several outputs lie one behind the other, with the name of the output before each:
// "setosa:petal_length_cm".
ModelAnswer contributions_answer(std::vector<double> values, const std::vector<std::string>& columns,
                                 const std::vector<std::string>& outputs, bool among_pairs);

}   // namespace kedge::engine
