// The writing statements of the job store, prepared once.
#pragma once

#include <string_view>

#include "server/store/registry_statements.h"
#include "server/store/sqlite.h"
#include "server/store/store.h"

namespace kedge::server {

class SqlStoreWriter final : public StoreWriter {
 public:
  explicit SqlStoreWriter(SqliteConnection& connection);

  std::optional<schema::Job> insert(const NewJob& job) override;
  using StoreWriter::change;
  bool change(StateChange& change) override;
  bool append(std::string_view job, std::int64_t held_lease, std::string_view time, const schema::EventBody& body) override;
  void request_cancel(std::string_view job) override;
  void insert_model(const NewModel& model, std::string_view tenant) override;
  void settle_model(const schema::ModelInfo& model) override;
  bool delete_model(std::string_view id) override;
  void remove(std::string_view job) override;
  void trim_events(std::string_view job, std::int64_t first) override;
  void expire_keys() override;
  RegistryWriter& registry() override {
    has_used_registry_ = true;
    return registry_;
  }

  void begin();
  void commit();
  void roll_back();   // does nothing outside a transaction
  void probe() { probe_.run(); }
  bool has_removed() const { return has_removed_; }   // a job, since begin()
  bool has_changed_list() const { return has_changed_list_; }     // since begin()
  bool has_used_registry() const { return has_used_registry_; }   // since begin()

 private:
  std::optional<schema::Job> find_key(const NewJob& job, std::int64_t now);
  void register_model(StateChange& change);
  std::int64_t next_change();
  void insert_event(std::string_view job, std::int64_t seq, std::string_view time, const schema::EventBody& body);

  SqliteConnection& connection_;
  bool has_removed_ = false, has_changed_list_ = false, has_used_registry_ = false;
  std::int64_t last_change_ = 0;   // of the list; numbers of a transaction that was rolled back are left out
  SqliteStatement begin_, commit_, probe_, insert_job_, insert_spec_, insert_shown_spec_, change_, next_seq_,
      insert_event_, insert_result_, request_cancel_, find_key_, insert_key_, expire_keys_, trim_, trimmed_,
      forget_changes_, remove_job_, remove_spec_, remove_shown_spec_, remove_result_, insert_model_, update_model_,
      delete_model_, insert_model_file_, delete_model_file_;
  RegistryWriter registry_;
};

}  // namespace kedge::server
