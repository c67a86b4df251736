// Arrow's results as this program's errors.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <utility>

#include "schemas/error.h"

namespace kedge::engine {

inline void checked(const arrow::Status& status) {
  if (status.ok()) return;
  const bool is_memory = status.IsOutOfMemory();
  throw schema::Error(is_memory ? schema::ErrorCode::kOutOfMemory : schema::ErrorCode::kDatasetCorrupt,
                      status.message());
}

template <class T>
T checked(arrow::Result<T> result) {
  checked(result.status());
  return std::move(result).ValueUnsafe();
}

}   // namespace kedge::engine
