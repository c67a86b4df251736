// models, predict: what one does with stored models.
#pragma once

#include "client/cli/commands.h"

namespace kedge::cli {

int models(const Options& options);
int predict(const Options& options);

}  // namespace kedge::cli
