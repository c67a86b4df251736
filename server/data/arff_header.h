// The declarations at the top of an ARFF file.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/core/dataset_file.h"

namespace kedge::server {

struct ArffHeader {
  std::string relation;
  std::vector<engine::ColumnInfo> columns;   // values_column is set for numeric and nominal ones
  std::int64_t n_values_columns = 0;
};

// Takes the declarations line by line, as they arrive.
class ArffHeaderReader {
 public:
  // True when the line was @data. Errors: CellError at a place in the line.
  bool read_line(std::string_view line);
  ArffHeader& header() { return header_; }

 private:
  ArffHeader header_;
  std::unordered_set<std::string> names_;
};

}  // namespace kedge::server
