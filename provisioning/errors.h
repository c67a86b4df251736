// What can go wrong with a provider of machines, by what to do next; the provider's own words are kept.
#pragma once

#include <string>
#include <string_view>

#include "schemas/error.h"

namespace kedge::provisioning {

enum class Failure {
  kRetryLater,   // 429, 5xx, network: the same call may work in a while
  kNoCapacity,   // this offer is sold out: take the next one
  kQuota,        // the account may not have it: the next offer of this provider may need less
  kAuth,         // no or wrong credentials: nothing of this provider will work
  kFatal,        // the call is wrong: repeating it changes nothing
};
std::string_view failure_name(Failure failure);   // "retry later"

struct ProviderError : schema::Error {
  Failure failure = Failure::kFatal;
  long status = 0;           // of HTTP; 0: there was none
  std::string words;         // what the provider said
  bool maybe_done = false;   // the call may have had its effect nevertheless: look before repeating it

  // `doing` names provider and call: "runpod: create pod". `words` become printable().
  ProviderError(Failure failure, const std::string& doing, std::string words, long status = 0, bool maybe_done = false);
};

// What others have written, for a terminal or a JSON line: valid UTF-8, and '?' for control characters other than ends of lines
// and tabs.
std::string printable(std::string text);

// What an HTTP status says when the provider's own code says nothing more. Not for 2xx and 3xx.
Failure failure_of_status(long status);

}   // namespace kedge::provisioning
