// /v1/jobs: submit, list, show, cancel, result.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "engine/faults/fail_point.h"
#include "server/api/answer.h"
#include "server/api/api.h"
#include "server/api/datasets.h"
#include "server/api/events.h"
#include "server/api/job_with_data.h"
#include "server/api/ownership.h"
#include "server/data/inline_data.h"
#include "server/http/accept.h"
#include "server/http/compress.h"
#include "server/http/peer.h"
#include "server/http/problem.h"
#include "server/jobs/model_registry.h"

namespace kedge::server::api {
namespace {

using http::Peer;
using schema::Error;
using schema::ErrorCode;
using schema::Job;
using schema::JobState;

constexpr std::chrono::seconds kStoreDeadline{30};   // after that the disk counts as broken

schema::JobSpec decode_spec(const Request& request) {
  const std::string_view type = request.field("Content-Type");
  if (http::is_media_type(type, kJson) || (type.empty() && request.body.empty()))
    return schema::from_json<schema::JobSpec>(request.body);
  if (http::is_media_type(type, kCapnp))
    return schema::from_binary<schema::JobSpec>(std::as_bytes(std::span(request.body)));
  // None at all is refused, too: that is what a web page of another site may send without asking.
  throw Error(ErrorCode::kUnsupportedMediaType,
              fmt::format("Content-Type is '{}', must be {}, {} or multipart/form-data", type, kJson, kCapnp), "Content-Type");
}

// The job as it is stored: an upload's name becomes its digest, so that a later upload of that name changes nothing,
// and a model's name its id. kNotFound for an upload or a model that the caller may not use.
schema::JobSpec pinned_spec(const Api& api, const Request& request, const std::optional<JobWithData>& brought) {
  schema::JobSpec spec = brought ? brought->spec : decode_spec(request);
  if (auto* stored = std::get_if<schema::StoredRef>(&spec.dataset.source); stored && api.uploads && !brought)
    stored->name = api.uploads->resolve(request.caller.tenant, stored->name);
  if (auto* predict = std::get_if<schema::Predict>(&spec.task))
    predict->model = resolve_model(api, request.caller, predict->model, "task.predict.model");
  if (auto* transform = std::get_if<schema::Transform>(&spec.task))
    transform->model = resolve_model(api, request.caller, transform->model, "task.transform.model");
  return spec;
}

// Empty: the client makes no promise about repeating itself.
std::string idempotency_key(const Request& request) {
  constexpr std::string_view kField = "Idempotency-Key";
  const auto n = std::ranges::count_if(request.fields, [&](const auto& f) { return http::same_name(f.first, kField); });
  if (n > 1) throw Error(ErrorCode::kInvalidValue, "Idempotency-Key comes twice", std::string(kField));
  const std::string_view key = request.field(kField);
  if (n > 0 && key.empty()) throw Error(ErrorCode::kInvalidValue, "Idempotency-Key is empty", std::string(kField));
  return std::string(key);
}

// Handed to the service with the job; the last of the two frees it.
struct Submission {
  std::mutex mutex;
  std::optional<Job> job;
  std::optional<Error> error;
  std::optional<JobEnd> end;   // only for a request that waits for it

  // What its service says is put into a member, and the bell rung.
  template <class Told>
  static auto note(std::shared_ptr<Submission> submission, std::optional<Told> Submission::*member, Peer& peer) {
    return [submission = std::move(submission), member, bell = peer.bell()](Told told) {
      {
        const std::lock_guard lock(submission->mutex);
        (*submission).*member = std::move(told);
      }
      bell->ring();
    };
  }

