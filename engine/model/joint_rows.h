// Rows of several questions to one model, answered in one call.
#pragma once

#include <cstdint>

#include "engine/model/stored_model.h"

namespace kedge::engine {

// Whether what a model says of a row has the same bits whichever rows are asked with it: trees, behind steps that work
// on each cell alone, and columns of numbers. Sums of a matrix product may depend on where in the matrix a row is.
bool answers_rows_alone(const schema::ModelInfo& model);

// What an answer says of the rows first .. first + count - 1.
ModelAnswer rows_of_answer(const ModelAnswer& answer, std::int64_t first, std::int64_t count);

}   // namespace kedge::engine
