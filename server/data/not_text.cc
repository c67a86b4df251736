// The marks by which archives begin.
#include "server/data/not_text.h"

#include <array>

#include "engine/core/require.h"

namespace kedge::server {
namespace {

using namespace std::string_view_literals;

struct Mark {
  std::size_t at;
  std::string_view bytes, name;
};

// From the specifications; magic(5) has them all.
constexpr std::array kMarks{Mark{0, "PK\3\4"sv, "a zip archive"},
                            Mark{0, "PK\5\6"sv, "an empty zip archive"},
                            Mark{257, "ustar"sv, "a tar archive"},
                            Mark{0, "7z\xBC\xAF\x27\x1C"sv, "a 7z archive"},
                            Mark{0, "Rar!\x1A\x07"sv, "a rar archive"},
                            Mark{0,
                                 "\xFD"
                                 "7zXZ\0"sv,
                                 "an xz file"},
                            Mark{0, "\x28\xB5\x2F\xFD"sv, "a zstd file"},
                            Mark{4, "1AY&SY"sv, "a bzip2 file"},
                            Mark{0, "\x1F\x8B\x08"sv, "a gzip file where text is expected"}};

constexpr std::size_t kLook = 512;

}   // namespace

void refuse_what_is_not_text(std::string_view bytes, std::string_view source) {
  for (const Mark& mark : kMarks)
    engine::require(bytes.size() < mark.at || !bytes.substr(mark.at).starts_with(mark.bytes),
                    schema::ErrorCode::kInvalidValue, "{} is {}: a data set must be text, or text that is packed once",
                    source, mark.name);
  engine::require(bytes.substr(0, kLook).find('\0') == std::string_view::npos, schema::ErrorCode::kInvalidValue,
                  "{} is not text: it has zero bytes", source);
}

}   // namespace kedge::server
