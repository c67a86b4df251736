// Which jobs are dealt over ranks.
#pragma once

#include <vector>

#include "engine/backend/backend.h"
#include "schemas/job.h"

namespace kedge::engine {

// Whether ranks with such a device share the fit of a pipeline: one of its steps is a forest or is made of fits of
// other estimators, or its sums over rows are dealt, or one of these is inside of it.
bool fit_is_dealt(const std::vector<schema::Step>& pipeline, const Device& device);

// Whether a rank reads few rows of the table but its own: in the fit on all rows of steps of DealtFit::kOwnRows, of
// which those before the last leave the rank its own rows, up to one that gives its rows to all (RowsLeft).
bool reads_own_rows(const schema::JobSpec& spec);

// Whether ranks with such a device share the job: a search, a cross-validation or a curve, one that asks a stored
// model, on processors one that scores, or such a fit. Any other is the first rank's alone.
bool job_is_dealt(const schema::JobSpec& spec, const Device& device);

}   // namespace kedge::engine
