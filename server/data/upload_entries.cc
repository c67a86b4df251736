// Reads and writes the entries of uploads: see upload_entries.h.
#include "server/data/upload_entries.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <string_view>

#include "schemas/codec.h"

namespace kedge::server {
namespace {

using schema::Error;

constexpr std::size_t kLongestEntry = 4096;   // several times what the longest name and numbers need

std::string to_text(const UploadEntry& entry) {
  const UploadInfo& info = entry.info;
  schema::ValueMap map;
  map.emplace_back("name", info.name);
  map.emplace_back("format", info.format);
  map.emplace_back("digest", info.digest);
  map.emplace_back("bytes", info.bytes);
  map.emplace_back("rows", info.rows);
  map.emplace_back("columns", info.columns);
  map.emplace_back("created", info.created);
  if (!entry.tenant.empty()) map.emplace_back("tenant", entry.tenant);
  return schema::value_to_json(schema::Value(std::move(map)));
}

void take(UploadEntry& entry, const std::string& key, const schema::Value& member) {
  UploadInfo& info = entry.info;
  const auto* words = std::get_if<std::string>(&member.data);
  const auto* number = std::get_if<std::int64_t>(&member.data);
  if (words && key == "name") info.name = *words;
  if (words && key == "format") info.format = *words;
  if (words && key == "digest") info.digest = *words;
  if (words && key == "created") info.created = *words;
  if (words && key == "tenant") entry.tenant = *words;
  if (number && key == "bytes") info.bytes = *number;
  if (number && key == "rows") info.rows = *number;
  if (number && key == "columns") info.columns = *number;
}

}  // namespace

std::optional<UploadEntry> read_upload_entry(const std::filesystem::path& file) {
  std::string text(kLongestEntry, '\0');   // before the file is open; a stream would take a lack of memory for the file's end
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  const auto n = ::read(fd, text.data(), text.size());
  ::close(fd);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  try {
    UploadEntry entry;
    const schema::Value value = schema::value_from_json(text);
    const auto* map = std::get_if<schema::ValueMap>(&value.data);
    if (!map) return std::nullopt;
    for (const auto& [key, member] : *map) take(entry, key, member);
    return entry.info.digest.empty() ? std::nullopt : std::optional(std::move(entry));
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Not by libstdc++'s iterator, which ends the process where memory does not suffice to open one.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  if (!open && errno == ENOMEM) throw std::bad_alloc();
  std::vector<std::filesystem::path> files;
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr)
    if (const std::string_view name = entry->d_name; name != "." && name != "..") files.push_back(folder / name);
  return files;
}

void write_upload_entry(const std::filesystem::path& file, const UploadEntry& entry) {
  const std::string text = to_text(entry), part = file.string() + ".part";
  const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool is_written = fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  if (fd >= 0) ::close(fd);
  if (!is_written || ::rename(part.c_str(), file.c_str()) != 0) {
    ::unlink(part.c_str());
    throw Error(schema::ErrorCode::kStorageFull, "the disk takes no more");
  }
  const int folder = ::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) ::fsync(folder), ::close(folder);
}

}  // namespace kedge::server
