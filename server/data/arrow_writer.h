// Tables as Arrow IPC and Parquet, which kedge-arrow writes in a process of its own.
#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "engine/arrow/channel.h"
#include "schemas/error.h"
#include "server/data/answer_table.h"

namespace kedge::server {

inline constexpr std::string_view kArrowFile = "application/vnd.apache.arrow.file",
                                  kArrowStream = "application/vnd.apache.arrow.stream",
                                  kParquet = "application/vnd.apache.parquet";

// Of one of these media types; nothing for others.
std::optional<engine::ArrowForm> arrow_form(std::string_view media_type);
// How the name of such a file ends: ".arrow", ".arrows" or ".parquet".
std::string_view arrow_ending(engine::ArrowForm form);

bool can_write_arrow();   // kedge-arrow is beside this program
// kNotAcceptable, of a client whose Accept leaves nothing else; empty: it is not quoted.
schema::Error needs_arrow_program(std::string_view accept);

// Writes what parse_answer() has written as a new file, within a bound on memory; a stop ends the process. `source`
// names the table in messages. Errors: kNotAcceptable where kedge-arrow is not installed or does not find its
// libraries; kDatasetCorrupt; kCancelled; kOutOfMemory; kStorageFull and kUnavailable. After one, nothing is left.
void write_arrow(const AnswerTable& table, engine::ArrowForm form, const std::filesystem::path& output,
                 const std::string& source, std::stop_token stop);

}   // namespace kedge::server
