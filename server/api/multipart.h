// multipart/form-data (RFC 7578), as curl -F and browsers send it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kedge::server::api {

// The parts of a body, as views of it; the body must outlive them. Errors: kMalformed.
class Multipart {
 public:
  struct Part {
    std::string name, file_name, content_type;
    std::string_view bytes;
  };

  Multipart(std::string_view content_type, std::string_view body);
  // Throws kMalformed when there is no such part, or two.
  const Part& get(std::string_view name) const;

 private:
  std::vector<Part> parts_;
};

}  // namespace kedge::server::api
