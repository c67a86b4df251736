// What the readers of tables are fed, and what must hold of a table that one of them accepts.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "engine/core/dataset_file.h"
#include "schemas/error.h"
#include "server/data/parse.h"

namespace kedge::server {

// A folder of this process in memory, where there is such a file system.
inline const std::filesystem::path& fuzz_folder() {
  static const std::filesystem::path folder = [] {
    const std::filesystem::path memory = "/dev/shm";
    auto own = (std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path()) / ("kedge-fuzz-" + std::to_string(::getpid()));
    std::filesystem::create_directories(own);
    std::atexit([] { std::filesystem::remove_all(fuzz_folder()); });
    return own;
  }();
  return folder;
}

inline ParseRequest fuzz_request(const char* file) {
  return {.source = "x", .output = fuzz_folder() / file, .parallel = {.threads = 1}};
}

[[noreturn]] inline void broken(const char* what) {
  std::fputs(what, stderr);
  std::abort();
}

inline std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Parses, opens what was written and reads each column. The bytes of the file; empty when the text was refused, which must be for
// the text's sake.
template <class Parse>
std::string table_of(const Parse& parse, const ParseRequest& request) {
  std::filesystem::remove(request.output);
  try {
    parse();
  } catch (const schema::Error& error) {
    const bool is_the_texts = error.code == schema::ErrorCode::kDatasetCorrupt || error.code == schema::ErrorCode::kBadData;   // it has no rows
    if (!is_the_texts) broken("refused, but not for what it is\n");
    if (std::filesystem::exists(request.output)) broken("refused, and a file is left behind\n");
    return {};
  }
  const engine::DatasetFile file(request.output);
  for (std::int64_t j = 0; j < file.meta().n_values_columns; ++j)
    if (file.column(j, file.meta().n_rows).size() != static_cast<std::size_t>(file.meta().n_rows)) broken("a column has not as many cells as there are rows\n");
  return bytes_of(request.output);
}

// Any bytes: a table or a refusal.
inline void try_table(engine::DatasetMeta (*parse)(std::string_view, const ParseRequest&), const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ParseRequest request = fuzz_request("table.kds");
  table_of([&] { parse(text, request); }, request);
}

}  // namespace kedge::server
