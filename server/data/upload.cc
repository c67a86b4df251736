// One upload: its bytes on the way to the disk, and the table that they become.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <optional>
#include <utility>

#include "engine/core/dataset_file.h"
#include "engine/core/require.h"
#include "server/data/arrow.h"
#include "schemas/quota.h"
#include "server/data/kept_uploads.h"
#include "server/data/mapped_text.h"
#include "server/data/npy.h"
#include "server/data/npz.h"
#include "server/data/source_steps.h"
#include "server/data/uploads.h"

namespace kedge::server {
namespace {

using engine::require;
using schema::ErrorCode;

std::string now() { return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(std::time(nullptr))); }

// What messages call it.
std::string spoken(const UploadInfo& info) {
  if (info.name.empty()) return "the data of the job";
  return is_content_name(info.name) ? "the upload" : info.name;
}

// Of a table that is there, and whose head is whole.
std::optional<engine::DatasetFile> open_table(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  try {
    return engine::DatasetFile(file);
  } catch (const schema::Error& error) {
    if (error.code != ErrorCode::kDatasetCorrupt) throw;
    return std::nullopt;
  }
}

// As gzip, zstd and bzip2 begin.
bool may_be_packed(std::string_view first) {
  constexpr std::string_view kBzip2 = "BZh";
  return first.front() == '\x1f' || first.front() == '\x28' || kBzip2.starts_with(first.substr(0, kBzip2.size()));
}

}  // namespace

Uploads::Upload::Upload(Uploads& uploads, const std::string& tenant, UploadInfo info, std::uint64_t announced)
    : uploads_(uploads),
      tenant_(tenant_key(tenant)),
      info_(std::move(info)),
      digest_(crypto::DigestKind::kSha256),
      bytes_(uploads.bytes_.reserve(tenant, announced)),
      decoder_(spoken(info_)) {
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
  give_up_sent();
}

void Uploads::Upload::leave_sent() {
  if (part_ == sent_path_) out_.close(), part_.clear();
  sent_.close();
  sent_path_.clear();
}

void Uploads::Upload::give_up_sent() noexcept {
  if (sent_path_.empty()) return;
  sent_.close();
  KeptUploads::remove(sent_path_);
  sent_path_.clear(), sent_bytes_ = 0;
}

bool Uploads::Upload::move_sent_to(const std::filesystem::path& file) {
  if (sent_path_.empty()) return false;
  require(::rename(sent_path_.c_str(), file.c_str()) == 0, ErrorCode::kStorageFull, "the disk takes no more");
  if (part_ == sent_path_) part_ = file;
  sent_path_ = file;
  return true;
}

// A text, or an .npz file, is kept as it comes until it is whole. Of an array, and of what is packed, something else is
// kept.
void Uploads::Upload::keep_sent(std::string_view bytes) {
  if (sent_path_.empty() || bytes.empty()) return;
  const bool is_first = static_cast<std::int64_t>(bytes.size()) == info_.bytes;
  if (is_first && info_.format != "npy" && !may_be_packed(bytes)) {
    part_ = sent_path_;
    return;
  }
  if (part_ == sent_path_) return;
  sent_bytes_ += bytes.size();
  try {
    reserve(static_cast<std::uint64_t>(info_.bytes));
  } catch (const schema::QuotaExceeded&) {
    return give_up_sent();
  }
  if (is_first) sent_.open(sent_path_, std::ios::binary | std::ios::trunc);
  sent_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  sent_.flush();   // a client may skip only bytes that are in the file
  if (!sent_.good()) give_up_sent();
}

void Uploads::Upload::write(std::string_view bytes) {
  info_.bytes += static_cast<std::int64_t>(bytes.size());
  reserve(static_cast<std::uint64_t>(info_.bytes));
  digest_.update(bytes);
  keep_sent(bytes);
  decoder_.feed(bytes, [this](std::string_view decoded) { take(decoded); });
  if (part_ == sent_path_ && out_.is_open()) out_.flush();
}

// Room for so many bytes and for those that are kept beside them, which make room where there is none.
void Uploads::Upload::reserve(std::uint64_t bytes) {
  if (bytes + sent_bytes_ <= bytes_.bytes()) return;
  try {
    bytes_.resize(bytes + sent_bytes_);
  } catch (const schema::QuotaExceeded&) {
    if (sent_bytes_ == 0) throw;
    give_up_sent();
    if (bytes > bytes_.bytes()) bytes_.resize(bytes);
  }
}

void Uploads::Upload::take(std::string_view decoded) {
  const bool is_first = decoded_ == 0;
  decoded_ += decoded.size();
  reserve(decoded_);
  if (npy_) return npy_->write(decoded);
  if (is_first && info_.format == "npy") npy_ = NpyStream::begin(decoded, request());
  if (!npy_) keep(decoded);
}

void Uploads::Upload::keep(std::string_view bytes) {
  if (!out_.is_open()) out_.open(part_, std::ios::binary | std::ios::trunc);
  out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  require(out_.good(), ErrorCode::kStorageFull, "the disk takes no more");
}

// The hold comes before the look at the file, so that what is found stays.
Uploads::Content Uploads::Upload::finish(std::stop_token stop) {
  decoder_.finish([this](std::string_view decoded) { take(decoded); });
  info_.digest = digest_.hex();
  require(!is_content_name(info_.name) || info_.name == "sha256:" + info_.digest, ErrorCode::kDatasetCorrupt,
          "what came has the digest sha256:{}, not that of its name", info_.digest);
  info_.created = now();
  const std::string name = uploads_.file_of(tenant_, info_.digest);
  const std::filesystem::path file = uploads_.datasets_ / name;
  CacheHold hold = uploads_.references_->hold(name);
  std::optional<engine::DatasetFile> table = open_table(file);
  if (!table) {
    parse(file, std::move(stop));
    table.emplace(file);
  }
  discard();   // here, where it may be slow
  info_.rows = table->meta().n_rows;
  info_.columns = table->meta().n_columns();
  bytes_.resize(std::filesystem::file_size(file));
  return {.info = info_, .tenant = tenant_, .hold = std::move(hold), .bytes = std::move(bytes_)};
}

// What the file says of itself is the same for every sender of these bytes.
ParseRequest Uploads::Upload::request(std::stop_token stop) const {
  const auto describe = [is_npz = info_.format == "npz"](engine::DatasetMeta& meta) {
    meta.name = "the uploaded data";
    if (!is_npz) set_target(meta, "", "");   // an .npz file says itself whether it has one
  };
  return {.source = spoken(info_),
          .output = part_.string() + ".kds",
          .describe = describe,
          .parallel = {.stop = std::move(stop)}};
}

// Two that come at once both make the file, and the second takes the first's place.
void Uploads::Upload::parse(const std::filesystem::path& file, std::stop_token stop) {
  const RemovedFile made{request().output};
  if (npy_) {
    npy_->finish();
  } else {
    keep({});   // there may be nothing
    out_.close();
    require(out_.good(), ErrorCode::kStorageFull, "the disk takes no more");
    const MappedText mapped(part_);
    if (info_.format == "npy")
      parse_npy(mapped.text(), request(std::move(stop)));
    else if (info_.format == "npz") parse_npz(mapped.text(), request(std::move(stop)));
    else if (is_arrow_format(info_.format)) parse_arrow(part_, request(std::move(stop)));
    else
      parse_text(mapped.text(), info_.format, request(std::move(stop)));
  }
  require(::rename(made.path.c_str(), file.c_str()) == 0, ErrorCode::kStorageFull, "the disk takes no more");
}

}  // namespace kedge::server
