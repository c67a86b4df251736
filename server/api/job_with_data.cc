// Receiving a job and its data.
#include "server/api/job_with_data.h"

#include <fmt/format.h>

#include <optional>

#include "schemas/codec.h"
#include "server/api/datasets.h"
#include "server/api/multipart.h"
#include "server/http/peer.h"

namespace kedge::server::api {
namespace {

using http::Request;
using http::net::awaitable;
using schema::Error;
using schema::ErrorCode;

constexpr std::size_t kLongestSpec = 1 << 20;

struct Parts {
  std::optional<schema::JobSpec> spec;
  std::unique_ptr<Uploads::Upload> data;
};

[[noreturn]] void refuse(std::string text) {
  throw Error(ErrorCode::kMalformed, std::move(text));
}

// What is behind the bound, if only a byte, is not taken.
awaitable<std::string> read_text(http::BodyReader& body) {
  std::string text;
  while (true) {
    const std::size_t before = text.size();
    text.resize(std::min(2 * before + 4096, kLongestSpec + 1));
    const std::size_t n = co_await body.read_into(std::span(text).subspan(before));
    text.resize(before + n);
    if (n == 0) co_return text;
    if (text.size() > kLongestSpec)
      throw Error(ErrorCode::kBodyTooLarge,
                  fmt::format("it has more than {} bytes; tables go into the part 'data'", kLongestSpec));
  }
}

schema::JobSpec parse_spec(std::string_view text) {
  schema::JobSpec spec = schema::from_json<schema::JobSpec>(text);
  const auto* stored = std::get_if<schema::StoredRef>(&spec.dataset.source);
  if (!stored || stored->name != "data")
    throw Error(ErrorCode::kInvalidValue,
                "dataset must be {\"stored\": \"data\"} in a multipart job: the part 'data' is the data set", "dataset");
  return spec;
}

awaitable<void> receive_data(const Api& api, const Request& request, const Multipart::Part& part, Multipart& parts,
                             Parts& received) {
  const std::string format = format_of(part.file_name, part.content_type);
  if (format.empty())
    throw Error(
        ErrorCode::kInvalidValue,
        "its format is not known: it needs a file name that ends in .csv, .arff, .libsvm, .npy, .npz, .parquet or .arrow, or such a Content-Type",
        "data");
  auto begin = [&] { received.data = uploads(api).begin_for_job(request.caller.tenant, format); };
  co_await request.peer->offload(begin);
  co_await receive(parts, *request.peer, *received.data);
}

awaitable<void> receive_part(const Api& api, const Request& request, const Multipart::Part& part, Multipart& parts,
                             Parts& received) {
  if (part.name == "spec" && !received.spec) {
    const std::string text = co_await read_text(parts);
    auto parse = [&] { received.spec = parse_spec(text); };
    co_await request.peer->offload(parse);
  } else if (part.name == "data" && !received.data) {
    co_await receive_data(api, request, part, parts, received);
  } else if (part.name == "spec" || part.name == "data") {
    refuse("it comes twice");
  } else {
    throw Error(ErrorCode::kUnknownField, "a job has the parts 'spec' and 'data'");
  }
}

// "part 'data': ..." in front of what is wrong with it.
awaitable<void> name_in_errors(std::string part, awaitable<void> work) {
  try {
    co_await std::move(work);
  } catch (const schema::QuotaExceeded& error) {
    throw schema::QuotaExceeded(fmt::format("part '{}': {}", part, error.message), error.quota);
  } catch (const Error& error) {
    throw Error(error.code, fmt::format("part '{}': {}", part, error.message), error.where);
  }
}

awaitable<void> parse_data(const Api& api, const Request& request, Parts& received, Uploads::Content& content) {
  const std::function<void()> parse = [&] { content = received.data->finish({}); };
  co_await finish(api, *request.peer, parse);
}

}   // namespace

awaitable<JobWithData> receive_job(const Api& api, const Request& request) {
  Multipart parts(*request.body_reader, request.field("Content-Type"));
  Parts received;
  while (true) {
    const std::optional<Multipart::Part> part = co_await parts.next();
    if (!part) break;
    awaitable<void> work = receive_part(api, request, *part, parts, received);
    co_await name_in_errors(part->name.substr(0, 64), std::move(work));
  }
  if (!received.spec) refuse("the multipart body has no part 'spec'");
  if (!received.data) refuse("the multipart body has no part 'data'");
  Uploads::Content content;
  awaitable<void> work = parse_data(api, request, received, content);
  co_await name_in_errors("data", std::move(work));
  received.spec->dataset.source = schema::StoredRef{"sha256:" + content.info.digest};
  co_return JobWithData{.spec = std::move(*received.spec), .data = std::move(content)};
}

}   // namespace kedge::server::api
