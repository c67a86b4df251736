// Several data set files of the same columns as one.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/core/dataset_file.h"

namespace kedge::server {

struct TablePartFile {
  std::string name;   // for messages
  std::filesystem::path file;
};

// The rows of all, in their order, written to `output`. A column's categories are those of all parts, sorted.
// `describe` as in ParseRequest. Errors: kBadData for other columns, another type of a column or a sparse part, with
// the part's name; those of describe().
void join_tables(const std::vector<TablePartFile>& parts, const std::filesystem::path& output,
                 const std::function<void(engine::DatasetMeta&)>& describe);

}   // namespace kedge::server
