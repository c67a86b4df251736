// A worker for questions to stored models: its own process on the CPU, so that an answer never waits behind a job.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "schemas/worker.h"
#include "server/jobs/worker_process.h"
#include "server/models/ask_room.h"

namespace kedge::server {

struct AskLimits {
  std::size_t per_tenant = 64, total = 256;   // questions that wait for their turn
  std::size_t together = 64;                  // that are sent to a worker at a time
  std::size_t workers = 1;                    // of a pool
  std::chrono::microseconds delay{0};         // that a question waits for others, unless its model has another
};

// Thread safe; no call waits for an answer. A thread of this object, which owns the process, takes the questions that
// wait, the tenants alternately and each tenant's in order, sends them and reads their answers; what comes meanwhile
// goes next. A model's questions wait until the first of them has waited for its delay, or so many rows are there as
// may be asked together; no more rows of it go at a time, except of a question that alone has more. So a busy worker is
// asked about many rows at once, and an idle one without delay. The process starts with the first question and is
// replaced when it dies; what it had not answered is then asked once more, each alone.
class AskWorker {
 public:
  // An answer, or what went wrong: errors of the worker; kWorkerCrashed when two die of the question; kDeadlineExceeded
  // when it takes more than a minute; kUnavailable when the process cannot be started or this object is being
  // destroyed.
  using Answered = std::function<void(schema::AnswerReport, std::exception_ptr)>;

  // Whose question it is, and what it is about.
  struct Place {
    std::string tenant;
    std::string model = {};                // its id; empty: a file that is to be loaded, which waits for nothing
    std::int64_t rows = 1, max_rows = 0;   // of the question; of the model's questions together, 0: any number
    std::chrono::microseconds delay{0};    // that it waits for others
  };

  static constexpr std::size_t kModelsKept = 4;   // that a worker keeps loaded (engine/worker/runner.cc)

  // room: of several workers together; null: the limits are of this one.
  explicit AskWorker(WorkerProgram program, AskLimits limits = {}, std::shared_ptr<AskRoom> room = nullptr)
      : program_(std::move(program)),
        limits_(limits),
        room_(room ? std::move(room) : std::make_shared<AskRoom>(limits.per_tenant, limits.total)) {
    thread_ = std::jthread([this](std::stop_token stop) { loop(stop); });
  }
  // `question` is called when its turn comes, `answered` once with its answer or with what either threw; both on this
  // object's thread. A question whose handle is destroyed before its turn is dropped, without an answer. The handle
  // must not outlive this object. Errors: as AskRoom::enter().
  std::shared_ptr<void> ask(Place place, std::function<schema::AskCommand()> question, Answered answered);

 private:
  struct Question {
    Place place;
    std::chrono::steady_clock::time_point due;   // it waits for others no longer
    std::function<schema::AskCommand()> command;
    Answered answered;
    std::int64_t token = 0;         // of this object's thread, as are the others
    schema::AskCommand sent = {};   // until it is answered, for another worker
    bool is_again = false;          // the worker did not have its model
  };
  using QuestionPointer = std::shared_ptr<Question>;   // shared by the queue, its handle and the thread that answers it

  void loop(std::stop_token stop);
  // What waits for one model, and what of it goes now.
  struct Group {
    std::chrono::steady_clock::time_point due = std::chrono::steady_clock::time_point::max();   // of the first
    std::int64_t waiting_rows = 0, taken_rows = 0;
    bool is_ready = false;   // waits no longer for others
    bool is_full = false;    // the next one goes later, and those behind it
  };
  struct Groups {
    std::map<std::string_view, Group> of;                                                       // by model
    std::chrono::steady_clock::time_point due = std::chrono::steady_clock::time_point::max();   // of the first of all
    bool any_ready = false;
  };
  Groups groups() const;                                                // under the lock, as are the next ones
  QuestionPointer take_of(const std::string& tenant, Groups& groups);   // the first that may go; null: none may
  QuestionPointer next();                                               // whether or not it may go; something waits
  void note_taken(const Question& question);                            // it waits no more
  void forget(const QuestionPointer& question);
  std::vector<QuestionPointer> take(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
  void settle_all(std::vector<QuestionPointer> questions);
  std::vector<QuestionPointer> ask_worker(std::vector<QuestionPointer> questions);
  bool send(Question& question);
  static void give_up(std::vector<QuestionPointer>& open, const schema::Error& error);
  void take_answer(std::vector<QuestionPointer>& open, schema::WorkerReport report);
  schema::WorkerReport receive(std::chrono::steady_clock::time_point until);
  static void end(Question& question, schema::AnswerReport report, std::exception_ptr error);
  bool ask_again(const std::vector<QuestionPointer>& open, std::int64_t token);
  void note_loaded(const std::string& model);
  void end_process();
  void drain();   // reads heartbeats, so that the pipe never fills

  const WorkerProgram program_;
  const AskLimits limits_;
  const std::shared_ptr<AskRoom> room_;
  std::int64_t last_token_ = 0;               // the thread's alone, as is the next
  std::unique_ptr<WorkerProcess> process_;
  std::string how_it_ended_ = "has ended";    // the last worker that died
  std::deque<std::string> loaded_;            // models that the worker has, the last asked first
  std::mutex mutex_;                          // guards what follows
  std::condition_variable_any changed_;
  std::map<std::string, std::deque<QuestionPointer>> waiting_;   // by tenant; none is empty
  std::deque<std::string> turns_;                                // the tenants that wait, the next one first
  std::size_t n_waiting_ = 0;
  bool is_closed_ = false;
  std::jthread thread_;                       // last: it uses everything above; the process lives as long as it does
};

}  // namespace kedge::server
