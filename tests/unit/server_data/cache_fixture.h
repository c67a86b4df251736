// A dataset cache in a directory of its own, and what its calls say.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "schemas/error.h"
#include "server/data/dataset_cache.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::server {

inline schema::DatasetRef openml(std::int64_t id) { return {schema::OpenmlRef{.id = id}}; }
inline schema::DatasetRef openml(std::string name, std::int64_t version = 0) { return {schema::OpenmlRef{.name = std::move(name), .version = version}}; }

class CacheTest : public testing::Test {
 protected:
  DataOptions options(const std::string& openml_url) const { return {.directory = directory_.path() / "datasets", .openml_url = openml_url}; }

  // Acquires and collects the events.
  AcquiredDataset acquire(DatasetCache& cache, const schema::DatasetRef& ref) {
    return cache.acquire(ref, [this](schema::EventBody event) { events_.push_back(std::move(event)); }, {});
  }

  // The error of a call that must fail.
  schema::Error failure(DatasetCache& cache, const schema::DatasetRef& ref) {
    try {
      acquire(cache, ref);
    } catch (const schema::Error& error) {
      return error;
    }
    ADD_FAILURE() << "the call succeeded";
    return {};
  }

  std::string log() const {
    std::string text;
    for (const auto& event : events_)
      if (const auto* line = std::get_if<schema::LogEvent>(&event)) text += line->level + ": " + line->message + "\n";
    return text;
  }

  // Files but those of the index; a failed fetch must leave none.
  int count_files() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path() / "datasets")) count += entry.is_regular_file();
    return count;
  }

  TemporaryDirectory directory_;
  std::vector<schema::EventBody> events_;
};

}  // namespace kedge::server
