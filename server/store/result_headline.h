// A result as lists show it.
#pragma once

#include "schemas/job.h"

namespace kedge::server {

// Scores without their folds, a search without its candidates, the total time, rows, device and model: a few hundred bytes of any result.
schema::Result headline(const schema::Result& result);

}  // namespace kedge::server
