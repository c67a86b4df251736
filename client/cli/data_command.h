// kedge data show: what a data set holds and what a job would make of its columns.
#pragma once

#include <string>

#include "client/cli/commands.h"
#include "schemas/preview.h"

namespace kedge::cli {

int data(const Options& options);

// The columns, the first rows of those that fit `width` characters, and the notes.
std::string preview_table(const schema::DatasetPreview& preview, std::size_t width);

}  // namespace kedge::cli
