// /v1/datasets: what clients have sent, by name.
#include "server/api/datasets.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <memory>
#include <span>

#include "server/api/answer.h"
#include "server/api/api.h"
#include "server/data/partial_uploads.h"
#include "server/http/accept.h"
#include "server/http/peer.h"
#include "server/http/problem.h"

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
  for (const std::string_view format : {"csv", "arff", "libsvm", "npy", "npz", "parquet", "arrow"})
    if (file_name.ends_with("." + std::string(format))) return std::string(format);
  if (http::is_media_type(content_type, "text/csv")) return "csv";
  if (http::is_media_type(content_type, "text/x-arff")) return "arff";
  if (http::is_media_type(content_type, "application/x-npy")) return "npy";
  if (http::is_media_type(content_type, "application/x-npz")) return "npz";
  if (http::is_media_type(content_type, "application/vnd.apache.parquet")) return "parquet";
  for (const std::string_view kind : {"application/vnd.apache.arrow.file", "application/vnd.apache.arrow.stream"})
    if (http::is_media_type(content_type, kind)) return "arrow";
  if (file_name.ends_with(".feather")) return "arrow";
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

awaitable<void> receive(BodyPieces& pieces, http::Peer& peer, const WritePiece& write) {
  auto work = [&] { write(pieces.piece()); };
  for (; !pieces.piece().empty(); co_await pieces.next()) co_await peer.offload(work);
}

awaitable<void> receive(http::BodyReader& body, http::Peer& peer, Uploads::Upload& upload) {
  BodyPieces pieces(body);
  co_await pieces.next();
  const WritePiece write = [&](std::string_view piece) { upload.write(piece); };
  co_await receive(pieces, peer, write);
}

awaitable<void> finish(const Api& api, http::Peer& peer, const std::function<void()>& work) {
  if (api.upload_threads)
    co_await http::Peer::offload_to(*api.upload_threads, work);
  else
    co_await peer.offload(work);
}

namespace {

Response stored_answer(int status, const UploadInfo& info) {
  Response response = json_answer(status, schema::value_to_json(to_value(info)));
  response.fields.emplace_back("Location", "/v1/datasets/" + info.name);
  return response;
}

std::string wanted_format(const Request& request, const std::string& name) {
  const auto wanted = request.query_value("format");
  return wanted ? std::string(*wanted) : format_of(name, request.field("Content-Type"));
}

// By the request, or by the first piece of the body.
awaitable<std::string> format_of_upload(const Request& request, const std::string& name, BodyPieces& pieces) {
  std::string format = wanted_format(request, name);
  if (format.empty()) {
    co_await pieces.next();
    auto look = [&] { format = format_of_content(decoded_head(pieces.piece())); };
    co_await request.peer->offload(look);
  }
  if (format.empty())
    throw Error(
        ErrorCode::kInvalidValue,
        "the format of the data set is not known, neither by its name, its Content-Type nor its content: say ?format=csv, arff, libsvm, "
        "npy, npz, parquet or arrow",
        "format");
  co_return format;
}

// PUT /v1/datasets/{name}?content=sha256:...
awaitable<Response> name_content(Uploads& store, const Request& request, const std::string& name) {
  const std::string content(*request.query_value("content"));
  BodyPieces pieces(*request.body_reader);
  co_await pieces.next();
  if (!pieces.piece().empty()) throw Error(ErrorCode::kInvalidValue, "with content there is no body", "content");
  if (!is_content_name(content))
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("content is '{}', must be sha256: and 64 hexadecimal digits", content), "content");
  bool existed = false;
  UploadInfo info;
  auto work = [&] {
    existed = store.find(request.caller.tenant, name).has_value();
    info = store.give_name(request.caller.tenant, name, content);
  };
  co_await request.peer->offload(work);
  co_return stored_answer(existed ? 200 : 201, info);
}

// What has come of a content, for a client that sends the rest: how many bytes, if any.
Response not_all_there(const Request& request, std::uint64_t waiting, const Error& error) {
  Response response = http::problem(error, request.id);
  if (waiting > 0) response.fields.emplace_back("Upload-Offset", std::to_string(waiting));
  return response;
}

// "bytes 1000-4999/5000" of the rest of a body, as curl -C 1000 -T sends it (RFC 9110, 14.4). Without the field it is
// all of it.
struct ContentRange {
  std::uint64_t first = 0, all = 0;   // all: 0, not known
};