  bool has_end() {
    const std::lock_guard lock(mutex);
    return end.has_value();
  }
};

// Submits a job whose data came along. It goes under the job's own id, which no client can name; from submit() on the service drops it when the
// job ends, or is not stored.
std::string submit_to(const Api& api, schema::JobSpec spec, std::shared_ptr<Submission> submission, Peer& peer, SubmitOptions options,
                      std::optional<JobWithData>& brought) {
  if (brought) {
    options.id = api.jobs.new_id();
    uploads(api).give_to_job(options.id, std::move(brought->data));
  }
  try {
    return api.jobs.submit(std::move(spec), Submission::note(submission, &Submission::job, peer),
                           Submission::note(submission, &Submission::error, peer), options);
  } catch (...) {
    if (brought) uploads(api).drop_job(options.id);
    throw;
  }
}

// Until the service has said what became of it. False: not in time.
awaitable<bool> wait_for_word(Peer& peer, Submission& submission) {
  const auto deadline = Peer::Clock::now() + kStoreDeadline;
  while (Peer::Clock::now() < deadline) {
    {
      const std::lock_guard lock(submission.mutex);
      if (submission.error || submission.job) co_return true;
    }
    co_await peer.wait_until(deadline);
  }
  co_return false;
}

awaitable<Job> submit(const Api& api, const Request& request, std::optional<JobWithData>& brought, std::shared_ptr<Submission> submission,
                      bool end_is_awaited) {
  const auto peer = request.peer;
  auto store = [&](schema::JobSpec spec, bool is_valid) {
    SubmitOptions options{.tenant = request.caller.tenant, .idempotency_key = idempotency_key(request), .trace = request.trace};
    options.is_valid = is_valid;
    if (end_is_awaited) options.ended = Submission::note(submission, &Submission::end, *peer);
    return submit_to(api, std::move(spec), submission, *peer, std::move(options), brought);
  };
  std::optional<schema::JobSpec> unchecked;   // where its check takes long
  auto work = [&] {
    schema::JobSpec spec = pinned_spec(api, request, brought);
    if (!api.checks || KEDGE_CONTROL("check-anywhere") || !api.jobs.takes_long_to_validate(spec)) return store(std::move(spec), false);
    unchecked = std::move(spec);
    return std::string();
  };
  std::string id = co_await peer->offload(work);
  if (unchecked) {
    awaitable<schema::JobSpec> check = api.checks->checked(peer, request.caller.tenant, std::move(*unchecked));
    schema::JobSpec checked = co_await std::move(check);
    auto store_checked = [&] { return store(std::move(checked), true); };
    id = co_await peer->offload(store_checked);
  }
  if (!co_await wait_for_word(*peer, *submission))
    throw Error(ErrorCode::kUnavailable, "the job could not be stored in time; whether it was is unknown");
  const bool is_new = submission->job && submission->job->id == id;   // said once, so it does not change
  auto drop = [&] { uploads(api).drop_job(id); };
  if (brought && !is_new) co_await peer->offload(drop);
  if (submission->error) throw *submission->error;
  co_return std::move(*submission->job);
}

awaitable<Job> submit_with_data(const Api& api, const Request& request, std::shared_ptr<Submission> submission, bool end_is_awaited) {
  std::optional<JobWithData> brought;
  {
    JobWithData received = co_await receive_job(api, request);
    brought.emplace(std::move(received));
  }
  Job job = co_await submit(api, request, brought, submission, end_is_awaited);
  co_return job;
}

awaitable<Job> submit_alone(const Api& api, const Request& request, std::shared_ptr<Submission> submission, bool end_is_awaited) {
  std::optional<JobWithData> none;
  Job job = co_await submit(api, request, none, submission, end_is_awaited);
  co_return job;
}

awaitable<OwnedJob> find_job(const Api& api, std::shared_ptr<Peer> peer, http::Caller caller, std::string id) {
  auto work = [&] { return find_owned(api, caller, id); };
  OwnedJob found = co_await peer->offload(work);
  co_return found;
}

// Until the job has ended, the time is over, the client has disconnected or the server stops.
awaitable<void> wait_for_end(const Api& api, std::shared_ptr<Peer> peer, std::string id, std::chrono::milliseconds wait) {
  const auto until = Peer::Clock::now() + wait;
  const auto subscription = api.jobs.subscribe(id, [bell = peer->bell()] { bell->ring(); });
  while (api.jobs.is_open(id) && Peer::Clock::now() < until && !peer->gone() && !peer->stopping()) co_await peer->wait_until(until);
}

// A new job, or one that its key named, once it has ended, or as it is after the wait. It is read from the store only
// if the end has not been reported.
awaitable<Job> finish(const Api& api, const Request& request, std::shared_ptr<Submission> submission, Job job, std::chrono::milliseconds wait) {
  if (!submission->has_end()) co_await wait_for_end(api, request.peer, job.id, wait);
  if (!submission->has_end()) {
    OwnedJob found = co_await find_job(api, request.peer, request.caller, job.id);
    co_return std::move(found.job);
  }
  const std::lock_guard lock(submission->mutex);
  std::move(*submission->end).complete(job);
  co_return job;
}

// Shows the job that a request names, after the wait that it wants.
awaitable<OwnedJob> requested_job(const Api& api, const Request& request) {
  const std::string id(request.capture("id"));
  const auto peer = request.peer;
  const auto caller = request.caller;
  OwnedJob found = co_await find_job(api, peer, caller, id);
  const auto wait = wanted_wait(request);
  if (wait && !is_final(found.job.state)) {
    co_await wait_for_end(api, peer, id, *wait);
    found = co_await find_job(api, peer, caller, id);
  }
  co_return found;
}

// The answer, written and compressed where it keeps no other connection waiting: results may be large.
template <class T>
awaitable<Response> written(const Request& request, int status, const T& value) {
  auto work = [&] {
    Response response = answer(request, status, value);
    http::compress(response, request.field("Accept-Encoding"));
    return response;
  };
  co_return co_await request.peer->offload(work);
}

// What was answered to such a request before, if the job had ended then. Everything unusual goes the long way, which says what is wrong.
std::optional<Response> kept_answer(const Api& api, const Request& request) {
  std::optional<Response> kept = api.answers->find(request, api.jobs.removals());
  if (kept) wanted_wait(request);   // refuses one that cannot be read
  return kept;
}

JobState parse_state(std::string_view name) {
  constexpr std::array kStates{JobState::kQueued,     JobState::kFetching,  JobState::kRunning,
                               JobState::kFinalizing, JobState::kSucceeded, JobState::kFailed,
                               JobState::kCancelled};
  for (const JobState state : kStates)
    if (schema::job_state_name(state) == name) return state;
  throw Error(
      ErrorCode::kInvalidValue,
      fmt::format(
          "state is '{}', must be queued, fetching, running, finalizing, succeeded, failed or cancelled",
          name),
      "state");
}

// Both spellings of a parameter are known; the second is what scripts that speak snake case send.
std::optional<std::string_view> either(const Request& request, std::string_view camel,
                                       std::string_view snake) {
  const auto first = request.query_value(camel);
  return first ? first : request.query_value(snake);
}

std::string searched(std::string_view words) {
  constexpr std::ptrdiff_t kLongest = 50;
  const auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };   // of UTF-8
  const auto length = std::ranges::count_if(words, begins_character);
  if (length > kLongest)
    throw Error(ErrorCode::kInvalidValue, fmt::format("search has {} characters, may have {}", length, kLongest), "search");
  return std::string(words);
}

}  // namespace

