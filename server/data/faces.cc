// Reads the archive twice: first it counts the pictures of each person, then it decodes those that are wanted. They are
// held, because the rows of the table come in another order.
#include "server/data/faces.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/core/legacy_random.h"
#include "engine/core/require.h"
#include "server/data/picture.h"
#include "server/data/tar_reader.h"

namespace kedge::server {
namespace {

using engine::require;
using schema::ErrorCode;

constexpr std::string_view kArchive = "lfw-funneled.tgz", kFolder = "lfw_funneled/";
constexpr int kSide = 250;                                                // pixels of each picture
constexpr Box kFace{.left = 78, .top = 70, .width = 94, .height = 125};   // slice_ of fetch_lfw_people
constexpr std::size_t kMostFile = std::size_t{1} << 20;                   // bytes; the real ones have about 18,000
constexpr std::size_t kMostFiles = 100'000;                               // the real archive has 13,233

struct Options {
  std::int64_t min_faces = 0;
  double resize = 0.5;

  int width() const { return static_cast<int>(resize * kFace.width); }
  int height() const { return static_cast<int>(resize * kFace.height); }
};

template <class T>
T number_of(std::string_view text, std::string_view name, const char* must) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(error == std::errc() && end == text.data() + text.size(), ErrorCode::kInvalidValue,
          "lfw_people: {} is '{}', must be {}", name, text, must);
  return value;
}

Options parse(std::string_view text) {
  Options options;
  if (text.empty()) return options;
  const std::size_t slash = std::min(text.find('/'), text.size());
  constexpr const char* kWhole = "a whole number from 0 to 1000000";
  const std::string_view faces = text.substr(0, slash);
  options.min_faces = number_of<std::int64_t>(faces, "MIN_FACES", kWhole);
  require(options.min_faces >= 0 && options.min_faces <= 1'000'000, ErrorCode::kInvalidValue,
          "lfw_people: MIN_FACES is {}, must be {}", faces, kWhole);
  if (slash == text.size()) return options;
  constexpr const char* kShare = "a number from 0.02 to 1";
  const std::string_view resize = text.substr(slash + 1);
  options.resize = number_of<double>(resize, "RESIZE", kShare);
  require(options.resize >= 0.02 && options.resize <= 1.0, ErrorCode::kInvalidValue,
          "lfw_people: RESIZE is {}, must be {}", resize, kShare);
  return options;
}

struct Face {
  std::string person, file;
  std::string jpeg;                   // until it is read
  std::vector<unsigned char> bytes;   // of its pixels
};

// Person and file of a path that is a picture's; empty for others, which fetch_lfw_people does not take.
std::pair<std::string, std::string> picture_of(std::string_view path) {
  if (!path.starts_with(kFolder)) return {};
  path.remove_prefix(kFolder.size());
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return {};
  require(path.find('/', slash + 1) == std::string_view::npos, ErrorCode::kDatasetCorrupt,
          "{}: {} is deeper than person and picture", kArchive, path);
  return {std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

std::unordered_map<std::string, std::int64_t> counts_of(std::string_view archive) {
  std::unordered_map<std::string, std::int64_t> counts;
  std::size_t files = 0;
  const auto wants = [&](std::string_view path) {
    const auto [person, file] = picture_of(path);
    if (person.empty()) return false;
    require(++files <= kMostFiles, ErrorCode::kDatasetCorrupt, "{}: it has more than {} pictures", kArchive,
            kMostFiles);
    ++counts[person];
    return false;
  };
  read_tar(kArchive, archive, {.wants = wants, .content = [](std::string_view) {}});
  return counts;
}

void decode(Face& face, const Options& options) {
  const std::string what = fmt::format("{}: {}/{}", kArchive, face.person, face.file);
  const Picture whole = read_jpeg(face.jpeg, kSide * kSide, what);
  require(whole.width == kSide && whole.height == kSide, ErrorCode::kDatasetCorrupt,
          "{}: a picture of {} x {} pixels, must be {} x {}", what, whole.width, whole.height, kSide, kSide);
  face.bytes = resized(cut(whole, kFace), options.width(), options.height()).bytes;
  face.jpeg = {};
}

std::vector<Face> faces_of(std::string_view archive, const Options& options) {
  const auto counts = counts_of(archive);
  std::vector<Face> faces;
  bool is_open = false;   // the last one's file has not come whole
  const auto close = [&] {
    if (is_open) decode(faces.back(), options);
    is_open = false;
  };
  const auto wants = [&](std::string_view path) {
    close();
    auto [person, file] = picture_of(path);
    if (person.empty() || counts.at(person) < options.min_faces) return false;
    faces.push_back({.person = std::move(person), .file = std::move(file), .jpeg = {}, .bytes = {}});
    return is_open = true;
  };
  const auto content = [&](std::string_view bytes) {
    std::string& jpeg = faces.back().jpeg;
    require(jpeg.size() + bytes.size() <= kMostFile, ErrorCode::kDatasetCorrupt, "{}: {} has more than {} bytes",
            kArchive, faces.back().file, kMostFile);
    jpeg += bytes;
  };
  read_tar(kArchive, archive, {.wants = wants, .content = content});
  close();
  require(!counts.empty(), ErrorCode::kDatasetCorrupt, "{}: it has no pictures in {}", kArchive, kFolder);
  require(!faces.empty(), ErrorCode::kInvalidValue, "lfw_people: MIN_FACES is {}, but nobody has so many pictures",
          options.min_faces);
  return faces;
}

// The mean of three colours in float32, as numpy has it.
float grey(const unsigned char* pixel) {
  const auto share = [&](int i) { return static_cast<float>(pixel[i]) / 255.0F; };
  return (share(0) + share(1) + share(2)) / 3.0F;
}

}   // namespace

void check_faces_options(std::string_view options) {
  parse(options);
}

void faces_table(std::string_view archive, std::string_view options_text,
                 const std::function<void(std::string_view)>& write) {
  const Options options = parse(options_text);
  std::vector<Face> faces = faces_of(archive, options);
  std::ranges::sort(
      faces, [](const Face& a, const Face& b) { return a.person != b.person ? a.person < b.person : a.file < b.file; });
  engine::LegacyRandom(42).shuffle(std::span(faces));
  std::string line;
  for (int pixel = 0; pixel < options.width() * options.height(); ++pixel) line += fmt::format("pixel_{},", pixel);
  write(line + "target\n");
  for (const Face& face : faces) {
    line.clear();
    for (std::size_t at = 0; at < face.bytes.size(); at += 3) line += fmt::format("{},", grey(&face.bytes[at]));
    std::string name = face.person;
    std::ranges::replace(name, '_', ' ');
    write(line + fmt::format("\"{}\"\n", name));
  }
}

}   // namespace kedge::server
