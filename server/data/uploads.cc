// Entries are small JSON files, replaced as a whole, below uploads/; their names are digests of what users call them.
#include "server/data/uploads.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <new>

#include "engine/core/dataset_file.h"
#include "engine/core/require.h"
#include "schemas/codec.h"
#include "schemas/quota.h"
#include "server/data/mapped_text.h"
#include "server/data/npy.h"
#include "server/data/source_steps.h"

namespace kedge::server {
namespace {

using engine::require;
using schema::Error;
using schema::ErrorCode;

constexpr std::array<std::string_view, 4> kFormats{"csv", "arff", "libsvm", "npy"};
constexpr std::size_t kLongestName = 64;
constexpr std::size_t kLongestEntry = 4096;   // several times what the longest name and numbers need

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name[0] != '.' && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == '_' || c == '-';
  });
}

std::string now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(std::time(nullptr)));
}

std::string to_text(const UploadInfo& info) {
  schema::ValueMap map;
  map.emplace_back("name", info.name);
  map.emplace_back("format", info.format);
  map.emplace_back("digest", info.digest);
  map.emplace_back("bytes", info.bytes);
  map.emplace_back("rows", info.rows);
  map.emplace_back("columns", info.columns);
  map.emplace_back("created", info.created);
  return schema::value_to_json(schema::Value(std::move(map)));
}

std::optional<UploadInfo> from_file(const std::filesystem::path& file) {
  std::string text(kLongestEntry, '\0');   // before the file is open; a stream would take a lack of memory for the file's end
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  const auto n = ::read(fd, text.data(), text.size());
  ::close(fd);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  UploadInfo info;
  const schema::Value value = schema::value_from_json(text);
  const auto* map = std::get_if<schema::ValueMap>(&value.data);
  require(map != nullptr, ErrorCode::kInternal, "{}: is damaged", file.string());
  for (const auto& [key, member] : *map) {
    const auto* words = std::get_if<std::string>(&member.data);
    const auto* number = std::get_if<std::int64_t>(&member.data);
    if (words && key == "name") info.name = *words;
    if (words && key == "format") info.format = *words;
    if (words && key == "digest") info.digest = *words;
    if (words && key == "created") info.created = *words;
    if (number && key == "bytes") info.bytes = *number;
    if (number && key == "rows") info.rows = *number;
    if (number && key == "columns") info.columns = *number;
  }
  return info;
}

// Empty if it is no folder. Not by libstdc++'s iterator, which ends the process where memory does not suffice to open one.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  if (!open && errno == ENOMEM) throw std::bad_alloc();
  std::vector<std::filesystem::path> files;
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr)
    if (const std::string_view name = entry->d_name; name != "." && name != "..") files.push_back(folder / name);
  return files;
}

// All or nothing, and on disk when it returns.
void replace_file(const std::filesystem::path& file, const std::string& text) {
  const std::string part = file.string() + ".part";
  const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const bool written = fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  if (fd >= 0) ::close(fd);
  require(written && ::rename(part.c_str(), file.c_str()) == 0, ErrorCode::kStorageFull, "the disk takes no more");
  const int folder = ::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) ::fsync(folder), ::close(folder);
}

}  // namespace

Uploads::Uploads(std::filesystem::path datasets, std::uint64_t bytes_per_tenant)
    : datasets_(std::move(datasets)), directory_(datasets_ / "uploads"), bytes_per_tenant_(bytes_per_tenant) {
  std::filesystem::create_directories(directory_);
  for (const auto& left : std::filesystem::recursive_directory_iterator(directory_))   // by an earlier run
    if (left.path().extension() == ".part" || left.path().extension() == ".kds") std::filesystem::remove(left.path());
}

std::filesystem::path Uploads::folder(const std::string& tenant) const {
  return directory_ / crypto::hex_digest(crypto::DigestKind::kSha256, tenant).substr(0, 40);
}

std::filesystem::path Uploads::entry(const std::string& tenant, const std::string& name) const {
  return folder(tenant) / (crypto::hex_digest(crypto::DigestKind::kSha256, name).substr(0, 40) + ".json");
}

std::vector<UploadInfo> Uploads::list(const std::string& tenant) const {
  const std::lock_guard lock(mutex_);
  std::vector<UploadInfo> entries;
  for (const std::filesystem::path& file : files_in(folder(tenant)))
    if (file.extension() == ".json")
      if (auto info = from_file(file)) entries.push_back(*std::move(info));
  std::ranges::sort(entries, {}, &UploadInfo::name);
  return entries;
}

std::optional<UploadInfo> Uploads::find(const std::string& tenant, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return from_file(entry(tenant, name));
}

std::uint64_t Uploads::bytes_of(const std::string& tenant, const std::string& except) const {
  std::uint64_t sum = 0;
  for (const UploadInfo& info : list(tenant))
    if (info.name != except) sum += static_cast<std::uint64_t>(info.bytes);
  return sum;
}

