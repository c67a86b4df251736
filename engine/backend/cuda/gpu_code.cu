// See gpu_code.h.
#include "engine/backend/cuda/gpu_code.h"

#include <algorithm>
#include <charconv>

namespace kedge::engine {
namespace {

std::string dotted(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

}   // namespace

std::string missing_code(std::string_view built, int major, int minor) {
  const int wanted = 10 * major + minor;
  std::string known;
  for (std::size_t begin = 0; begin < built.size();) {
    const std::size_t end = std::min(built.find_first_of(";,", begin), built.size());
    const std::string_view entry = built.substr(begin, end - begin);
    begin = end + 1;
    int capability = 0;
    if (std::from_chars(entry.data(), entry.data() + entry.size(), capability).ec != std::errc{})
      return {};   // "native" and the like
    const bool has_code = !entry.ends_with("-virtual"), has_ptx = !entry.ends_with("-real");
    if ((has_code && capability / 10 == major && capability <= wanted) || (has_ptx && capability <= wanted)) return {};
    known += (known.empty() ? "" : ", ") + dotted(capability) + (has_ptx ? " and newer" : "");
  }
  if (known.empty()) return {};
  return "its compute capability is " + dotted(wanted) + ", and this build has code for " + known;
}

}   // namespace kedge::engine
