// The cache of parsed data sets: each is downloaded and parsed once, however many jobs ask at the same time.
#include "server/data/dataset_cache.h"

#include <fmt/format.h>
#include <atomic>

#include <algorithm>

#include "crypto/digest.h"
#include "engine/core/require.h"
#include "engine/faults/fail_point.h"
#include "server/data/arrow.h"
#include "server/data/builtin.h"
#include "server/data/cell.h"
#include "server/data/content_references.h"
#include "server/data/fetch_url.h"
#include "server/data/hugging_face.h"
#include "server/data/object_store.h"
#include "server/data/rcv1.h"
#include "server/data/sklearn_sets.h"
#include "server/data/source_steps.h"
#include "server/data/sources.h"
#include "server/data/tenant_bytes.h"
#include "server/data/url_pattern.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;

std::string key_of(const schema::OpenmlRef& ref, const DataOptions& options) {
  engine::require(ref.id >= 0 && ref.version >= 0, ErrorCode::kInvalidValue, "openml: id is {} and version is {}, must not be negative",
                  ref.id, ref.version);
  engine::require(ref.id != 0 || !ref.name.empty(), ErrorCode::kInvalidValue, "openml: neither id nor name is given");
  engine::require(ref.id == 0 || ref.name.empty(), ErrorCode::kInvalidValue, "openml: both id {} and name '{}' are given", ref.id, ref.name);
  // Ids and versions mean something on one server only, so its address belongs to the key.
  if (ref.id != 0) return fmt::format("openml {} id {}", options.openml_url, ref.id);
  return fmt::format("openml {} version {} name {}", options.openml_url, ref.version, ref.name);
}

// False: it may name several. Errors: kInvalidValue for what is no address.
bool names_one_file(const schema::UrlRef& ref) {
  for (const std::string& url : ref.urls) split_url(url);
  if (!ref.urls.empty()) return false;
  if (is_hub_url(ref.url)) {
    split_hub_url(ref.url);
    return false;
  }
  if (is_object_url(ref.url)) return !is_pattern(split_object_url(ref.url));
  if (is_sklearn_url(ref.url)) {
    engine::require(same_ignoring_case(ref.format, "csv"), ErrorCode::kInvalidValue,
                    "url: format is '{}', a set of scikit-learn's has its own and needs none", ref.format);
    return is_rcv1_url(ref.url) ? !rcv1_set(ref.url).topic.empty() : !sklearn_set(ref.url).name.empty();
  }
  if (!is_url_pattern(ref.url)) {
    split_url(ref.url);
    return true;
  }
  for (const std::string& url : expand_url_pattern(ref.url)) split_url(url);
  return false;
}

std::string key_of(const schema::UrlRef& ref, const DataOptions& options) {
  const auto is = [&](const char* format) { return same_ignoring_case(ref.format, format); };
  engine::require(is("csv") || is("arff") || is("libsvm") || is_arrow_format(ref.format), ErrorCode::kInvalidValue,
                  "url: format is '{}', must be 'csv', 'arff', 'libsvm', 'parquet' or 'arrow'", ref.format);
  const bool is_digest = ref.sha256.size() == 64 && std::ranges::all_of(ref.sha256, [](unsigned char c) { return std::isxdigit(c); });
  engine::require(ref.sha256.empty() || is_digest, ErrorCode::kInvalidValue, "url: sha256 must be 64 hexadecimal digits");
  const std::string address =
      ref.urls.empty() ? ref.url : fmt::format("{} urls\n{}", ref.urls.size(), fmt::join(ref.urls, "\n"));
  const std::string key = fmt::format("url {} {}\n{}\n{}", ref.format, ref.sha256, address, ref.target);
  const bool is_one = names_one_file(ref);
  engine::require(is_one || ref.sha256.empty(), ErrorCode::kInvalidValue,
                  "url: sha256 is of one file, '{}' may name several", shown_address(ref));
  const ObjectStore* const store = store_of(options.stores, ref.url);   // another one has another file of that name
  return store ? fmt::format("{}\nat {}", key, store->endpoint) : key;
}

// Of the address, so that both forms have one file in the cache.
std::string key_of(const schema::SklearnRef& ref, const DataOptions& options) {
  try {
    return key_of(address_of(ref), options);
  } catch (const schema::Error& error) {
    throw schema::Error(error.code, error.message, "dataset.sklearn");
  }
}

