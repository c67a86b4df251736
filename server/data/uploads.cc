// Entries are small JSON files, replaced as a whole, below uploads/; their names are digests of what users call them, or ids of jobs.
#include "server/data/uploads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "engine/core/require.h"
#include "schemas/quota.h"
#include "server/data/sources.h"

namespace kedge::server {
namespace {

namespace fs = std::filesystem;
using engine::require;
using schema::Error;
using schema::ErrorCode;

constexpr std::array<std::string_view, 4> kFormats{"csv", "arff", "libsvm", "npy"};
constexpr std::size_t kLongestName = 64;
constexpr std::string_view kJobs = "jobs";   // folder; those of tenants are 40 hexadecimal digits

// What a file takes of the disk, at least a block.
std::uint64_t size_of(const fs::path& file) {
  std::error_code missing;
  const std::uintmax_t size = fs::file_size(file, missing);
  return missing ? 0 : size;
}

}  // namespace

bool is_upload_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name[0] != '.' &&
         std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_' || c == '-'; });
}

Uploads::Uploads(fs::path datasets, TenantBytes& bytes, bool by_tenant)
    : datasets_(std::move(datasets)), directory_(datasets_ / "uploads"), bytes_(bytes), by_tenant_(by_tenant),
      references_(std::make_shared<ContentReferences>(datasets_, directory_)) {
  fs::create_directories(directory_ / kJobs);
  read_all();
}

Uploads::~Uploads() { references_->close(); }

void Uploads::read_all() {
  for (const auto& left : fs::recursive_directory_iterator(directory_))   // by an earlier run
    if (left.path().extension() == ".part" || left.path().extension() == ".kds") fs::remove(left.path());
  for (const fs::path& folder : files_in(directory_))
    if (folder.filename() != kJobs) read_names(folder);
  read_jobs();
  remove_orphans();
}

void Uploads::read_names(const fs::path& folder) {
  const std::string tenant = folder.filename();
  for (const fs::path& file : files_in(folder)) {
    std::optional<UploadEntry> entry = read_upload_entry(file);
    if (!entry) {
      is_damaged_ = true;
      continue;
    }
    const std::string name = entry->info.name;
    names_[tenant].insert_or_assign(name, take_up(tenant, std::move(entry->info)));
  }
}

void Uploads::read_jobs() {
  for (const fs::path& file : files_in(directory_ / kJobs)) {
    std::optional<UploadEntry> entry = read_upload_entry(file);
    if (!entry) {
      is_damaged_ = true;
      continue;
    }
    const std::string tenant = entry->tenant;
    jobs_.insert_or_assign(file.stem(), JobData{tenant, take_up(tenant, std::move(entry->info))});
  }
}

Uploads::Stored Uploads::take_up(const std::string& tenant, UploadInfo info) {
  const std::string file = known_file_of(tenant, info.digest);
  Stored stored{.info = std::move(info), .hold = references_->hold(file), .bytes = size_of(datasets_ / file)};
  bytes_.charge_key(tenant, stored.bytes);
  return stored;
}

// Content whose upload was cut off between its file and its entry. A damaged entry does not say which file it had.
void Uploads::remove_orphans() {
  if (is_damaged_) return;
  for (const fs::path& file : files_in(datasets_))
    if (file.extension() == ".kds" && file.filename().string().starts_with("stored-") && !references_->has(file.filename())) fs::remove(file);
}

fs::path Uploads::entry(const std::string& tenant, const std::string& name) const {
  return directory_ / tenant / (tenant_key(name) + ".json");
}

fs::path Uploads::job_entry(const std::string& job) const { return directory_ / kJobs / (job + ".json"); }

std::string Uploads::file_of(const std::string& tenant, const std::string& digest) const {
  return stored_file("sha256:" + digest, by_tenant_ ? tenant : "");
}

// What came before the cache was kept by tenant stays where it is.
std::string Uploads::known_file_of(const std::string& tenant, const std::string& digest) const {
  std::string own = stored_file("sha256:" + digest, tenant);
  return fs::exists(datasets_ / own) ? own : stored_file("sha256:" + digest, "");
}

std::vector<UploadInfo> Uploads::list(const std::string& tenant) const {
  const std::string key = tenant_key(tenant);
  std::vector<UploadInfo> infos;
  const std::lock_guard lock(mutex_);
  if (const auto mine = names_.find(key); mine != names_.end())
    for (const auto& [name, stored] : mine->second) infos.push_back(stored.info);
  return infos;
}

std::optional<UploadInfo> Uploads::find(const std::string& tenant, const std::string& name) const {
  const std::string key = tenant_key(tenant);
  const std::lock_guard lock(mutex_);
  const auto mine = names_.find(key);
  if (mine == names_.end()) return std::nullopt;
  const auto found = mine->second.find(name);
  return found == mine->second.end() ? std::nullopt : std::optional(found->second.info);
}

std::string Uploads::resolve(const std::string& tenant, const std::string& name) const {
  const std::vector<UploadInfo> infos = list(tenant);
  std::vector<std::string_view> known;
  for (const UploadInfo& info : infos) {
    if (info.name == name || "sha256:" + info.digest == name) return "sha256:" + info.digest;
    known.push_back(info.name);
  }
  const std::string_view near = schema::nearest_name(name, known);
  throw Error(ErrorCode::kDatasetNotFound,
              fmt::format("stored: there is no upload '{}'{}", name, near.empty() ? "" : fmt::format("; did you mean '{}'?", near)),
              "dataset.stored");
}

