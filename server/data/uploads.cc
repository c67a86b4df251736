// Entries are small JSON files, replaced as a whole, below uploads/; their names are digests of what users call them, or ids of jobs.
#include "server/data/uploads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "engine/core/require.h"
#include "schemas/quota.h"
#include "server/data/partial_uploads.h"
#include "server/data/sources.h"

namespace kedge::server {
namespace {

namespace fs = std::filesystem;
using engine::require;
using schema::Error;
using schema::ErrorCode;

constexpr std::array<std::string_view, 7> kFormats{"csv", "arff", "libsvm", "npy", "npz", "parquet", "arrow"};
constexpr std::size_t kLongestName = 64;
constexpr std::string_view kContent = "sha256:";
constexpr std::string_view kJobs = "jobs";   // folder; those of tenants are 40 hexadecimal digits
constexpr std::string_view kUnfinished = "unfinished";   // folder
constexpr const char* kNameRule =
    "the name must have 1 to 64 letters, digits, '.', '_' or '-', and not begin with '.', or be sha256: "
    "and 64 hexadecimal digits";

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

bool is_content_name(std::string_view name) {
  return !stored_file(std::string(name)).empty();
}

Uploads::Uploads(fs::path datasets, TenantBytes& bytes, bool by_tenant)
    : datasets_(std::move(datasets)),
      directory_(datasets_ / "uploads"),
      bytes_(bytes),
      by_tenant_(by_tenant),
      references_(std::make_shared<ContentReferences>(datasets_, directory_)),
      partials_(std::make_unique<PartialUploads>(*this, bytes, directory_ / kUnfinished)) {
  fs::create_directories(directory_ / kJobs);
  read_all();
}

Uploads::~Uploads() { references_->close(); }

void Uploads::read_all() {
  for (const auto& left : fs::recursive_directory_iterator(directory_))   // by an earlier run
    if (left.path().extension() == ".part" || left.path().extension() == ".kds") fs::remove(left.path());
  for (const fs::path& folder : files_in(directory_))
    if (folder.filename() != kJobs && folder.filename() != kUnfinished) read_names(folder);
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
    Stored stored = take_up(tenant, std::move(entry->info));
    std::error_code gone;
    stored.used = fs::last_write_time(file, gone);
    names_[tenant].insert_or_assign(name, std::move(stored));
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
  const Stored* const found = find_stored(key, name);
  if (!found) return std::nullopt;
  note_use(key, *found);
  return found->info;
}

const Uploads::Stored* Uploads::find_stored(const std::string& key, const std::string& name) const {
  const auto mine = names_.find(key);
  if (mine == names_.end()) return nullptr;
  auto found = mine->second.find(name);
  if (found == mine->second.end() && is_content_name(name)) {
    const std::string_view digest = std::string_view(name).substr(kContent.size());
    found = std::ranges::find_if(mine->second, [&](const auto& entry) { return entry.second.info.digest == digest; });
  }
  return found == mine->second.end() ? nullptr : &found->second;
}

// The time of its entry's file tells the next start which were used longest ago. Once a minute is enough.
void Uploads::note_use(const std::string& key, const Stored& stored) const {
  const auto now = fs::file_time_type::clock::now();
  if (is_content_name(stored.info.name) && now - stored.used > std::chrono::minutes(1)) {
    std::error_code ignored;
    fs::last_write_time(entry(key, stored.info.name), now, ignored);
  }
  stored.used = now;
}

std::string Uploads::resolve(const std::string& tenant, const std::string& name) const {
  if (const std::optional<UploadInfo> found = find(tenant, name)) return "sha256:" + found->digest;
  const std::vector<UploadInfo> infos = list(tenant);
  std::vector<std::string_view> known;
  for (const UploadInfo& info : infos) known.push_back(info.name);
  const std::string_view near = schema::nearest_name(name, known);
  throw Error(ErrorCode::kDatasetNotFound,
              fmt::format("stored: there is no upload '{}'{}", name, near.empty() ? "" : fmt::format("; did you mean '{}'?", near)),
              "dataset.stored");
}

std::string Uploads::name_of(const std::string& tenant, const std::string& digest) const {
  for (const UploadInfo& info : list(tenant))
    if ("sha256:" + info.digest == digest && !is_content_name(info.name)) return info.name;
  return {};
}

CacheHold Uploads::hold(const std::string& tenant, const std::string& digest) const {
  const std::string key = tenant_key(tenant);
  const auto is_it = [&](const Stored& stored) { return "sha256:" + stored.info.digest == digest; };
  const std::lock_guard lock(mutex_);
  if (const Stored* const found = find_stored(key, digest)) {
    note_use(key, *found);
    return found->hold;
  }
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
  if (is_content_name(name)) remove_unused(content.tenant, name);
  return info;
}

UploadInfo Uploads::give_name(const std::string& tenant, const std::string& name, const std::string& content) {
  require(is_upload_name(name), ErrorCode::kInvalidValue, kNameRule);
  const std::string key = tenant_key(tenant);
  Content named{.info = {}, .tenant = key, .hold = nullptr, .bytes = {}};
  std::uint64_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    const Stored* const found = find_stored(key, content);
    require(found != nullptr, ErrorCode::kNotFound, "there is no data set '{}'", content);
    named.info = found->info, named.hold = found->hold, bytes = found->bytes;
  }
  named.info.name = name;
  named.bytes = bytes_.reserve(tenant, bytes);
  return publish(std::move(named));
}

// Their entries go from the disk before they count no more.
void Uploads::remove_unused(const std::string& key, const std::string& kept) {
  for (const Names::node_type& gone : take_unused(key, kept)) {   // its hold is let go after the lock
    std::error_code ignored;
    fs::remove(entry(key, gone.key()), ignored);
    bytes_.release_key(key, gone.mapped().bytes);
  }
}

std::vector<Uploads::Names::node_type> Uploads::take_unused(const std::string& key, const std::string& kept) {
  const std::uint64_t most = most_content_bytes_;
  const std::lock_guard lock(mutex_);
  Names& mine = names_.at(key);
  std::uint64_t bytes = 0;
  std::vector<std::pair<fs::file_time_type, std::string>> order;   // the name that is kept does not take part
  for (const auto& [name, stored] : mine) {
    if (!is_content_name(name)) continue;
    bytes += stored.bytes;
    if (name != kept) order.emplace_back(stored.used, name);
  }
  std::ranges::sort(order);
  std::vector<Names::node_type> gone;
  for (std::size_t i = 0; i < order.size() && ((most != 0 && bytes > most) || order.size() - i >= kMostContents); ++i) {
    gone.push_back(mine.extract(order[i].second));
    bytes -= gone.back().mapped().bytes;
  }
  return gone;
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
          "format is '{}', must be csv, arff, libsvm, npy, npz, parquet or arrow", info.format);
  return std::unique_ptr<Upload>(new Upload(*this, tenant, std::move(info), announced));
}

std::unique_ptr<Uploads::Upload> Uploads::begin(const std::string& tenant, const std::string& name, const std::string& format,
                                                std::uint64_t announced) {
  require(is_upload_name(name) || is_content_name(name), ErrorCode::kInvalidValue, kNameRule);
  check_names(tenant_key(tenant), name);
  return begin_upload(tenant, {.name = name, .format = format}, announced);
}

std::unique_ptr<Uploads::Upload> Uploads::begin_for_job(const std::string& tenant, const std::string& format) {
  return begin_upload(tenant, {.name = {}, .format = format}, 0);
}

}  // namespace kedge::server