std::string key_of(const schema::BuiltinRef& ref, const DataOptions&) {
  return fmt::format("builtin {} {}", ref.name, builtin_fingerprint(ref.name));
}

std::string key_of(const schema::StoredRef& ref, const DataOptions&) { return "stored " + ref.name; }

std::string key_of(const schema::GenerateRef& ref, const DataOptions&) {
  return fmt::format("generated {} {}", ref.name, schema::to_string(ref.params));
}

std::string key_of(const schema::InlineRef& ref, const DataOptions&) {
  return fmt::format("inline {} {}", crypto::hex_digest(crypto::DigestKind::kSha256, ref.csv), ref.target);
}

}  // namespace

std::string reference_key(const schema::DatasetRef& ref, const DataOptions& options) {
  return std::visit([&](const auto& source) { return key_of(source, options); }, ref.source);
}

bool is_exact(const schema::DatasetRef& ref) {
  if (const auto* openml = std::get_if<schema::OpenmlRef>(&ref.source)) return openml->id != 0 || openml->version != 0;
  if (const auto* url = std::get_if<schema::UrlRef>(&ref.source))
    return !url->sha256.empty() || is_sklearn_url(url->url);
  return true;
}

// Another server has it, which may answer one tenant and not the next.
bool has_address(const schema::DatasetRef& ref) {
  return std::holds_alternative<schema::UrlRef>(ref.source) || std::holds_alternative<schema::SklearnRef>(ref.source);
}

std::string columns_digest(const std::vector<std::string>& columns) {
  std::string all;
  for (const std::string& column : columns) all += fmt::format("{} {}\n", column.size(), column);
  return crypto::hex_digest(crypto::DigestKind::kSha256, all).substr(0, 32);
}

std::vector<std::string> columns_wanted(const schema::DatasetRef& ref, const DataCaller& caller) {
  const auto* const url = std::get_if<schema::UrlRef>(&ref.source);
  return url && is_columnar(*url) ? caller.columns : std::vector<std::string>();
}

namespace {

// Of the index.
struct Keys {
  std::string shared;   // what the reference led to, and the flight that finds out
  std::string own;      // that it may be given to this tenant
};

// What the operator names may have any address.
std::vector<std::string> allowed(const DataOptions& options) {
  std::vector<std::string> names = options.allow_fetch;
  for (const ObjectStore& store : options.stores) {
    if (store.endpoint.empty()) continue;
    const UrlParts parts = split_url(store.endpoint);
    names.push_back(fmt::format("{}:{}", parts.host, parts.port));
  }
  return names;
}

}  // namespace

struct DatasetCache::Impl {
  FetchLibrary library;
  DataOptions options;
  std::atomic<std::uintmax_t> max_bytes;
  DatasetStore store;
  Fetcher fetcher;
  FlightDeck flights;   // last, so that its threads have ended before the rest goes

  AcquiredDataset at_hand(KnownFile known) const { return {.path = store.path(known.file), .hold = std::move(known.hold)}; }

  std::string owner_of(const std::string& tenant) const { return options.by_tenant ? tenant_key(tenant) : std::string(); }
  Keys keys_of(const schema::DatasetRef& ref, const DataCaller& caller) const;
  AcquiredDataset fetched_earlier(const Keys& keys, const schema::Error& error, const Emit& emit);
  void remember(const Keys& keys, const AcquiredDataset& acquired) const;

  explicit Impl(DataOptions given)
      : options(std::move(given)),
        max_bytes(options.max_cache_bytes),
        store(options.directory),
        fetcher(AddressRules(allowed(options), options.openml_url),
                FetchLimits{.max_bytes = options.max_download_bytes,
                            .floor = options.fetch_floor,
                            .floor_time = options.fetch_floor_seconds},
                options.downloaded) {}
};

// A URL may be open to one tenant and closed to the next, so each has an entry of its own for it.
// Other columns are another table: what is computed then depends on the job alone, not on what was read before.
Keys DatasetCache::Impl::keys_of(const schema::DatasetRef& ref, const DataCaller& caller) const {
  const std::string& tenant = caller.tenant;
  std::string reference = reference_key(ref, options);
  const std::vector<std::string> columns = columns_wanted(ref, caller);
  if (!columns.empty()) reference += "\ncolumns " + columns_digest(columns);
  const std::string owner = owner_of(tenant);
  Keys keys{.shared = owner.empty() ? reference : "tenant " + owner + "\n" + reference};
  const bool is_url = has_address(ref) && !KEDGE_CONTROL("serve-urls-to-all");
  keys.own = is_url ? "fetched by " + tenant_key(tenant) + "\n" + keys.shared : keys.shared;
  return keys;
}

