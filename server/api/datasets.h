// What data set calls and jobs that bring their data share.
#pragma once

#include <string>
#include <string_view>

#include "server/api/api.h"

namespace kedge::server::api {

// "csv", "arff", "libsvm" or "npy" by the ending of a file's name, else by its media type. Throws kInvalidValue when neither tells.
std::string format_of(std::string_view file_name, std::string_view content_type);

// Throws kUnavailable where no uploads are taken.
Uploads& uploads(const Api& api);

}  // namespace kedge::server::api
