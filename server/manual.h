// The manual page kedged(8), written from the table of settings.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kedge::server {

struct ManualRow {
  std::string_view flag;   // without dashes
  bool takes_value;
  std::string_view text;
};

std::string manual_page(std::span<const ManualRow> settings, std::string_view version);

}   // namespace kedge::server
