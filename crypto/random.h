// Random secrets as text, and base64.
#pragma once

#include <string>
#include <string_view>

namespace kedge::crypto {

// From the system's generator. kInternal when it gives nothing.
std::string random_bytes(int count);
std::string random_hex(int bytes);
std::string random_base64url(int bytes);   // 32 bytes are 43 characters

std::string base64(std::string_view bytes);
std::string base64url(std::string_view bytes);   // without padding
std::string base64_decoded(std::string_view text);   // schema::Error{kMalformed} when it is none

// Takes the same time at any position where two texts of one length differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace kedge::crypto