std::string Uploads::name_of(const std::string& tenant, const std::string& digest) const {
  for (const UploadInfo& info : list(tenant))
    if ("sha256:" + info.digest == digest) return info.name;
  return {};
}

CacheHold Uploads::hold(const std::string& tenant, const std::string& digest) const {
  const std::string key = tenant_key(tenant);
  const auto is_it = [&](const Stored& stored) { return "sha256:" + stored.info.digest == digest; };
  const std::lock_guard lock(mutex_);
  if (const auto mine = names_.find(key); mine != names_.end())
    for (const auto& [name, stored] : mine->second)
      if (is_it(stored)) return stored.hold;
  for (const auto& [job, data] : jobs_)
    if (data.tenant == key && is_it(data.stored)) return data.stored.hold;
  return nullptr;
}

bool Uploads::remove(const std::string& tenant, const std::string& name) {
  const std::string key = tenant_key(tenant);
  const std::lock_guard writing(writing_);
  Names::node_type gone;   // its hold is let go after the lock
  {
    const std::lock_guard lock(mutex_);
    const auto mine = names_.find(key);
    if (mine != names_.end()) gone = mine->second.extract(name);
  }
  if (gone.empty()) return false;
  std::error_code ignored;
  fs::remove(entry(key, name), ignored);
  bytes_.release_key(key, gone.mapped().bytes);
  return true;
}

Uploads::Stored Uploads::stored(Content& content) {
  return {.info = content.info, .hold = content.hold, .bytes = content.bytes.bytes()};
}

void Uploads::check_names(const std::string& tenant, const std::string& name) {
  const std::lock_guard lock(mutex_);
  const Names& mine = names_[tenant];
  if (mine.size() < kMostNames || mine.contains(name)) return;
  throw schema::QuotaExceeded(fmt::format("this tenant has {} data sets, at most so many may have a name; delete some", mine.size()),
                              {.name = "datasets", .unit = "requests", .most = kMostNames});
}

UploadInfo Uploads::publish(Content content) {
  const std::string name = content.info.name;
  const std::lock_guard writing(writing_);
  check_names(content.tenant, name);
  Names made;   // first, so that nothing can fail once the entry is on disk
  made.emplace(name, stored(content));
  UploadInfo info = content.info;
  fs::create_directories(directory_ / content.tenant);
  write_upload_entry(entry(content.tenant, name), {info});
  Names::node_type before;   // its hold is let go after the lock
  {
    const std::lock_guard lock(mutex_);
    Names& mine = names_.at(content.tenant);
    before = mine.extract(name);
    mine.insert(made.extract(made.begin()));
  }
  content.bytes.keep();
  if (!before.empty()) bytes_.release_key(content.tenant, before.mapped().bytes);
  return info;
}

void Uploads::give_to_job(const std::string& job, Content content) {
  const std::lock_guard writing(writing_);
  std::map<std::string, JobData> made;
  made.emplace(job, JobData{content.tenant, stored(content)});
  write_upload_entry(job_entry(job), {content.info, content.tenant});
  const std::lock_guard lock(mutex_);
  jobs_.insert(made.extract(made.begin()));
  content.bytes.keep();
}

void Uploads::drop_job(const std::string& job) noexcept try {
  const std::lock_guard writing(writing_);
  std::map<std::string, JobData>::node_type gone;
  {
    const std::lock_guard lock(mutex_);
    gone = jobs_.extract(job);
  }
  if (gone.empty()) return;
  std::error_code ignored;
  fs::remove(job_entry(job), ignored);
  bytes_.release_key(gone.mapped().tenant, gone.mapped().stored.bytes);
} catch (const std::exception&) {   // no memory: the next start finds that the job has ended
}

bool Uploads::has_job(const std::string& job) const {
  const std::lock_guard lock(mutex_);
  return jobs_.contains(job);
}

std::vector<std::string> Uploads::jobs() const {
  std::vector<std::string> ids;
  const std::lock_guard lock(mutex_);
  for (const auto& [job, data] : jobs_) ids.push_back(job);
  return ids;
}

std::unique_ptr<Uploads::Upload> Uploads::begin_upload(const std::string& tenant, UploadInfo info, std::uint64_t announced) {
  require(std::ranges::find(kFormats, info.format) != kFormats.end(), ErrorCode::kInvalidValue,
          "format is '{}', must be csv, arff, libsvm or npy", info.format);
  return std::unique_ptr<Upload>(new Upload(*this, tenant, std::move(info), announced));
}

std::unique_ptr<Uploads::Upload> Uploads::begin(const std::string& tenant, const std::string& name, const std::string& format,
                                                std::uint64_t announced) {
  require(is_upload_name(name), ErrorCode::kInvalidValue,
          "the name must have 1 to 64 letters, digits, '.', '_' or '-', and not begin with '.'");
  check_names(tenant_key(tenant), name);
  return begin_upload(tenant, {.name = name, .format = format}, announced);
}

std::unique_ptr<Uploads::Upload> Uploads::begin_for_job(const std::string& tenant, const std::string& format) {
  return begin_upload(tenant, {.name = {}, .format = format}, 0);
}

}  // namespace kedge::server
