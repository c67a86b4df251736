// A connection to a server, and the jobs on it.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kedge/dataset.h"
#include "kedge/pipeline.h"
#include "kedge/registry.h"
#include "schemas/catalogue.h"
#include "schemas/error.h"
#include "schemas/event.h"
#include "schemas/job.h"
#include "schemas/model.h"
#include "schemas/preview.h"

namespace kedge {

using schema::Error;
class Transport;
class MapRun;
struct MapOptions;

// Gets a file in pieces, in order, so that it may be larger than the memory. What it throws ends the transfer and is thrown on.
using Take = std::function<void(std::string_view piece)>;

// A job's result with a shorthand for its scores.
struct Result : schema::Result {
  // Error{kNotFound} when the job did not compute that score.
  const schema::Score& score(std::string_view name) const;
  double mean(std::string_view name) const { return score(name).mean; }
};

// The events of one job, as an input range. Reading blocks; a dropped connection is taken up again where it broke, without
// gap or repeat. Ends after the job's last event. Error{kConnection} when the server stays away for `patience`.
class EventStream {
 public:
  class Iterator {
   public:
    using value_type = schema::Event;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(EventStream* stream) : stream_(stream) { ++*this; }
    const schema::Event& operator*() const { return event_; }
    const schema::Event* operator->() const { return &event_; }
    Iterator& operator++();
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.stream_ == nullptr; }

   private:
    EventStream* stream_ = nullptr;
    schema::Event event_;
  };

