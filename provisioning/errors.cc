// Sorts the troubles of providers.
#include "provisioning/errors.h"

#include <fmt/core.h>

#include "schemas/json_text.h"

namespace kedge::provisioning {
namespace {

schema::ErrorCode code_of(Trouble trouble) {
  switch (trouble) {
    case Trouble::kRetryLater:
    case Trouble::kNoCapacity:
      return schema::ErrorCode::kUnavailable;
    case Trouble::kQuota:
      return schema::ErrorCode::kTooManyRequests;
    case Trouble::kAuth:
      return schema::ErrorCode::kInvalidValue;
    case Trouble::kFatal:
      break;
  }
  return schema::ErrorCode::kInternal;
}

std::string sentence(Trouble trouble, const std::string& doing, const std::string& words, long status) {
  const std::string number = status > 0 ? fmt::format(" {}", status) : "";
  return fmt::format("{}: {}{}: {}", doing, trouble_name(trouble), number, words.empty() ? "no reason given" : words);
}

}   // namespace

std::string_view trouble_name(Trouble trouble) {
  switch (trouble) {
    case Trouble::kRetryLater:
      return "retry later";
    case Trouble::kNoCapacity:
      return "no capacity";
    case Trouble::kQuota:
      return "quota";
    case Trouble::kAuth:
      return "credentials refused";
    case Trouble::kFatal:
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

ProviderError::ProviderError(Trouble trouble, const std::string& doing, std::string words, long status, bool maybe_done)
    : schema::Error(code_of(trouble), sentence(trouble, doing, printable(words), status)),
      trouble(trouble),
      status(status),
      words(printable(std::move(words))),
      maybe_done(maybe_done) {}

Trouble trouble_of_status(long status) {
  if (status == 401 || status == 403) return Trouble::kAuth;
  if (status == 402) return Trouble::kQuota;   // payment required: no money left
  if (status == 408 || status == 425 || status == 429 || status >= 500 || status <= 0) return Trouble::kRetryLater;
  return Trouble::kFatal;
}

}   // namespace kedge::provisioning
