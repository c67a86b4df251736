// Leaving out inline data: see inline_data.h.
#include "server/data/inline_data.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "crypto/digest.h"
#include "schemas/error.h"

namespace kedge::server {
namespace {

schema::InlineRef* inline_data(schema::JobSpec& spec) { return std::get_if<schema::InlineRef>(&spec.dataset.source); }

[[noreturn]] void refuse(std::string_view field, const std::string& text) {
  throw schema::Error(schema::ErrorCode::kInvalidValue, text, fmt::format("dataset.inline.{}", field));
}

}   // namespace

void describe_data(schema::JobSpec& spec) {
  schema::InlineRef* data = inline_data(spec);
  if (!data) return;
  const auto bytes = static_cast<std::int64_t>(data->csv.size());
  if (data->bytes != 0 && data->bytes != bytes) refuse("bytes", fmt::format("bytes is {}, but csv has {}", data->bytes, bytes));
  std::string digest = crypto::sha256_hex(data->csv);
  if (!data->sha256.empty() && data->sha256 != digest) refuse("sha256", fmt::format("sha256 is not that of csv, which is {}", digest));
  data->bytes = bytes, data->sha256 = std::move(digest);
}

void leave_out_data(schema::JobSpec& spec, std::size_t longest) {
  schema::InlineRef* data = inline_data(spec);
  if (!data || data->csv.size() <= longest) return;
  if (data->sha256.empty()) describe_data(spec);   // stored before jobs had it
  data->csv = std::string();
}

std::optional<schema::JobSpec> without_long_data(schema::JobSpec& spec) {
  schema::InlineRef* data = inline_data(spec);
  if (!data || data->csv.size() <= kLongestShownData) return std::nullopt;
  std::string csv = std::exchange(data->csv, {});
  schema::JobSpec copy = spec;
  data->csv = std::move(csv);
  return copy;
}

}   // namespace kedge::server
