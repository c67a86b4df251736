// Tables as Parquet and Arrow, for clients whose Accept asks for that.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "server/api/api.h"
#include "server/data/arrow_writer.h"

namespace kedge::server::api {

// The form of a table that the client likes best: one of `own`, or, where kedge-arrow is there, Parquet, an Arrow file
// or an Arrow stream. Errors: kNotAcceptable, which names the program where it alone is missing.
std::string_view negotiate_table(const Request& request, std::initializer_list<std::string_view> own,
                                 bool has_arrow = can_write_arrow());

// A table as it is: a file, or bytes.
struct AnsweredTable {
  std::string name;                  // in messages
  std::string media_type;            // text/csv, application/x-npy or engine::kNamedNpy
  std::filesystem::path file = {};   // empty: it is `body`
  std::string body = {};
};

// The table as a file of that form, on the threads of Api::tables; the file goes with what is returned. Its process is
// ended when the client goes or the server stops. Errors: kTooManyRequests while two tables of the tenant are on their
// way; kUnavailable; those of parse_answer() and write_arrow().
awaitable<std::shared_ptr<OpenFile>> made_of_table(const Api& api, std::shared_ptr<http::Peer> peer, std::string tenant,
                                                   AnsweredTable table, engine::ArrowForm form);

}   // namespace kedge::server::api
