// Names and HTTP statuses of error codes, and the edit distance behind "did you mean".
#include "schemas/error.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace kedge::schema {
namespace {

struct CodeRow {
  ErrorCode code;
  std::string_view name;
  int status;
};

constexpr std::array kCodes{
    CodeRow{ErrorCode::kMalformed, "MALFORMED", 400},
    CodeRow{ErrorCode::kUnknownField, "UNKNOWN_FIELD", 400},
    CodeRow{ErrorCode::kWrongType, "WRONG_TYPE", 400},
    CodeRow{ErrorCode::kInvalidValue, "INVALID_VALUE", 400},
    CodeRow{ErrorCode::kUnknownEstimator, "UNKNOWN_ESTIMATOR", 400},
    CodeRow{ErrorCode::kUnknownParameter, "UNKNOWN_PARAMETER", 400},
    CodeRow{ErrorCode::kNotFound, "NOT_FOUND", 404},
    CodeRow{ErrorCode::kMethodNotAllowed, "METHOD_NOT_ALLOWED", 405},
    CodeRow{ErrorCode::kNotAcceptable, "NOT_ACCEPTABLE", 406},
    CodeRow{ErrorCode::kUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", 415},
    CodeRow{ErrorCode::kConflict, "CONFLICT", 409},
    CodeRow{ErrorCode::kBodyTooLarge, "BODY_TOO_LARGE", 413},
    CodeRow{ErrorCode::kTooManyRequests, "TOO_MANY_REQUESTS", 429},
    CodeRow{ErrorCode::kDatasetNotFound, "DATASET_NOT_FOUND", 422},
    CodeRow{ErrorCode::kDatasetUnavailable, "DATASET_UNAVAILABLE", 502},
    CodeRow{ErrorCode::kDatasetCorrupt, "DATASET_CORRUPT", 422},
    CodeRow{ErrorCode::kBadData, "BAD_DATA", 422},
    CodeRow{ErrorCode::kDeviceUnavailable, "DEVICE_UNAVAILABLE", 422},
    CodeRow{ErrorCode::kOutOfMemory, "OUT_OF_MEMORY", 507},
    CodeRow{ErrorCode::kWorkerCrashed, "WORKER_CRASHED", 500},
    CodeRow{ErrorCode::kCancelled, "CANCELLED", 409},
    CodeRow{ErrorCode::kDeadlineExceeded, "DEADLINE_EXCEEDED", 504},
    CodeRow{ErrorCode::kUnavailable, "UNAVAILABLE", 503},
    CodeRow{ErrorCode::kConnection, "CONNECTION", 502},
    CodeRow{ErrorCode::kInternal, "INTERNAL", 500},
    CodeRow{ErrorCode::kStorageFull, "STORAGE_FULL", 507},
    CodeRow{ErrorCode::kIdempotencyKeyReused, "IDEMPOTENCY_KEY_REUSED", 422},
    CodeRow{ErrorCode::kModelCorrupt, "MODEL_CORRUPT", 422},
    CodeRow{ErrorCode::kUnauthenticated, "UNAUTHENTICATED", 401},
    CodeRow{ErrorCode::kForbidden, "FORBIDDEN", 403},
};

// Rows are looked up by position.
constexpr bool rows_in_order() {
  for (std::size_t i = 0; i < kCodes.size(); ++i)
    if (kCodes[i].code != static_cast<ErrorCode>(i)) return false;
  return kCodes.back().code == ErrorCode::kForbidden;
}
static_assert(rows_in_order());

const CodeRow& row(ErrorCode code) {
  return kCodes.at(static_cast<std::size_t>(code));
}

char fold_case(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

}  // namespace

std::string_view error_code_name(ErrorCode code) {
  return row(code).name;
}

int http_status(ErrorCode code) {
  return row(code).status;
}

ErrorCode error_code_from_name(std::string_view name) {
  std::vector<std::string_view> names;
  for (const CodeRow& row : kCodes) {
    if (row.name == name) return row.code;
    names.push_back(row.name);
  }
  std::string message = "unknown error code \"" + std::string(name.substr(0, 64)) + '"';
  if (const auto near = nearest_name(name, names); !near.empty())
    message += "; did you mean \"" + std::string(near) + "\"?";
  throw Error{ErrorCode::kInvalidValue, message};
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Names are short. Text beyond the bound cannot be near one, and an attacker's megabyte must not cost its
  // square.
  constexpr std::size_t kLongest = 256;
  if (a.size() > kLongest || b.size() > kLongest) return std::max(a.size(), b.size());
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (fold_case(a[i - 1]) != fold_case(b[j - 1]));
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace kedge::schema
