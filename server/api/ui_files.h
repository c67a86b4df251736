// The files of server/ui, compiled into the program. The build writes ui_files.cc.
#pragma once

#include <span>
#include <string_view>

namespace kedge::server::api {

struct UiFile {
  std::string_view name, content;
};

std::span<const UiFile> ui_files();

}   // namespace kedge::server::api
