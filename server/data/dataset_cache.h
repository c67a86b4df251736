// The cache of parsed data sets: each is downloaded and parsed once, however many jobs ask at the same time.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/dataset.h"
#include "schemas/event.h"
#include "server/data/cache_uses.h"
#include "server/data/object_store.h"

namespace kedge::server {

struct DataOptions {
  std::filesystem::path directory;                        // <data-dir>/datasets
  std::string openml_url = "https://www.openml.org";      // or a mirror; its host counts as allowed
  std::vector<std::string> allow_fetch;                   // hosts, host:port or CIDR ranges that may be private addresses
  std::vector<ObjectStore> stores = {};   // what s3:// and gs:// addresses mean; their hosts count as allowed
  std::int64_t max_download_bytes = std::int64_t{4} << 30;
  std::uintmax_t max_cache_bytes = 0;   // of parsed files, without uploads; 0: no bound; at first: see set_max_bytes()
  bool by_tenant = false;               // tenants share nothing but the built-in sets: none can tell what another has fetched or sent
  std::int64_t fetch_floor = 16 << 10;  // bytes per second: what comes slower for fetch_floor_seconds ends; 0: nothing does
  std::chrono::seconds fetch_floor_seconds{30};
  // Called after each download of data: "ok", "unchanged", "failed" or "cancelled". Must not block; may be empty.
  std::function<void(std::string_view outcome, std::int64_t bytes, double seconds)> downloaded = {};
};

// The caller that wants a data set.
struct DataCaller {
  std::string tenant;
  std::string trace = {};   // a traceparent (W3C), which goes with the requests; of calls that share a download that of the first
  // Names of the columns that are needed beside the target, sorted (engine::columns_read()); empty: all. Of a Parquet
  // or Arrow file behind a URL the others are then not read.
  std::vector<std::string> columns = {};
};

// A data set that is ready. The file stays on disk at least as long as this value lives.
struct AcquiredDataset {
  std::filesystem::path path;     // an engine::DatasetFile
  std::string name = {};          // what its owner calls it, in messages; empty: as the file says
  CacheHold hold = {};            // null: nothing removes the file but its owner
  double download_seconds = 0, parse_seconds = 0;
  bool cold = false;              // downloaded or parsed for this call (or one that it waited for)
};

class DatasetCache {
 public:
  explicit DatasetCache(DataOptions options);
  ~DatasetCache();

  // Beyond the cache's bound, files that are not in use are removed, those that were used longest ago first.
  // What a URL led to is only for tenants that its server has answered: a tenant's first use of it asks there.
  // Blocks until the data set is there; call from a thread that may block. `emit` receives download and parse progress.
  // Calls for the same data set at the same time share one download and parse. Errors: kDatasetNotFound,
  // kDatasetUnavailable (after retries, with the cause), kDatasetCorrupt (checksum or text), kInvalidValue (address not
  // allowed), kCancelled.
  AcquiredDataset acquire(const schema::DatasetRef& ref, const std::function<void(schema::EventBody)>& emit,
                          std::stop_token stop, const DataCaller& caller = {});

  // What make() writes from that data set, kept in the cache like others and made once for each `how`. Errors: those of
  // make(); kCancelled.
  AcquiredDataset derived(AcquiredDataset from, const std::string& how,
                          const std::function<void(const std::filesystem::path& output)>& make, std::stop_token stop);

  // True if acquire() may need to ask another server. One look at the disk at most.
  bool needs_network(const schema::DatasetRef& ref, const DataCaller& caller) const;

  // What acquire() would return at once, if memory knows it: reads nothing from the disk. Empty says nothing; no errors.
  std::optional<AcquiredDataset> recall(const schema::DatasetRef& ref, const DataCaller& caller = {}) const;

  void set_max_bytes(std::uintmax_t bytes);   // 0: no bound; holds from the next acquire() on

  std::uintmax_t bytes() const;   // of all parsed data sets; reads the directory

  static std::vector<std::string> builtin_names();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::server
