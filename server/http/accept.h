// Which of the offered media types a client likes best.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

namespace kedge::server::http {

// `accept` as in RFC 9110 12.5.1; empty accepts all. The first offer wins among equals. Empty if none is
// acceptable.
std::string_view choose_media_type(std::string_view accept, std::span<const std::string_view> offers);
std::string_view choose_media_type(std::string_view accept, std::initializer_list<std::string_view> offers);

// "application/json" of "Application/JSON; charset=utf-8" compares equal.
bool is_media_type(std::string_view content_type, std::string_view media_type);

}  // namespace kedge::server::http
