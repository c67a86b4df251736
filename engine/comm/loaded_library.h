// Libraries of the GPU's maker, which are there or not when a program runs.
#pragma once

#include <dlfcn.h>
#include <fmt/core.h>

#include <string>

#include "schemas/error.h"

namespace kedge::engine {

// One that is never unloaded, since such libraries keep threads.
class LoadedLibrary {
 public:
  // `what`: for messages, "NCCL". Errors: kDeviceUnavailable with the loader's words.
  LoadedLibrary(std::string what, const std::string& file)
      : what_(std::move(what)), library_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!library_)
      throw schema::Error(schema::ErrorCode::kDeviceUnavailable, fmt::format("there is no {}: {}", what_, ::dlerror()));
  }

  // Sets `function` to the one of this name. Errors: kDeviceUnavailable where the library has none.
  template <class Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(::dlsym(library_, name));
    if (!function)
      throw schema::Error(schema::ErrorCode::kDeviceUnavailable,
                          fmt::format("{} has no {}: it is too old, or another library", what_, name));
  }

 private:
  std::string what_;
  void* library_;
};

}   // namespace kedge::engine