awaitable<Response> create_job(const Api& api, Request request) {
  check_query(request, {"wait"});
  const std::string_view form = negotiate(request, {kJson, kCapnp, kSse, kNdjson});
  const auto wait = wanted_wait(request);  // before the job is stored: a bad one must not leave a job behind
  api.jobs.require_room(request.caller.tenant);   // before the body is read: under load most are refused
  const bool is_live = form == kSse || form == kNdjson;
  std::shared_ptr<void> stream;
  if (is_live && !KEDGE_CONTROL("count-streams-late")) stream = open_stream(api, request.caller.tenant);   // what is refused stores no job
  const bool end_is_awaited = wait && wait->count() > 0 && !is_live;
  const auto submission = std::make_shared<Submission>();
  awaitable<Job> submitted = request.body_reader ? submit_with_data(api, request, submission, end_is_awaited)
                                                 : submit_alone(api, request, submission, end_is_awaited);
  Job job;
  try {
    job = co_await std::move(submitted);
  } catch (const Error& error) {
    if (error.code != ErrorCode::kNotFound || error.where != "Idempotency-Key") throw;
    co_return http::problem(410, error, request.id);   // the key is known, its job has been forgotten
  }
  leave_out_data(job.spec, kLongestShownData);
  const std::string location = "/v1/jobs/" + job.id;
  Response response;
  if (is_live) {
    response = event_stream(api, request, job.id, 0, form, stream);
  } else {
    if (wait) {
      awaitable<Job> finished = finish(api, request, submission, std::move(job), *wait);
      job = co_await std::move(finished);
    }
    const int status = wait && is_final(job.state) ? 201 : 202;
    const bool is_small = request.body.size() < kLongestShownData && !job.result;
    if (is_small)
      response = answer(request, status, job);
    else
      response = co_await written(request, status, job);
    if (wait && !request.query_value("wait")) response.fields.emplace_back("Preference-Applied", "wait");
  }
  response.fields.emplace_back("Location", location);
  co_return response;
}

