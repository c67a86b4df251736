// Files of unfinished uploads: see kept_uploads.h.
#include "server/data/kept_uploads.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>
#include <system_error>
#include <utility>

#include "server/data/tenant_bytes.h"
#include "server/data/upload_entries.h"
#include "server/data/uploads.h"

namespace kedge::server {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBytes = ".bytes";
constexpr const char* kEntry = ".json";

fs::path entry_of(const fs::path& bytes) {
  return fs::path(bytes).replace_extension(kEntry);
}

std::optional<KeptUpload> read_kept(const fs::path& bytes) {
  const std::optional<UploadEntry> entry = read_upload_entry(entry_of(bytes));
  std::error_code gone;
  const std::uintmax_t size = fs::file_size(bytes, gone);
  if (!entry || gone || size == 0 || entry->tenant.empty() || !is_content_name(entry->info.name)) return std::nullopt;
  const auto age = fs::file_time_type::clock::now() - fs::last_write_time(bytes, gone);
  return KeptUpload{
      .tenant = entry->tenant,
      .name = entry->info.name,
      .format = entry->info.format,
      .announced = static_cast<std::uint64_t>(std::max<std::int64_t>(entry->info.bytes, 0)),
      .bytes = size,
      .last = std::chrono::system_clock::now() - std::chrono::duration_cast<std::chrono::system_clock::duration>(age),
      .file = bytes};
}

}   // namespace

KeptUploads::KeptUploads(fs::path folder) : folder_(std::move(folder)) {
  fs::create_directories(folder_);
}

std::vector<KeptUpload> KeptUploads::read_all() const {
  std::vector<KeptUpload> found;
  for (const fs::path& file : files_in(folder_)) {
    std::optional<KeptUpload> kept;
    if (file.extension() == kBytes) kept = read_kept(file);
    std::error_code ignored;
    const bool has_bytes = file.extension() == kEntry && fs::exists(fs::path(file).replace_extension(kBytes), ignored);
    if (kept) found.push_back(std::move(*kept));
    else if (!has_bytes) fs::remove(file, ignored);
  }
  std::ranges::sort(found, {}, &KeptUpload::last);
  return found;
}

fs::path KeptUploads::begin(const KeptUpload& upload) const {
  const std::string of_name = tenant_key(upload.tenant + " " + upload.name);
  fs::path bytes = folder_ / fmt::format("{}-{:08x}{}", of_name, std::random_device()(), kBytes);
  write_upload_entry(entry_of(bytes), {.info = {.name = upload.name,
                                                .format = upload.format,
                                                .digest = upload.name.substr(upload.name.find(':') + 1),
                                                .bytes = static_cast<std::int64_t>(upload.announced)},
                                       .tenant = upload.tenant});
  return bytes;
}

void KeptUploads::remove(const fs::path& bytes) noexcept try {
  std::error_code ignored;
  fs::remove(bytes, ignored), fs::remove(entry_of(bytes), ignored);
} catch (const std::exception&) {   // no memory: the next start removes what is too old
}

}   // namespace kedge::server
