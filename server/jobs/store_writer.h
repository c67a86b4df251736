// The writing statements of the job store, prepared once.
#pragma once

#include <string_view>

#include "server/jobs/store.h"
#include "server/jobs/store_sqlite.h"

namespace kedge::server {

class SqlStoreWriter final : public StoreWriter {
 public:
  explicit SqlStoreWriter(SqliteConnection& connection);

  void insert(const schema::Job& job, std::string_view tenant) override;
  bool change(const StateChange& change) override;
  bool append(std::string_view job, std::int64_t held_lease, std::string_view time, const schema::EventBody& body) override;
  void request_cancel(std::string_view job) override;
  void insert_model(const schema::ModelInfo& model) override;
  bool delete_model(std::string_view id) override;

  void begin() { begin_.run(); }
  void commit() { commit_.run(); }
  void roll_back();   // does nothing outside a transaction
  void probe() { probe_.run(); }

 private:
  void insert_event(std::string_view job, std::int64_t seq, std::string_view time, const schema::EventBody& body);

  SqliteConnection& connection_;
  SqliteStatement begin_, commit_, probe_, insert_job_, insert_spec_, change_, next_seq_, insert_event_, insert_result_,
      request_cancel_, insert_model_, delete_model_;
};

}  // namespace kedge::server