ContentRange content_range(const Request& request) {
  const std::string_view text = request.field("Content-Range");
  if (text.empty()) return {.all = announced_bytes(request)};
  std::uint64_t numbers[3] = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  bool is_good = text.starts_with("bytes ");
  at += is_good ? 6 : 0;
  for (std::size_t i = 0; i < 3 && is_good; ++i) {
    const auto [next, error] = std::from_chars(at, end, numbers[i]);
    is_good = error == std::errc() && (i == 2 ? next == end : next != end && *next == "-/"[i]);
    if (is_good && i < 2) at = next + 1;
  }
  const auto [first, last, all] = numbers;
  const std::uint64_t announced = announced_bytes(request);
  if (!is_good || first > last || last != all - 1 || (announced != 0 && announced != all - first))
    throw Error(
        ErrorCode::kInvalidValue,
        fmt::format("Content-Range is '{}', must be 'bytes FIRST-LAST/ALL' of all that is left", text.substr(0, 64)),
        "Content-Range");
  return {.first = first, .all = all};
}

// PUT /v1/datasets/sha256:...: what is there is not read again, and of what has come in part only the rest.
awaitable<Response> put_content(const Api& api, const Request& request, const std::string& name) {
  Uploads& store = uploads(api);
  const std::string tenant = request.caller.tenant;
  const ContentRange range = content_range(request);
  auto look = [&] { return store.find(tenant, name); };
  const std::optional<UploadInfo> found = co_await request.peer->offload(look);
  if (found) co_return stored_answer(200, *found);
  BodyPieces pieces(*request.body_reader);
  std::string format = wanted_format(request, name);
  if (range.first == 0) format = co_await format_of_upload(request, name, pieces);
  std::unique_ptr<PartialUploads::Writer> writer;
  auto begin = [&] { writer = store.partials().begin(tenant, name, format, range.first, range.all); };
  co_await request.peer->offload(begin);
  if (!writer) {
    const Error error(ErrorCode::kConflict,
                      fmt::format("there are not exactly {} bytes of it; Upload-Offset says how many", range.first),
                      "Content-Range");
    co_return not_all_there(request, store.partials().waiting(tenant, name), error);
  }
  if (pieces.piece().empty()) co_await pieces.next();
  const WritePiece write = [&](std::string_view piece) { writer->write(piece); };
  co_await receive(pieces, *request.peer, write);
  UploadInfo info;
  const std::function<void()> publish = [&] { info = store.publish(writer->finish({})); };
  co_await finish(api, *request.peer, publish);
  co_return stored_answer(201, info);
}

}   // namespace

awaitable<Response> put_dataset(const Api& api, Request request) {
  check_query(request, {"format", "content"});
  Uploads& store = uploads(api);
  const std::string name(request.capture("name")), tenant = request.caller.tenant;
  const bool is_named_after = request.query_value("content").has_value();
  if (!is_named_after && is_content_name(name)) co_return co_await put_content(api, request, name);
  if (!request.field("Content-Range").empty())
    throw Error(ErrorCode::kInvalidValue, "only an upload by content (/v1/datasets/sha256:...) is sent in parts",
                "Content-Range");
  if (is_named_after) co_return co_await name_content(store, request, name);
  BodyPieces pieces(*request.body_reader);
  const std::string format = co_await format_of_upload(request, name, pieces);
  bool existed = false;
  std::unique_ptr<Uploads::Upload> upload;
  auto begin = [&] {
    existed = store.find(tenant, name).has_value();
    upload = store.begin(tenant, name, format, announced_bytes(request));
  };
  co_await request.peer->offload(begin);
  if (pieces.piece().empty()) co_await pieces.next();
  const WritePiece write = [&](std::string_view piece) { upload->write(piece); };
  co_await receive(pieces, *request.peer, write);
  UploadInfo info;
  const std::function<void()> publish = [&] { info = store.publish(upload->finish({})); };
  co_await finish(api, *request.peer, publish);
  co_return stored_answer(existed ? 200 : 201, info);
}

awaitable<Response> list_datasets(const Api& api, Request request) {
  check_query(request, {"pageSize", "pageToken"});
  const auto size = request.query_value("pageSize");
  const std::int64_t page_size = size ? parse_integer(*size, 1, kMostListed, "pageSize") : kMostListed;
  const std::string after(request.query_value("pageToken").value_or(""));
  if (!after.empty() && !is_upload_name(after) && !is_content_name(after))
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
  if (!info && is_content_name(name)) {
    const Error error(ErrorCode::kNotFound, fmt::format("there is no data set '{}'", name));
    co_return not_all_there(request, uploads(api).partials().waiting(request.caller.tenant, name), error);
  }
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
