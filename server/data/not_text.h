// Recognises archives and other files that are not the text that a data set must be.
#pragma once

#include <string_view>

namespace kedge::server {

// Errors: kInvalidValue that says what `source` is: an archive, gzip where it was not expected, or something with zero bytes.
void refuse_what_is_not_text(std::string_view bytes, std::string_view source);

}   // namespace kedge::server
