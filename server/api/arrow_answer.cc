// A table is read back into columns, and kedge-arrow writes these.
#include "server/api/arrow_answer.h"

#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <iterator>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "crypto/random.h"
#include "server/api/answer.h"
#include "server/data/answer_table.h"
#include "server/data/mapped_text.h"
#include "server/http/accept.h"
#include "server/http/peer.h"

namespace kedge::server::api {
namespace {

using http::Peer;
using schema::Error;
using schema::ErrorCode;

constexpr std::string_view kOfArrow[] = {kParquet, kArrowFile, kArrowStream};

constexpr int kNameBytes = 16;   // random, of a file's name

// Shared by the handler that waits and the thread that works; the last of the two frees it.
struct Conversion {
  AnsweredTable table;
  engine::ArrowForm form;
  std::filesystem::path place;   // what its files' names begin with
  std::stop_source stop = {};
  std::shared_ptr<OpenFile> made = {};   // shared with the handler, which sends it
  std::exception_ptr error = {};
  std::atomic<bool> is_done = false;

  // Both names end with ".part", so that no file outlives a crash for longer than to the next start.
  void convert() {
    const OpenFile values{place.string() + ".values.part"};
    std::optional<MappedText> mapped;
    if (!table.file.empty()) mapped.emplace(table.file);
    const ParseRequest request{.source = table.name, .output = values.path, .parallel = {.stop = stop.get_token()}};
    const AnswerTable parsed = parse_answer(mapped ? mapped->text() : table.body, table.media_type, request);
    table.body = std::string();
    auto file = std::make_shared<OpenFile>(place.string() + ".part");
    write_arrow(parsed, form, file->path, table.name, stop.get_token());
    made = std::move(file);
  }

  void run() noexcept {
    try {
      convert();
    } catch (...) {
      error = std::current_exception();
    }
    is_done = true;
  }
};

}   // namespace

std::string_view negotiate_table(const Request& request, std::initializer_list<std::string_view> own, bool has_arrow) {
  const std::string_view accept = request.field("Accept");
  std::vector<std::string_view> offers(own);
  if (has_arrow) offers.insert(offers.end(), std::begin(kOfArrow), std::end(kOfArrow));
  const bool lacks_program = !has_arrow && http::choose_media_type(accept, own).empty() &&
                             !http::choose_media_type(accept, std::span(kOfArrow)).empty();
  if (lacks_program) throw needs_arrow_program(accept);
  return negotiate(request, std::span<const std::string_view>(offers));
}

awaitable<std::shared_ptr<OpenFile>> made_of_table(const Api& api, std::shared_ptr<Peer> peer, std::string tenant,
                                                   AnsweredTable table, engine::ArrowForm form) {
  if (!api.tables) throw Error(ErrorCode::kUnavailable, "this server makes no Parquet or Arrow answers");
  const std::shared_ptr<void> turn = api.tables->take(tenant);
  const std::string name = "table-" + crypto::random_hex(kNameBytes);
  const auto conversion = std::make_shared<Conversion>(std::move(table), form, api.scratch / name);
  struct Stop {   // a frame can go before its wait is over
    Conversion& conversion;
    ~Stop() { conversion.stop.request_stop(); }
  } const at_the_end{*conversion};
  http::net::post(api.tables->threads(), [conversion, bell = peer->bell()] {
    conversion->run();
    bell->ring();
  });
  while (!conversion->is_done) {
    co_await peer->wait_until(Peer::Clock::time_point::max());
    if (peer->gone() || peer->stopping()) conversion->stop.request_stop();
  }
  if (conversion->stop.stop_requested())
    throw Error(ErrorCode::kUnavailable, "the table was not written: the server stops or the client has disconnected");
  if (std::exception_ptr error = std::exchange(conversion->error, nullptr)) std::rethrow_exception(std::move(error));
  co_return std::move(conversion->made);
}

}   // namespace kedge::server::api
