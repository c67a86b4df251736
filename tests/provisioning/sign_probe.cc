// Signs the requests on stdin, one JSON object a line, and prints their Authorization headers: sign_aws_test.py compares.
#include <iostream>
#include <string>

#include "provisioning/json.h"
#include "provisioning/providers/sigv4.h"

int main() {
  using namespace kedge::provisioning;
  for (std::string line; std::getline(std::cin, line);) {
    const json::Value value = json::parse(line);
    http::Request request{
        .method = json::text(value, "method"), .url = json::text(value, "url"), .body = json::text(value, "body")};
    for (const json::Value& header : json::list(value, "headers"))
      request.headers.emplace_back(json::text(header, "0"), json::text(header, "1"));
    const AwsKeys keys{json::text(value, "access"), json::text(value, "secret"), json::text(value, "session")};
    sign_aws(request, keys, json::text(value, "region"), json::text(value, "service"),
             static_cast<std::int64_t>(json::number(value, "time")));
    std::cout << request.headers.back().second << '\n';
  }
}
