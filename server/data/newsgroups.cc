// load_files(folder, encoding="latin1") of each folder, in its order, then the shuffle of fetch_20newsgroups.
#include "server/data/newsgroups.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "engine/core/legacy_random.h"
#include "engine/core/require.h"
#include "server/data/tar_reader.h"

namespace kedge::server {
namespace {

using engine::require;
using schema::ErrorCode;

constexpr std::string_view kArchive = "20news-bydate.tar.gz";
constexpr std::string_view kTrain = "20news-bydate-train", kTest = "20news-bydate-test";
// Rows come in another order than files, so texts are held: those of both folders are about 40 MB.
constexpr std::size_t kMostHeld = std::size_t{128} << 20;

struct Text {
  std::string group, name;
  std::string bytes;   // latin1
};

// Texts of one folder of the archive.
struct Folder {
  std::string_view name;
  std::vector<Text> texts;

  // Whether the file is one of the folder's, which then has an empty text more.
  bool begins(std::string_view path) {
    if (!path.starts_with(name) || path.substr(name.size(), 1) != "/") return false;
    const std::string_view rest = path.substr(name.size() + 1);
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) return false;   // beside the groups' folders, where load_files() takes none
    require(rest.find('/', slash + 1) == std::string_view::npos, ErrorCode::kDatasetCorrupt,
            "{}: {} is deeper than folder, group and text", kArchive, path);
    texts.push_back(
        {.group = std::string(rest.substr(0, slash)), .name = std::string(rest.substr(slash + 1)), .bytes = {}});
    return true;
  }
};

std::vector<Folder> folders_of(std::string_view archive, const std::vector<std::string_view>& names) {
  std::vector<Folder> folders;
  for (const std::string_view name : names) folders.push_back({.name = name, .texts = {}});
  std::size_t held = 0;
  const auto hold = [&](std::size_t bytes) {
    held += bytes;
    require(held <= kMostHeld, ErrorCode::kDatasetCorrupt, "{}: its texts have more than {} bytes", kArchive,
            kMostHeld);
  };
  Folder* current = nullptr;
  const auto wants = [&](std::string_view path) {
    const auto found = std::ranges::find_if(folders, [&](Folder& folder) { return folder.begins(path); });
    if (found == folders.end()) return false;
    current = &*found;
    hold(sizeof(Text) + path.size());
    return true;
  };
  const auto content = [&](std::string_view bytes) {
    hold(bytes.size());
    current->texts.back().bytes += bytes;
  };
  read_tar(kArchive, archive, {.wants = wants, .content = content});
  return folders;
}

// As load_files() has them: by group and name, then shuffled by seed 0.
void order(Folder& folder) {
  require(!folder.texts.empty(), ErrorCode::kDatasetCorrupt, "{}: it has no texts in {}", kArchive, folder.name);
  std::ranges::sort(folder.texts, [](const Text& a, const Text& b) {
    return a.group != b.group ? a.group < b.group : a.name < b.name;
  });
  engine::LegacyRandom(0).shuffle(std::span(folder.texts));
}

// A cell between quotes, in UTF-8.
void append_cell(std::string& out, std::string_view latin1) {
  out += '"';
  for (const char c : latin1) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) out += static_cast<char>(0xC0 | byte >> 6), out += static_cast<char>(0x80 | (byte & 0x3F));
    else if (c == '"') out += "\"\"";
    else out += c;
  }
  out += '"';
}

}   // namespace

void newsgroups_table(std::string_view archive, std::string_view subset,
                      const std::function<void(std::string_view)>& write) {
  std::vector<std::string_view> names;
  if (subset != "test") names.push_back(kTrain);
  if (subset != "train") names.push_back(kTest);
  std::vector<Folder> folders = folders_of(archive, names);
  std::vector<const Text*> rows;
  for (Folder& folder : folders) {
    order(folder);
    for (const Text& text : folder.texts) rows.push_back(&text);
  }
  engine::LegacyRandom(42).shuffle(std::span(rows));
  write("text,target\n");
  std::string line;
  for (const Text* const row : rows) {
    line.clear();
    append_cell(line, row->bytes);
    line += ',';
    append_cell(line, row->group);
    line += '\n';
    write(line);
  }
}

}   // namespace kedge::server