AcquiredDataset DatasetCache::Impl::fetched_earlier(const Keys& keys, const schema::Error& error, const Emit& emit) {
  auto known = store.find(keys.own);
  if (error.code != ErrorCode::kDatasetUnavailable || !known) throw error;
  if (emit) log(emit, "warning", fmt::format("{}; the file that was fetched earlier is used", error.message));
  return at_hand(std::move(*known));
}

void DatasetCache::Impl::remember(const Keys& keys, const AcquiredDataset& acquired) const {
  if (keys.own == keys.shared) return;
  const std::string file = acquired.path.filename();
  if (const auto known = store.index().recall(keys.own); !known || known->file != file) store.index().put(keys.own, {file, ""});
}

DatasetCache::DatasetCache(DataOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
DatasetCache::~DatasetCache() = default;

AcquiredDataset DatasetCache::acquire(const schema::DatasetRef& ref, const std::function<void(schema::EventBody)>& emit,
                                      std::stop_token stop, const DataCaller& caller) {
  const Keys keys = impl_->keys_of(ref, caller);
  if (is_exact(ref))
    if (auto known = impl_->store.find(keys.own)) return impl_->at_hand(std::move(*known));
  const auto work = [this, ref, key = keys.shared, owner = impl_->owner_of(caller.tenant), caller](
                        const Emit& flight_emit, std::stop_token flight_stop) {
    const SourceContext context{impl_->options, impl_->store, impl_->fetcher, flight_emit,
                                flight_stop,    caller.trace, owner,          columns_wanted(ref, caller)};
    return std::visit([&](const auto& source) { return acquire_from(source, key, context); }, ref.source);
  };
  try {
    AcquiredDataset acquired = impl_->flights.fly(keys.shared, work, emit, std::move(stop));
    impl_->remember(keys, acquired);
    impl_->store.evict(impl_->max_bytes);
    return acquired;
  } catch (const schema::Error& error) {
    return impl_->fetched_earlier(keys, error, emit);
  }
}

AcquiredDataset DatasetCache::derived(AcquiredDataset from, const std::string& how,
                                      const std::function<void(const std::filesystem::path& output)>& make,
                                      std::stop_token stop) {
  const std::string file = fmt::format("{}{}.kds", derived_prefix(from.path.filename()),
                                       crypto::hex_digest(crypto::DigestKind::kSha256, how).substr(0, 40));
  AcquiredDataset made = from;   // which stays on the disk meanwhile
  made.path = impl_->store.path(file);
  made.hold = impl_->store.ensure(file, [&] { make(made.path); }, std::move(stop));
  impl_->store.evict(impl_->max_bytes);
  return made;
}

bool DatasetCache::needs_network(const schema::DatasetRef& ref, const DataCaller& caller) const {
  const bool is_remote = std::holds_alternative<schema::OpenmlRef>(ref.source) || has_address(ref);
  if (!is_remote || !is_exact(ref)) return is_remote;
  const auto known = impl_->store.index().find(impl_->keys_of(ref, caller).own);
  std::error_code unknown;
  return !known || !std::filesystem::exists(impl_->store.path(known->file), unknown);
}

std::optional<AcquiredDataset> DatasetCache::recall(const schema::DatasetRef& ref, const DataCaller& caller) const {
  if (!is_exact(ref) || std::holds_alternative<schema::InlineRef>(ref.source)) return std::nullopt;   // whose text would be read for its key
  try {
    if (auto known = impl_->store.recall(impl_->keys_of(ref, caller).own)) return impl_->at_hand(std::move(*known));
  } catch (const schema::Error&) {   // acquire() will say it
  }
  return std::nullopt;
}

void DatasetCache::set_max_bytes(std::uintmax_t bytes) { impl_->max_bytes = bytes; }

std::uintmax_t DatasetCache::bytes() const { return impl_->store.bytes(); }

std::vector<std::string> DatasetCache::builtin_names() { return builtin_dataset_names(); }

}  // namespace kedge::server
