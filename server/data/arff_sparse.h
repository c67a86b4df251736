// ARFF whose rows are sparse: the text is kept in a second file until it is complete, and parsed
// from there in two passes.
#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

#include "server/data/parse.h"

namespace kedge::server {

// Collects the rows. The file goes away with it.
class SparseArff {
 public:
  // meta: what the header says; lines: of the text so far, so that messages count right.
  SparseArff(const ParseRequest& request, engine::DatasetMeta meta, std::int64_t lines);
  ~SparseArff();
  SparseArff(const SparseArff&) = delete;

  void write(std::string_view text);  // errors: kInternal (disk)
  engine::DatasetMeta finish();       // errors: as parse_arff

 private:
  const ParseRequest& request_;
  engine::DatasetMeta meta_;
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace kedge::server