std::string Uploads::resolve(const std::string& tenant, const std::string& name) const {
  std::vector<std::string> names;
  for (const UploadInfo& info : list(tenant)) {
    if (info.name == name || "sha256:" + info.digest == name) return "sha256:" + info.digest;
    names.push_back(info.name);
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view near = schema::nearest_name(name, known);
  throw Error(ErrorCode::kDatasetNotFound,
              fmt::format("stored: there is no upload '{}'{}", name, near.empty() ? "" : fmt::format("; did you mean '{}'?", near)),
              "dataset.stored");
}

bool Uploads::remove(const std::string& tenant, const std::string& name) {
  const auto info = find(tenant, name);
  if (!info) return false;
  const std::lock_guard lock(mutex_);
  std::filesystem::remove(entry(tenant, name));
  drop_content(info->digest);
  return true;
}

// Under the lock. A worker that has the file mapped keeps it.
void Uploads::drop_content(const std::string& digest) {
  for (const std::filesystem::path& tenant : files_in(directory_))
    for (const std::filesystem::path& file : files_in(tenant))
      if (file.extension() == ".json")
        if (const auto info = from_file(file); info && info->digest == digest) return;
  std::error_code ignored;
  std::filesystem::remove(datasets_ / stored_file("sha256:" + digest), ignored);
}

void Uploads::publish(const std::string& tenant, const UploadInfo& info) {
  const std::lock_guard lock(mutex_);
  std::filesystem::create_directories(folder(tenant));
  const auto before = from_file(entry(tenant, info.name));
  replace_file(entry(tenant, info.name), to_text(info));
  if (before && before->digest != info.digest) drop_content(before->digest);
}

std::unique_ptr<Uploads::Upload> Uploads::begin(const std::string& tenant, const std::string& name, const std::string& format) {
  require(is_name(name), ErrorCode::kInvalidValue, "the name must have 1 to 64 letters, digits, '.', '_' or '-', and not begin with '.'");
  require(std::ranges::find(kFormats, format) != kFormats.end(), ErrorCode::kInvalidValue, "format is '{}', must be csv, arff, libsvm or npy", format);
  return std::unique_ptr<Upload>(new Upload(*this, tenant, {.name = name, .format = format}));
}

Uploads::Upload::Upload(Uploads& uploads, std::string tenant, UploadInfo info)
    : uploads_(uploads), tenant_(std::move(tenant)), info_(std::move(info)), digest_(crypto::DigestKind::kSha256) {
  const std::uint64_t used = uploads_.bytes_of(tenant_, info_.name), most = uploads_.bytes_per_tenant_;
  allowed_ = most == 0 ? ~std::uint64_t{0} : most - std::min(most, used);
  {
    const std::lock_guard lock(uploads_.mutex_);
    part_ = uploads_.directory_ / fmt::format("upload-{}.part", ++uploads_.n_parts_);
  }
  digest_.update(info_.format + "\n");
}

Uploads::Upload::~Upload() { discard(); }

void Uploads::Upload::discard() {
  npy_.reset();
  out_.close();
  std::error_code ignored;
  if (!part_.empty()) std::filesystem::remove(part_, ignored);
}

void Uploads::Upload::write(std::string_view bytes) {
  const bool is_first = info_.bytes == 0;
  info_.bytes += static_cast<std::int64_t>(bytes.size());
  if (static_cast<std::uint64_t>(info_.bytes) > allowed_) {
    const std::uint64_t most = uploads_.bytes_per_tenant_;
    throw schema::QuotaExceeded(fmt::format("the uploads of this tenant would have more than {} bytes; delete some", most),
                                {.name = "bytes", .unit = "content-bytes", .most = most, .left = allowed_});
  }
  digest_.update(bytes);
  if (npy_) return npy_->write(bytes);
  if (is_first && info_.format == "npy") npy_ = NpyStream::begin(bytes, request());
  if (!npy_) keep(bytes);
}

void Uploads::Upload::keep(std::string_view bytes) {
  if (!out_.is_open()) out_.open(part_, std::ios::binary | std::ios::trunc);
  out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  require(out_.good(), ErrorCode::kStorageFull, "the disk takes no more");
}

UploadInfo Uploads::Upload::finish(std::stop_token stop) {
  info_.digest = digest_.hex();
  info_.created = now();
  const std::filesystem::path file = uploads_.datasets_ / stored_file("sha256:" + info_.digest);
  if (!std::filesystem::exists(file)) {   // two that come at once both make it, and the second takes the first's place
    const RemovedFile made{request().output};
    parse(std::move(stop));
    require(::rename(made.path.c_str(), file.c_str()) == 0, ErrorCode::kStorageFull, "the disk takes no more");
  }
  discard();   // here, where it may take its time
  const engine::DatasetFile parsed(file);
  info_.rows = parsed.meta().n_rows;
  info_.columns = static_cast<std::int64_t>(parsed.meta().columns.size());
  uploads_.publish(tenant_, info_);
  return info_;
}

ParseRequest Uploads::Upload::request(std::stop_token stop) const {
  const auto describe = [name = info_.name](engine::DatasetMeta& meta) {
    meta.name = "stored " + name;
    set_target(meta, "", "");
  };
  return {.source = info_.name, .output = part_.string() + ".kds", .describe = describe, .parallel = {.stop = std::move(stop)}};
}

void Uploads::Upload::parse(std::stop_token stop) {
  if (npy_) {
    npy_->finish();
    return;
  }
  keep({});   // there may be nothing
  out_.close();
  require(out_.good(), ErrorCode::kStorageFull, "the disk takes no more");
  const MappedText mapped(part_);
  if (info_.format == "npy")
    parse_npy(mapped.text(), request(std::move(stop)));
  else
    parse_text(mapped.text(), info_.format, request(std::move(stop)));
}

}  // namespace kedge::server
