// How each kind of data set reference becomes a parsed file.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "schemas/dataset.h"
#include "server/data/dataset_cache.h"
#include "server/data/dataset_store.h"
#include "server/data/fetch.h"
#include "server/data/flight.h"

namespace kedge::server {

// What a source works with. Borrows; lives in the cache.
struct SourceContext {
  const DataOptions& options;
  DatasetStore& store;
  const Fetcher& fetcher;
  const Emit& emit;
  std::stop_token stop;
  std::string trace;   // of the job, or the first of those that wait together
  std::string owner;   // the tenant_key() of whose cache this is; empty: tenants share one
  std::vector<std::string> columns = {};   // that are wanted; empty: all

  std::string key(const std::string& reference) const { return owner.empty() ? reference : "tenant " + owner + "\n" + reference; }
  std::string file(const std::string& name) const { return owner.empty() ? name : "tenant-" + owner + "-" + name; }
};

// Names a reference: equal references have equal keys. Errors: kInvalidValue for a reference that cannot be.
std::string reference_key(const schema::DatasetRef& ref, const DataOptions& options);

// True when the key alone decides what the data is, so that an index entry needs no request.
bool is_exact(const schema::DatasetRef& ref);

// The address that {"sklearn": NAME} is short for.
schema::UrlRef address_of(const schema::SklearnRef& ref);

// For messages: the address, or the first of several and how many follow.
std::string shown_address(const schema::UrlRef& ref);

// Whether it says by its format or its name that the file is Parquet or Arrow, of which columns can be left out.
bool is_columnar(const schema::UrlRef& ref);

// The columns that acquire() reads: those of the caller, where such a reference lets others be left out; empty: all.
std::vector<std::string> columns_wanted(const schema::DatasetRef& ref, const DataCaller& caller);
std::string columns_digest(const std::vector<std::string>& columns);

// "stored-DIGEST.kds" for "sha256:DIGEST", which is what a StoredRef says once the server has accepted the job;
// otherwise empty. `owner`: as in SourceContext; the name then says nothing about the content.
std::string stored_file(const std::string& name, const std::string& owner = {});

// Gets and parses the data set and remembers it in the index. Errors as DatasetCache::acquire.
AcquiredDataset acquire_from(const schema::OpenmlRef& ref, const std::string& key, const SourceContext& context);
AcquiredDataset acquire_from(const schema::UrlRef& ref, const std::string& key, const SourceContext& context);
AcquiredDataset acquire_from(const schema::BuiltinRef& ref, const std::string& key, const SourceContext& context);
AcquiredDataset acquire_from(const schema::InlineRef& ref, const std::string& key, const SourceContext& context);
AcquiredDataset acquire_from(const schema::StoredRef& ref, const std::string& key, const SourceContext& context);
AcquiredDataset acquire_from(const schema::GenerateRef& ref, const std::string& key, const SourceContext& context);
AcquiredDataset acquire_from(const schema::SklearnRef& ref, const std::string& key, const SourceContext& context);

}  // namespace kedge::server
