// /v1/datasets: what clients have sent, by name.
#include "server/api/datasets.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <memory>
#include <span>

#include "server/api/answer.h"
#include "server/api/handlers.h"
#include "server/http/accept.h"
#include "server/http/peer.h"

namespace kedge::server::api {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::int64_t kMostListed = 5000;
constexpr std::size_t kPiece = 1 << 20;   // what goes to disk at once: a hop to another thread for each

schema::Value to_value(const UploadInfo& info) {
  schema::ValueMap map;
  map.emplace_back("name", info.name);
  map.emplace_back("format", info.format);
  map.emplace_back("digest", "sha256:" + info.digest);
  map.emplace_back("bytes", info.bytes);
  map.emplace_back("rows", info.rows);
  map.emplace_back("columns", info.columns);
  map.emplace_back("created", info.created);
  return schema::Value(std::move(map));
}

// 0: the client has not said how many come. The gate has checked the field.
std::uint64_t announced_bytes(const Request& request) {
  std::uint64_t bytes = 0;
  const std::string_view text = request.field("Content-Length");
  std::from_chars(text.data(), text.data() + text.size(), bytes);
  return bytes;
}

[[noreturn]] void not_there(std::string_view name) {
  throw Error(ErrorCode::kNotFound, fmt::format("there is no data set '{}'", name));
}

// Of a list in the order of names, what comes behind a name.
Response page_of(const std::vector<UploadInfo>& infos, const std::string& after, std::size_t page_size) {
  auto next = std::ranges::upper_bound(infos, after, {}, &UploadInfo::name);
  schema::ValueList list;
  for (; next != infos.end() && list.size() < page_size; ++next) list.push_back(to_value(*next));
  schema::ValueMap answer;
  answer.emplace_back("datasets", std::move(list));
  if (next != infos.end()) answer.emplace_back("nextPageToken", std::prev(next)->name);
  return json_answer(200, schema::value_to_json(schema::Value(std::move(answer))));
}

}  // namespace

std::string format_of(std::string_view file_name, std::string_view content_type) {
  file_name = without_coding(file_name);
  for (const std::string_view format : {"csv", "arff", "libsvm", "npy"})
    if (file_name.ends_with("." + std::string(format))) return std::string(format);
  if (http::is_media_type(content_type, "text/csv")) return "csv";
  if (http::is_media_type(content_type, "text/x-arff")) return "arff";
  if (http::is_media_type(content_type, "application/x-npy")) return "npy";
  return {};
}

Uploads& uploads(const Api& api) {
  if (!api.uploads) throw Error(ErrorCode::kUnavailable, "this server takes no uploads");
  return *api.uploads;
}

awaitable<void> BodyPieces::next() {
  filled_ = 0;
  for (bool more = true; more && filled_ < kPiece;) {
    const std::size_t n = co_await body_.read_into(std::span(piece_.get() + filled_, kPiece - filled_));
    filled_ += n;
    more = n > 0;
  }
}

awaitable<void> receive(BodyPieces& pieces, http::Peer& peer, Uploads::Upload& upload) {
  auto write = [&] { upload.write(pieces.piece()); };
  for (; !pieces.piece().empty(); co_await pieces.next()) co_await peer.offload(write);
}

awaitable<void> receive(http::BodyReader& body, http::Peer& peer, Uploads::Upload& upload) {
  BodyPieces pieces(body);
  co_await pieces.next();
  co_await receive(pieces, peer, upload);
}

awaitable<void> finish(const Api& api, http::Peer& peer, const std::function<void()>& work) {
  if (api.upload_threads)
    co_await http::Peer::offload_to(*api.upload_threads, work);
  else
    co_await peer.offload(work);
}

awaitable<Response> put_dataset(const Api& api, Request request) {
  check_query(request, {"format"});
  Uploads& store = uploads(api);
  const std::string name(request.capture("name")), tenant = request.caller.tenant;
  const auto wanted = request.query_value("format");
  std::string format = wanted ? std::string(*wanted) : format_of(name, request.field("Content-Type"));
  BodyPieces pieces(*request.body_reader);
  if (format.empty()) {
    co_await pieces.next();
    auto look = [&] { format = format_of_content(decoded_head(pieces.piece())); };
    co_await request.peer->offload(look);
  }
  if (format.empty())
    throw Error(ErrorCode::kInvalidValue,
                "the format of the data set is not known, neither by its name, its Content-Type nor its content: say ?format=csv, arff, libsvm "
                "or npy", "format");
  bool existed = false;
  std::unique_ptr<Uploads::Upload> upload;
  auto begin = [&] {
    existed = store.find(tenant, name).has_value();
    upload = store.begin(tenant, name, format, announced_bytes(request));
  };
  co_await request.peer->offload(begin);
  if (pieces.piece().empty()) co_await pieces.next();
  co_await receive(pieces, *request.peer, *upload);
  UploadInfo info;
  const std::function<void()> publish = [&] { info = store.publish(upload->finish({})); };
  co_await finish(api, *request.peer, publish);
  Response response = json_answer(existed ? 200 : 201, schema::value_to_json(to_value(info)));
  response.fields.emplace_back("Location", "/v1/datasets/" + name);
  co_return response;
}

awaitable<Response> list_datasets(const Api& api, Request request) {
  check_query(request, {"pageSize", "pageToken"});
  const auto size = request.query_value("pageSize");
  const std::int64_t page_size = size ? parse_integer(*size, 1, kMostListed, "pageSize") : kMostListed;
  const std::string after(request.query_value("pageToken").value_or(""));
  if (!after.empty() && !is_upload_name(after))
    throw Error(ErrorCode::kInvalidValue, fmt::format("pageToken is '{}', must be the nextPageToken of a page", after),
                "pageToken");
  auto work = [&] { return page_of(uploads(api).list(request.caller.tenant), after, static_cast<std::size_t>(page_size)); };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> get_dataset(const Api& api, Request request) {
  check_query(request, {});
  const std::string name(request.capture("name"));
  auto work = [&] { return uploads(api).find(request.caller.tenant, name); };
  const std::optional<UploadInfo> info = co_await request.peer->offload(work);
  if (!info) not_there(name);
  co_return json_answer(200, schema::value_to_json(to_value(*info)));
}

awaitable<Response> delete_dataset(const Api& api, Request request) {
  check_query(request, {});
  const std::string name(request.capture("name"));
  auto work = [&] { return uploads(api).remove(request.caller.tenant, name); };
  const bool removed = co_await request.peer->offload(work);
  if (!removed) not_there(name);
  Response response;
  response.status = 204;
  co_return response;
}

}  // namespace kedge::server::api
