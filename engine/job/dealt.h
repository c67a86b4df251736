// Which jobs are dealt over ranks.
#pragma once

#include <vector>

#include "schemas/job.h"

namespace kedge::engine {

// Whether ranks share the fit of a pipeline: one of its steps is a forest, or an estimator whose sums over rows are
// dealt.
bool fit_is_dealt(const std::vector<schema::Step>& pipeline);

// Whether a rank reads few rows of the table but its own: in the fit on all rows of steps of DealtFit::kOwnRows, of
// which those before the last leave the table where it lies, up to one that gives its rows to all (RowsLeft).
bool reads_own_rows(const schema::JobSpec& spec);

// Whether ranks share the job: a search or a cross-validation, one that predicts, or such a fit. Any other is the first
// rank's alone.
bool job_is_dealt(const schema::JobSpec& spec);

}   // namespace kedge::engine
