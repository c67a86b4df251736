// Which error a failed write to disk is, by errno.
#pragma once

#include <cerrno>

#include "schemas/error.h"

namespace kedge::engine {

// A full disk is the operator's to clear; what else a disk refuses may work when it is tried again.
inline schema::ErrorCode disk_error(int error) {
  return error == ENOSPC || error == EDQUOT ? schema::ErrorCode::kStorageFull : schema::ErrorCode::kUnavailable;
}

}   // namespace kedge::engine
