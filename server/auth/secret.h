// Random secrets and their digests.
#pragma once

#include <string>
#include <string_view>

namespace kedge::server::auth {

// "kdg_" and 256 random bits as 43 characters of base64url. kInternal when the system gives no randomness.
std::string new_token();

// 96 random bits as "tok_" and 24 hex digits: names a token where the token itself must not be seen.
std::string new_token_id();

// SHA-256 as 64 lower-case hex digits.
std::string sha256_hex(std::string_view text);

// Takes the same time wherever two texts of one length differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace kedge::server::auth
