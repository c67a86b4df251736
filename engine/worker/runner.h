// Runs one job after the other on the worker's device and keeps the tables of the last ones warm in between.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/core/dataset_file.h"
#include "engine/model/stored_model.h"
#include "engine/model/training_profile.h"
#include "engine/pipeline.h"
#include "schemas/worker.h"

namespace kedge::engine {

// Resource; one thread. Borrows the device.
class Runner {
 public:
  using Report = std::function<void(schema::WorkerReport)>;

  explicit Runner(Device& device) : device_(device), warm_(WarmTables::usual_bounds(device.info())) {}

  // Validates and runs one job; reports its events and at the end, always, a DoneReport or a FailedReport.
  // False when the device cannot be trusted any more and the process should end: after an internal error a GPU is
  // tried, and one that does not compute any more has a poisoned context.
  bool run(const schema::RunCommand& command, std::stop_token stop, const Report& report);
  // The same for questions to stored models: an AnswerReport or a FailedReport for each, in any order. Those to one
  // model for the same output are answered in one call of it where that does not change a bit of any answer.
  bool answer(std::span<const schema::AskCommand* const> questions, const Report& report);
  void forget();   // ends all use of files and tables of earlier runs

 private:
  // What distinguishes a file from another that takes its place. Without its path: a lent file has another name each
  // time.
  struct FileIdentity {
    std::uint64_t device = 0, inode = 0;
    std::int64_t size = 0, modified_ns = 0;
    friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
    std::string text() const;
  };
  static FileIdentity identify(const std::string& path);
  const DatasetFile& open(const std::string& path, const std::string& name);   // name: for messages; empty: as the file says
  // A loaded model. Shared with the questions that it answers, so that none of them loses it where memory ends.
  struct KeptModel {
    KeptModel(FileIdentity from, std::string by, std::unique_ptr<StoredModel> loaded);
    const FileIdentity file;   // empty where the model is known by its id
    const std::string id;
    const std::unique_ptr<StoredModel> model;
    std::optional<BinCounter> bins;   // of its profile, where it has one
    bool is_told = false;             // an answer has had the profile
  };
  std::shared_ptr<KeptModel> model(const Context& ctx, const std::string& path, const std::string& id = {});
  struct Parsed {
    const schema::AskCommand* question;
    ModelRows rows;
  };
  static schema::AnswerReport answered(KeptModel& kept, const Parsed& parsed, const ModelAnswer& answer,
                                       std::int64_t together, double seconds);
  bool answer_group(const Context& ctx, std::span<const schema::AskCommand* const> questions, const Report& report);
  bool answer_one(const Context& ctx, KeptModel& kept, const Parsed& parsed, const Report& report);
  bool answer_joined(const Context& ctx, KeptModel& kept, const std::vector<Parsed>& parsed, const Report& report);
  schema::DoneReport done(const Context& ctx, const schema::RunCommand& command);
  template <class Work>
  bool guarded(std::int64_t lease, const Report& report, Work work);
  template <class Work>
  bool reported(std::int64_t lease, const Report& report, Work work);
  bool is_well();
  void forget_data();

  Device& device_;
  FileIdentity mapped_;
  std::optional<DatasetFile> data_;
  WarmTables warm_;
  std::vector<std::shared_ptr<KeptModel>> models_;   // the last used first
};

}  // namespace kedge::engine