// All that a submit would refuse of a description, without a job.
awaitable<Response> check_job(const Api& api, Request request) {
  check_query(request, {});
  std::optional<schema::JobSpec> unchecked;   // where its check takes long
  auto work = [&] {
    schema::JobSpec spec = pinned_spec(api, request, std::nullopt);
    api.jobs.check_surroundings(spec);
    if (!spec.registerAs.empty()) api.jobs.registry().require_room(request.caller.tenant, spec.registerAs);
    if (api.checks && api.jobs.takes_long_to_validate(spec)) unchecked = std::move(spec);
    else api.jobs.validate(spec);
  };
  co_await request.peer->offload(work);
  if (unchecked) {
    awaitable<schema::JobSpec> check = api.checks->checked(request.peer, request.caller.tenant, std::move(*unchecked));
    co_await std::move(check);
  }
  co_return json_answer(200, "{\"valid\":true}");
}

awaitable<Response> list_jobs(const Api& api, Request request) {
  check_query(request, {"state", "search", "pageSize", "page_size", "pageToken", "page_token"});
  JobFilter filter;
  if (!request.caller.admin) filter.tenant = request.caller.tenant;
  if (const auto state = request.query_value("state")) filter.state = parse_state(*state);
  if (const auto words = request.query_value("search")) filter.search = searched(*words);
  if (const auto size = either(request, "pageSize", "page_size"))
    filter.page_size = parse_integer(*size, 1, 500, "pageSize");
  if (const auto token = either(request, "pageToken", "page_token")) filter.page_token = *token;
  auto work = [&] { return answer(request, 200, api.jobs.list(filter)); };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> get_job(const Api& api, Request request) {
  check_query(request, {"wait"});
  if (std::optional<Response> kept = kept_answer(api, request)) co_return std::move(*kept);
  const std::uint64_t removals = api.jobs.removals();
  const OwnedJob found = co_await requested_job(api, request);
  Response response = co_await written(request, 200, found.job);
  if (is_final(found.job.state)) api.answers->keep(request, found.tenant, response, removals);
  co_return response;
}

awaitable<Response> get_result(const Api& api, Request request) {
  check_query(request, {"wait"});
  if (std::optional<Response> kept = kept_answer(api, request)) co_return std::move(*kept);
  const std::uint64_t removals = api.jobs.removals();
  const OwnedJob found = co_await requested_job(api, request);
  const Job& job = found.job;
  if (job.state == JobState::kSucceeded && job.result) {
    Response response = co_await written(request, 200, *job.result);
    api.answers->keep(request, found.tenant, response, removals);
    co_return response;
  }
  if (job.state == JobState::kCancelled)
    throw Error(ErrorCode::kCancelled, fmt::format("job {} was cancelled", job.id));
  if (job.state == JobState::kFailed)
    throw job.error.value_or(
        Error(ErrorCode::kInternal, fmt::format("job {} failed: {}", job.id, job.reason)));
  throw Error(ErrorCode::kConflict,
              fmt::format("job {} is {} and has no result yet; ask with ?wait=60s, or follow its events",
                          job.id, schema::job_state_name(job.state)));
}

awaitable<Response> cancel_job(const Api& api, Request request) {
  check_query(request, {});
  const std::string id(request.capture("id"));
  auto work = [&] {
    check_owner(api, request.caller, id);
    api.jobs.cancel(id);
  };
  co_await request.peer->offload(work);
  const OwnedJob found = co_await find_job(api, request.peer, request.caller, id);
  co_return answer(request, 202, found.job);
}

}  // namespace kedge::server::api
