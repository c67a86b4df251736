// Any bytes as a model in its open form, or as members that a ZIP with checksums that fit is made of: refused, or a
// model file that says the same in the open form again.
#include <fmt/format.h>
#include <minizip/zip.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/core/model_file.h"
#include "engine/open_model/open_model.h"
#include "schemas/error.h"

namespace {

namespace fs = std::filesystem;
using namespace kedge::engine;

constexpr std::size_t kLongest = 1 << 20;

// One file for each process that fuzzes.
fs::path place(const char* name) {
  return fs::temp_directory_path() / fmt::format("kedge-open-model-fuzz-{}-{}", ::getpid(), name);
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A stored ZIP of members: a byte with the length of a name, the name, four bytes with the length of the content, the
// content.
std::string zip_of(std::string_view members) {
  const fs::path path = place("zip");
  const zipFile zip = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  while (members.size() > 5) {
    const std::size_t n_name = static_cast<unsigned char>(members[0]);
    if (members.size() < n_name + 5) break;
    const std::string name(members.substr(1, n_name));
    std::uint32_t n = 0;
    std::memcpy(&n, members.data() + 1 + n_name, sizeof n);
    members.remove_prefix(n_name + 5);
    const std::string_view content = members.substr(0, n);
    members.remove_prefix(content.size());
    const zip_fileinfo info{};
    zipOpenNewFileInZip(zip, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, 0, 0);
    zipWriteInFileInZip(zip, content.data(), static_cast<unsigned>(content.size()));
    zipCloseFileInZip(zip);
  }
  zipClose(zip, nullptr);
  return bytes_of(path);
}

// What comes of it, or nothing where it is refused.
std::string closed(std::string_view zip) {
  try {
    return read_open_model(zip, place("scratch"));
  } catch (const kedge::schema::Error&) {   // refused, as it should be
    return {};
  }
}

}   // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kLongest) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string model = closed(input.starts_with("PK") ? std::string(input) : zip_of(input));
  if (model.empty()) return 0;
  const fs::path file = place("model"), again = place("again");
  std::ofstream(file, std::ios::binary).write(model.data(), static_cast<std::streamsize>(model.size()));
  write_open_model(ModelFile(file), again);   // a file that it has made is whole
  if (closed(bytes_of(again)) != model) __builtin_trap();
  return 0;
}
