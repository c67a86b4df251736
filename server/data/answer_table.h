// What a model has answered, as the file of a data set: from CSV or NPY back to columns.
#pragma once

#include <filesystem>
#include <string_view>

#include "server/data/parse.h"

namespace kedge::server {

// A value; `file` is the caller's to remove.
struct AnswerTable {
  std::filesystem::path file;
  engine::DatasetMeta meta;
  bool is_whole = false;   // its numbers are integers by their type
};

// bytes: of media type text/csv, application/x-npy or engine::kNamedNpy. CSV is read as an upload of it would be. Of
// NPY numbers keep their type and texts become categories; a column without a name is "prediction" where it is alone,
// otherwise x0, x1 ... Writes request.output, all or nothing; only its source, output and parallel count. Errors:
// kDatasetCorrupt; kCancelled; those of the disk.
AnswerTable parse_answer(std::string_view bytes, std::string_view media_type, const ParseRequest& request);

}   // namespace kedge::server
