// URLs, as libcurl understands them: what is checked is what is fetched.
#pragma once

#include <string>

namespace kedge::server {

// Host and port of a URL, in lower case and without brackets; the scheme's port when none is written.
// Errors: kInvalidValue when it is no http or https URL, or carries a user name or password.
struct UrlParts {
  std::string scheme, host;
  int port = 0;
};
UrlParts split_url(const std::string& url);

// `location` as seen from `base`, as a browser would resolve it. Errors: kInvalidValue as above.
std::string resolve_url(const std::string& base, const std::string& location);

}  // namespace kedge::server
