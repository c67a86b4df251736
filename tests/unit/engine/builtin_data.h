// The CPU and the built-in data sets, opened once for all tests of a program.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "engine/backend/loader.h"
#include "engine/core/dataset_file.h"
#include "server/data/dataset_cache.h"
#include "tests/unit/engine/small_dataset.h"

namespace kedge::engine {

inline Device& cpu() {
  static const std::unique_ptr<Device> device = open_device("cpu");
  return *device;
}

inline const DatasetFile& builtin(const std::string& name) {
  static const TemporaryFolder folder;
  static server::DatasetCache cache({.directory = folder.path()});
  static std::map<std::string, DatasetFile> open;
  auto found = open.find(name);
  if (found == open.end()) {
    const auto acquired = cache.acquire({schema::BuiltinRef{name}}, [](schema::EventBody) {}, {});
    found = open.emplace(name, DatasetFile(acquired.path)).first;
  }
  return found->second;
}

}   // namespace kedge::engine
