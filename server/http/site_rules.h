// Which web pages may call the server: a page of another site must not use it through the browser of a user that can
// reach it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"

namespace kedge::server::http {

// A value. A browser names the page that a request comes from, in Sec-Fetch-Site and Origin; other programs send neither and are
// always admitted. Admitted are the server's own pages, the user's own typing, links that the user follows, and the origins that the
// operator allows, which get the CORS fields.
class SiteRules {
 public:
  SiteRules() = default;
  // `origins`: "https://notes.example", "http://localhost:8888". Errors: kInvalidValue for what is no origin.
  explicit SiteRules(const std::vector<std::string>& origins);

  bool admits(const Request& request) const;
  bool allows(std::string_view origin) const;   // because the operator has said so

 private:
  std::vector<std::string> origins_;   // in lower case
};

// 403: the request comes from another site's page.
Response other_site(const Request& request);

// True of the request by which a browser asks whether a page may send another one, which `preflight` answers for an allowed origin.
bool is_preflight(const Request& request);
Response preflight(const Request& request, const std::string& allow);

// Lets a page of `origin` read the answer.
void add_cors(Response& response, std::string_view origin);

}   // namespace kedge::server::http
