// The reading statements of the job store, on a connection of their own: they see the last commit and never wait for one.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "server/store/registry_statements.h"
#include "server/store/sqlite.h"
#include "server/store/store.h"

namespace kedge::server {

// For one thread at a time.
class StoreReader {
 public:
  explicit StoreReader(const std::filesystem::path& file);

  std::optional<OwnedJob> find(std::string_view id);
  std::optional<schema::JobSpec> spec(std::string_view id);
  std::optional<std::string> tenant(std::string_view id);
  std::string trace(std::string_view id);
  bool has_key(std::string_view tenant, std::string_view key);
  schema::JobPage list(std::optional<schema::JobState> state, std::int64_t page_size, std::string_view before,
                       const std::optional<std::string>& tenant);
  schema::JobPage search(std::string_view words, std::optional<schema::JobState> state, std::int64_t page_size,
                         std::string_view before, const std::optional<std::string>& tenant);
  JobChanges changes(std::int64_t after, std::size_t limit, const std::optional<std::string>& tenant);
  std::vector<schema::Event> events(std::string_view id, std::int64_t after, std::size_t limit);
  std::string last_job_id();
  std::optional<schema::ModelInfo> find_model(std::string_view id);
  std::optional<std::string> model_tenant(std::string_view id);
  schema::ModelPage list_models(std::int64_t page_size, std::string_view before, const std::optional<std::string>& tenant);
  std::map<std::string, std::uint64_t> model_bytes_by_tenant();
  std::vector<std::string> unsettled_models();
  std::optional<std::string> model_bytes(std::string_view id);
  std::map<std::string, std::int64_t> crashes_since(std::string_view time);

  std::vector<Expired> ended_before(std::string_view time, std::int64_t limit);
  std::vector<Expired> events_ended_before(std::string_view time, std::int64_t limit);
  std::vector<Expired> with_more_events_than(std::int64_t events, std::int64_t limit);
  std::int64_t used_bytes();
  RegistryReader& registry() { return registry_; }

 private:
  schema::Event gap(std::string_view id, std::int64_t from, std::int64_t to);

  SqliteConnection connection_;
  SqliteStatement find_, spec_, tenant_, trace_, key_, list_, list_tenant_, scan_, listed_result_, last_change_,
      changes_, events_, last_id_, find_model_, model_tenant_, list_models_, model_bytes_;
  RegistryReader registry_;
};

}  // namespace kedge::server
