// Answers of a stored model that the ranks of a job divide.
#pragma once

#include <string_view>

#include "engine/model/model_plan.h"

namespace kedge::engine {

// The rows that this rank answers: consecutive tiles for each rank of the job. Without ranks all rows, and of a single
// tile the first rank has all.
AskedRows own_asked_rows(std::int64_t n_rows, std::int64_t tile);

// As answer_in_tiles(), for own_asked_rows() alone, so that the bits do not depend on the number of ranks; `rows` is
// asked for no others. The first rank gets the answer for all rows, the others none. Without ranks it is
// answer_in_tiles().
// Errors: the one of the first row that has one, on every rank.
ModelAnswer dealt_answer(const Context& ctx, StoredModel& model, std::int64_t n_rows, std::int64_t tile,
                         std::string_view output, const RowsOf& rows);

}   // namespace kedge::engine
