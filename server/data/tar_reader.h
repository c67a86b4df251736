// The files of a tar archive, packed or not, read in its order.
#pragma once

#include <functional>
#include <string_view>

namespace kedge::server {

struct TarSinks {
  std::function<bool(std::string_view name)> wants;      // asked for each file, without "./" before its name
  std::function<void(std::string_view bytes)> content;   // of the file that was wanted last, in pieces
};

// Holds no content. Names have at most 100 bytes, or 255 with ustar's prefix. `archive` is its name, for messages.
// Errors: kDatasetCorrupt for a header without a size, a link where a file is wanted, an archive that ends early.
void read_tar(std::string_view archive, std::string_view bytes, const TarSinks& sinks);

}   // namespace kedge::server