  EventStream(std::shared_ptr<Transport> transport, std::string job_id, std::int64_t after, std::stop_token stop = {});
  EventStream(EventStream&&) noexcept;
  ~EventStream();
  std::optional<schema::Event> next();   // nullopt after the last event
  Iterator begin() { return Iterator(this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A handle to a job on the server. Copies refer to the same job; destroying it does not cancel the job.
class Job {
 public:
  Job(std::shared_ptr<Transport> transport, std::string id) : transport_(std::move(transport)), id_(std::move(id)) {}
  const std::string& id() const { return id_; }
  schema::Job status() const;                         // now
  // All that wait end with Error{kCancelled} soon after a stop; the job itself continues.
  schema::Job wait(std::stop_token stop = {}) const;                             // when it has ended
  EventStream events(std::int64_t after = 0, std::stop_token stop = {}) const;   // from the event after number `after`
  std::vector<schema::Event> events_so_far(std::int64_t after = 0) const;        // those that are stored now
  Result result(std::stop_token stop = {}) const;   // waits; throws the job's error if it failed or was cancelled
  // The result from another thread, over a connection of its own. The future's destructor waits for it: stop it to leave early.
  std::future<Result> future(std::stop_token stop = {}) const;
  // `Result r = co_await job.finished()`: the coroutine continues in a thread of its own, which ends with it.
  class Finished;
  Finished finished(std::stop_token stop = {}) const;
  void cancel() const;                                // Error{kConflict} when it has ended
  // A file that the job has left, of Result::artifacts. accept: the media type that it is wanted in, of Parquet or
  // Arrow for a table; empty: as it is. Error{kNotFound} for another artifact, Error{kNotAcceptable} for another type.
  void download(std::string_view artifact, const Take& take, std::string_view accept = {}) const;

 private:
  std::shared_ptr<Transport> transport_;   // shared: a job may outlive its session
  std::string id_;
};

// How a model is served: which of the questions that wait are answered together.
struct Serving {
  std::int64_t max_batch_rows = 0;                 // rows of one call of the model; 0: no bound
  std::optional<std::int64_t> max_delay_us = {};   // that a question waits for others; unset: the server's default
  double log_fraction = 0;                         // of the questions that are logged; 0: none are
  std::int64_t log_max_bytes = 1 << 20;            // of the log
  friend bool operator==(const Serving&, const Serving&) = default;
};

// A handle to a stored model. Bodies go and come as they are: CSV, JSON or NPY, named by their media types.
class Model {
 public:
  Model(std::shared_ptr<Transport> transport, std::string id) : transport_(std::move(transport)), id_(std::move(id)) {}
  const std::string& id() const { return id_; }
  schema::ModelInfo info() const;
  // output: one of ModelInfo::outputs but transform. Error{kBadData} names the column that the rows lack.
  std::string predict(std::string_view rows, std::string_view output = "predict", std::string_view content_type = "text/csv",
                      std::string_view accept = "text/csv") const;
  std::string transform(std::string_view rows, std::string_view content_type = "text/csv", std::string_view accept = "text/csv") const;
  std::string download() const;   // the file, for Session::upload_model() on another server
  void download(const Take& take) const;
  void remove() const;            // jobs that have opened the model go on with it
  Serving serving() const;        // how its questions are answered
  // On the disk when it returns; what is not set gets its default. Error{kInvalidValue} names the field.
  Serving set_serving(const Serving& settings) const;
  std::string log() const;   // what was logged of its questions: JSON lines, the oldest first
  // How the rows that it was asked about differ from those that it was fitted on, column by column.
  schema::ModelDrift drift() const;
  void reset_drift() const;   // forgets what was counted, and begins again

 private:
  std::shared_ptr<Transport> transport_;   // shared: a model may outlive its session
  std::string id_;
};

class Job::Finished {
 public:
  Finished(Job job, std::stop_token stop) : job_(std::move(job)), stop_(std::move(stop)) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting);
  Result await_resume();

 private:
  Job job_;
  std::stop_token stop_;
  std::optional<Result> result_;
  std::exception_ptr error_;
};

// Not thread safe; make one a thread. Calls are tried again where that is safe while the server is away or busy. All calls throw Error: the server's own code, or kConnection.
class Session {
 public:
  explicit Session(std::shared_ptr<Transport> transport) : transport_(std::move(transport)) {}

  // Returns when the server has the job on disk: once, however often the call had to be repeated, for it carries a key.
  Job submit(const schema::JobSpec& spec, std::stop_token stop = {}) const;
  // The same with the caller's own key, of 1 to 255 printable characters: a second call with it, also from another
  // process, gives the first one's job.
  Job submit_once(const schema::JobSpec& spec, std::string_view key, std::stop_token stop = {}) const;
  // Many jobs, some at a time: see map.h, which also takes several servers.
  MapRun map(std::vector<schema::JobSpec> specs) const;
  MapRun map(std::vector<schema::JobSpec> specs, MapOptions options) const;
  Session another() const;   // over a connection of its own, for another thread
  // deadlines: {.queue = 60, .fetch = 600, .run = 3600} in seconds; 0: as the server has them. register_as: a
  // registered model, of which the model that a fit or a search stores becomes a new version; Result::registered says
  // which.
  template <TaskStruct T>
  Job submit(const Dataset& data, std::vector<schema::Step> pipeline, const T& task, std::string device = "auto",
             schema::Deadlines deadlines = {}, std::string register_as = {}) const {
    return submit({.dataset = data.ref(),
                   .select = data.select(),
                   .pipeline = std::move(pipeline),
                   .task = task.task(),
                   .device = std::move(device),
                   .deadlines = deadlines,
                   .registerAs = std::move(register_as)});
  }
  // A task that asks a stored model (predict, transform) and so has no pipeline.
  template <TaskStruct T>
  Job submit(const Dataset& data, const T& task, std::string device = "auto", schema::Deadlines deadlines = {}) const {
    return submit({.dataset = data.ref(), .select = data.select(), .task = task.task(), .device = std::move(device),
                   .deadlines = deadlines});
  }
  Job job(std::string id) const { return Job(transport_, std::move(id)); }
  schema::JobPage jobs(std::string_view state = {}, std::int64_t page_size = 50, std::string_view page_token = {}) const;
  // id: of Result::model, or of the list; or a name of the registry: "iris", "iris@champion", "iris/3".
  Model model(std::string id) const { return Model(transport_, std::move(id)); }
  Registry registry() const { return Registry(transport_); }
  schema::ModelPage models(std::int64_t page_size = 50, std::string_view page_token = {}) const;   // newest first
  // The bytes of a file of Kedge, XGBoost (JSON, UBJSON) or LightGBM (text). Error{kModelCorrupt} for what is no model.
  Model upload_model(std::string_view file) const;
  schema::Catalogue estimators() const;
  schema::EstimatorInfo estimator(std::string_view name) const;   // Error{kNotFound} says what is nearest
  schema::ServerInfo info() const;
  // The server starts the ranks of its device "cluster" once more, compares and measures them: its report as JSON or as
  // text. Takes seconds. Error{kDeviceUnavailable} where it has none, kUnavailable when they do not come together.
  std::string check_cluster(bool as_json) const;
  // Uploads, as the server describes them: name, format, digest, bytes, rows, columns, created. `file` "-" is stdin;
  // format "csv", "arff", "libsvm", "npy", "npz", "parquet" or "arrow", empty: by the name's ending or the
  // content. `sent` hears how far it is: bytes so far, and of all (0: unknown). It must not throw. Of 16 MiB and more, a
  // break of the connection costs what had not come yet: it goes on from there.
  using Sent = std::function<void(std::int64_t bytes, std::int64_t total)>;
  schema::Value upload(const std::string& name, const std::string& file, const std::string& format = {},
                       const Sent& sent = {}) const;
  schema::Value datasets() const;
  void remove_dataset(const std::string& name) const;
  // What a data set holds and how a job would read its columns, with the first rows (1 to 100). The server fetches what
  // it does not have yet, within 30 s.
  schema::DatasetPreview preview(const Dataset& data, std::int64_t rows = 10) const { return preview({data.ref(), data.select()}, rows); }
  schema::DatasetPreview preview(const schema::PreviewRequest& request, std::int64_t rows = 10) const;

 private:
  std::shared_ptr<Transport> transport_;   // shared with the jobs
};

// url: "http://host:port", or empty for KEDGE_URL, or else http://127.0.0.1:5334. token: or KEDGE_TOKEN, or the file that
// KEDGE_TOKEN_FILE names. Nothing is sent yet.
Session connect(std::string url = {}, std::string token = {});

}  // namespace kedge

namespace kedge::schema {
std::ostream& operator<<(std::ostream& out, const Event& event);      // its number and one line for people
std::ostream& operator<<(std::ostream& out, const EventBody& body);   // the line alone
}
