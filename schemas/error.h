// The one error type of the project: a stable code, a sentence, and the path of the field it is about.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace kedge::schema {

// Stable codes. On the wire they are written in upper snake case ("UNKNOWN_FIELD"); see error_code_name().
enum class ErrorCode {
  kMalformed,             // not JSON, not a Cap'n Proto message
  kUnknownField,          // a key that the schema does not have
  kWrongType,             // right key, wrong type of value
  kInvalidValue,          // right type, out of bounds or not on the list
  kUnknownEstimator,
  kUnknownParameter,
  kNotFound,              // no such job, route or result
  kMethodNotAllowed,
  kNotAcceptable,
  kUnsupportedMediaType,
  kConflict,              // the job has ended, or has no result yet
  kBodyTooLarge,
  kTooManyRequests,
  kDatasetNotFound,
  kDatasetUnavailable,    // the data's server is down, or gave up half-way, or took too long
  kDatasetCorrupt,        // wrong checksum, or text that does not parse
  kBadData,               // parsed, but no estimator can use it: NaN, one class, too few rows
  kDeviceUnavailable,
  kOutOfMemory,
  kWorkerCrashed,
  kCancelled,
  kDeadlineExceeded,
  kUnavailable,           // server is starting, stopping or full
  kConnection,            // client side: no answer from the server
  kInternal,
  kStorageFull,           // the disk takes no more; heals when there is room
  kIdempotencyKeyReused,  // the same Idempotency-Key with another body
  kModelCorrupt,          // not a model, or a damaged one, or one that this version cannot read
  kUnauthenticated,       // no token, or one that is not known (any more)
  kForbidden,             // the token's scope does not cover the call
};

// "INVALID_VALUE" for kInvalidValue, and back; the second throws Error{kInvalidValue} for an unknown name.
std::string_view error_code_name(ErrorCode code);
ErrorCode error_code_from_name(std::string_view name);

// HTTP status that goes with a code (RFC 9457 "status").
int http_status(ErrorCode code);

// Thrown when a request, a job or a command cannot go on. `where` is a field path such as
// "pipeline[1].params.n_estimators", or empty.
struct Error : std::exception {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string where;

  Error() = default;
  Error(ErrorCode code, std::string message, std::string where = {})
      : code(code), message(std::move(message)), where(std::move(where)) {}
  const char* what() const noexcept override { return message.c_str(); }
  friend bool operator==(const Error& a, const Error& b) {
    return a.code == b.code && a.message == b.message && a.where == b.where;
  }
};

// The candidate nearest to `name` by edit distance, or empty if none is near; for "did you mean".
template <class Range>
std::string_view nearest_name(std::string_view name, const Range& candidates);
std::size_t edit_distance(std::string_view a, std::string_view b);   // Levenshtein, case folded

template <class Range>
std::string_view nearest_name(std::string_view name, const Range& candidates) {
  std::string_view best;
  std::size_t best_distance = name.size() / 2 + 2;
  for (std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) best = candidate, best_distance = distance;
  }
  return best;
}

}  // namespace kedge::schema
