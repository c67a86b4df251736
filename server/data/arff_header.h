// The declarations at the top of an ARFF file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/dataset_file.h"

namespace kedge::server {

struct ArffHeader {
  std::string relation;
  std::vector<engine::ColumnInfo> columns;   // values_column is set for numeric and nominal ones
  std::int64_t n_values_columns = 0;
  std::size_t data_offset = 0;               // of the line behind @data
};

// Errors: kDatasetCorrupt with the line.
ArffHeader read_arff_header(std::string_view text, const std::string& file);

}  // namespace kedge::server
