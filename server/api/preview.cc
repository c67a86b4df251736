// What a data set holds, before a job: GET /v1/datasets/{name}/preview and POST /v1/datasets/preview.
#include <fmt/format.h>

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>

#include "server/api/answer.h"
#include "server/api/api.h"
#include "server/api/datasets.h"
#include "server/api/tenant_threads.h"
#include "server/http/accept.h"
#include "server/http/peer.h"

namespace kedge::server::api {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::chrono::seconds kDeadline{30};   // what takes longer can be previewed once a job has fetched it
constexpr std::int64_t kRows = 10, kMostRows = 100;

std::int64_t wanted_rows(const Request& request) {
  const auto rows = request.query_value("rows");
  return rows ? parse_integer(*rows, 1, kMostRows, "rows") : kRows;
}

schema::PreviewRequest decode(const Request& request) {
  const std::string_view type = request.field("Content-Type");
  if (http::is_media_type(type, kJson)) return schema::from_json<schema::PreviewRequest>(request.body);
  if (http::is_media_type(type, kCapnp)) return schema::from_binary<schema::PreviewRequest>(std::as_bytes(std::span(request.body)));
  throw Error(ErrorCode::kUnsupportedMediaType, fmt::format("Content-Type is '{}', must be {} or {}", type, kJson, kCapnp), "Content-Type");
}

TenantThreads& previews(const Api& api) {
  if (!api.previews) throw Error(ErrorCode::kUnavailable, "this server makes no previews");
  return *api.previews;
}

// Ends the preview after a while, or when the server stops. Its flags outlive the wait.
class Deadline {
 public:
  Deadline(http::net::any_io_executor loop, std::stop_token stopping)
      : timer_(std::move(loop), kDeadline), on_stop_(std::move(stopping), [stop = stop_]() mutable { stop.request_stop(); }) {
    timer_.async_wait([late = late_, stop = stop_](const boost::system::error_code& error) mutable {
      if (error) return;
      *late = true;
      stop.request_stop();
    });
  }
  std::stop_token token() const { return stop_.get_token(); }
  bool is_over() const { return *late_; }

 private:
  std::stop_source stop_;
  std::shared_ptr<std::atomic<bool>> late_ = std::make_shared<std::atomic<bool>>(false);   // the timer's handler may run after this object
  http::net::steady_timer timer_;
  std::stop_callback<std::function<void()>> on_stop_;
};

// On a thread of the previews: fetches and parses what is not there yet.
schema::DatasetPreview preview(const Api& api, const std::string& tenant, schema::PreviewRequest wanted, std::int64_t n_rows,
                               const Deadline& deadline) {
  if (auto* stored = std::get_if<schema::StoredRef>(&wanted.dataset.source)) stored->name = uploads(api).resolve(tenant, stored->name);
  try {
    return api.jobs.preview(wanted, tenant, n_rows, deadline.token());
  } catch (const Error& error) {
    if (error.code != ErrorCode::kCancelled || !deadline.is_over()) throw;
    throw Error(ErrorCode::kDatasetUnavailable,
                fmt::format("it could not be fetched and parsed within {} s, the bound of a preview; a job has more time", kDeadline.count()),
                "dataset");
  }
}

awaitable<Response> answer_preview(const Api& api, Request request, schema::PreviewRequest wanted) {
  const std::int64_t n_rows = wanted_rows(request);
  TenantThreads& all = previews(api);
  const std::shared_ptr<void> place = all.take(request.caller.tenant);
  const Deadline deadline(request.peer->executor(), all.stopping());
  schema::DatasetPreview found;
  auto work = [&] { found = preview(api, request.caller.tenant, std::move(wanted), n_rows, deadline); };
  co_await http::Peer::offload_to(all.threads(), work);
  co_return answer(request, 200, found);
}

}  // namespace

awaitable<Response> preview_dataset(const Api& api, Request request) {
  check_query(request, {"rows"});
  schema::PreviewRequest wanted = decode(request);
  co_return co_await answer_preview(api, std::move(request), std::move(wanted));
}

awaitable<Response> preview_upload(const Api& api, Request request) {
  check_query(request, {"rows"});
  const std::string name(request.capture("name"));
  auto work = [&] { return uploads(api).find(request.caller.tenant, name).has_value(); };
  if (!co_await request.peer->offload(work)) throw Error(ErrorCode::kNotFound, fmt::format("there is no data set '{}'", name));
  schema::PreviewRequest wanted{.dataset = {schema::StoredRef{name}}, .select = {}};   // a name: gcc 12 ends a temporary of a coroutine twice
  co_return co_await answer_preview(api, std::move(request), std::move(wanted));
}

}  // namespace kedge::server::api
