// Sorts the kinds of failure of providers.
#include "provisioning/errors.h"

#include <fmt/core.h>

#include "schemas/json_text.h"

namespace kedge::provisioning {
namespace {

schema::ErrorCode code_of(Failure failure) {
  switch (failure) {
    case Failure::kRetryLater:
    case Failure::kNoCapacity:
      return schema::ErrorCode::kUnavailable;
    case Failure::kQuota:
      return schema::ErrorCode::kTooManyRequests;
    case Failure::kAuth:
      return schema::ErrorCode::kInvalidValue;
    case Failure::kFatal:
      break;
  }
  return schema::ErrorCode::kInternal;
}

std::string sentence(Failure failure, const std::string& doing, const std::string& words, long status) {
  const std::string number = status > 0 ? fmt::format(" {}", status) : "";
  return fmt::format("{}: {}{}: {}", doing, failure_name(failure), number, words.empty() ? "no reason given" : words);
}

}   // namespace

std::string_view failure_name(Failure failure) {
  switch (failure) {
    case Failure::kRetryLater:
      return "retry later";
    case Failure::kNoCapacity:
      return "no capacity";
    case Failure::kQuota:
      return "quota";
    case Failure::kAuth:
      return "credentials refused";
    case Failure::kFatal:
      break;
  }
  return "failed";
}

std::string printable(std::string text) {
  text = schema::valid_utf8(text);
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < ' ' && c != '\n' && c != '\t') || byte == 0x7f) c = '?';
  }
  return text;
}

ProviderError::ProviderError(Failure failure, const std::string& doing, std::string words, long status, bool maybe_done)
    : schema::Error(code_of(failure), sentence(failure, doing, printable(words), status)),
      failure(failure),
      status(status),
      words(printable(std::move(words))),
      maybe_done(maybe_done) {}

Failure failure_of_status(long status) {
  if (status == 401 || status == 403) return Failure::kAuth;
  if (status == 402) return Failure::kQuota;   // payment required: no money left
  if (status == 408 || status == 425 || status == 429 || status >= 500 || status <= 0) return Failure::kRetryLater;
  return Failure::kFatal;
}

}   // namespace kedge::provisioning
