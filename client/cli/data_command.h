// kedge data: uploads, and what a data set holds and how a job would read its columns.
#pragma once

#include <string>

#include "client/cli/commands.h"
#include "client/cli/terminal.h"
#include "schemas/preview.h"

namespace kedge::cli {

int data(const Options& options);

// The columns, the first rows of as many as fit, and the notes.
std::string preview_table(const schema::DatasetPreview& preview, const Page& page = {});

}  // namespace kedge::cli
