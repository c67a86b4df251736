// Errors of the disk: which one a failed write is, by errno, and how messages name a file.
#pragma once

#include <cerrno>
#include <exception>
#include <filesystem>
#include <string>

#include "schemas/error.h"

namespace kedge::engine {

// A full disk is the operator's to clear; what else a disk refuses may work when it is tried again.
inline schema::ErrorCode disk_error(int error) {
  return error == ENOSPC || error == EDQUOT ? schema::ErrorCode::kStorageFull : schema::ErrorCode::kUnavailable;
}

// A file as messages name it. They reach clients, which must not learn where the server keeps its files.
inline std::string shown(const std::filesystem::path& file) { return file.filename().string(); }

// The same for what the library says.
inline std::string shown(const std::exception& error) {
  const auto* of_file = dynamic_cast<const std::filesystem::filesystem_error*>(&error);
  return of_file ? of_file->code().message() : error.what();
}

}   // namespace kedge::engine
