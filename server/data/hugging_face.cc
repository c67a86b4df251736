// Two calls of the Hub's API: which commit a revision is, and what a folder of that commit holds. The files are then
// fetched by the commit.
#include "server/data/hugging_face.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/core/require.h"
#include "schemas/codec.h"
#include "server/data/fetch_url.h"

namespace kedge::server {
namespace {

using engine::require;
using schema::ErrorCode;

constexpr std::string_view kScheme = "hf://", kDatasets = "hf://datasets/", kHub = "https://huggingface.co";

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 100 && text.find("..") == std::string_view::npos &&
         std::ranges::all_of(text, [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_' ||
                  c == '.';
         });
}

std::string endpoint(const std::vector<ObjectStore>& stores, const std::string& url) {
  const ObjectStore* const store = store_of(stores, url);
  return store && !store->endpoint.empty() ? store->endpoint : std::string(kHub);
}

const schema::Value* member(const schema::Value& object, std::string_view name) {
  const auto* map = std::get_if<schema::ValueMap>(&object.data);
  if (!map) return nullptr;
  const auto found = std::ranges::find(*map, name, &schema::ValueMap::value_type::first);
  return found == map->end() ? nullptr : &found->second;
}

std::string text_of(const schema::Value* value) {
  const auto* text = value ? std::get_if<std::string>(&value->data) : nullptr;
  return text ? *text : std::string();
}

std::int64_t number_of(const schema::Value* value) {
  const auto* number = value ? std::get_if<std::int64_t>(&value->data) : nullptr;
  return number ? *number : 0;
}

schema::Value ask(const Fetcher& fetcher, const std::string& url, const std::string& what, const std::string& trace,
                  std::stop_token stop) {
  const FetchedText answer = fetcher.text({.what = what, .url = url, .trace = trace}, stop);
  try {
    return schema::value_from_json(answer.body);
  } catch (const schema::Error& error) {
    throw schema::Error(ErrorCode::kDatasetUnavailable,
                        fmt::format("{}: the Hub's answer is no JSON: {}", what, error.message));
  }
}

// A file of the answer, if it is one that the pattern names.
bool read_entry(const schema::Value& entry, const HubAddress& address, const std::string& base, ObjectInfo& info) {
  const std::string path = text_of(member(entry, "path"));
  if (text_of(member(entry, "type")) != "file" || !fits_pattern(address.file, path.substr(path.rfind('/') + 1)))
    return false;
  info.key = path, info.etag = text_of(member(entry, "oid")), info.bytes = number_of(member(entry, "size"));
  if (const schema::Value* large = member(entry, "lfs")) info.sha256 = text_of(member(*large, "oid"));
  info.url = base + encoded_path(path);
  return true;
}

}   // namespace

bool is_hub_url(std::string_view url) {
  return url.starts_with(kScheme);
}

HubAddress split_hub_url(const std::string& url) {
  const auto refuse = [&](const char* problem) {
    throw schema::Error(
        ErrorCode::kInvalidValue,
        fmt::format("'{}' {}; must be hf://datasets/OWNER/NAME/PATH or hf://datasets/OWNER/NAME@REVISION/PATH", url,
                    problem));
  };
  if (!url.starts_with(kDatasets)) refuse("is no address of a data set");
  const std::string rest = url.substr(kDatasets.size());
  const std::size_t slash = rest.find('/'), end = slash == std::string::npos ? slash : rest.find('/', slash + 1);
  if (end == std::string::npos || end + 1 >= rest.size()) refuse("names no file");
  HubAddress address;
  const std::string named = rest.substr(slash + 1, end - slash - 1), owner = rest.substr(0, slash),
                    path = rest.substr(end + 1);
  const std::size_t at = named.find('@');
  address.name = owner + "/" + named.substr(0, at);
  address.revision = at == std::string::npos ? "main" : named.substr(at + 1);
  if (!is_name(owner) || !is_name(named.substr(0, at))) refuse("has a name that the Hub does not have");
  if (address.revision == "~parquet") address.revision = "refs/convert/parquet";
  else if (!is_name(address.revision)) refuse("has a revision that is none");
  const std::size_t last = path.rfind('/');
  address.folder = last == std::string::npos ? "" : path.substr(0, last);
  address.file = last == std::string::npos ? path : path.substr(last + 1);
  if (address.file.empty()) refuse("names no file");
  if (address.folder.find('*') != std::string::npos) refuse("has a '*' before its last part");
  return address;
}

HubFiles list_hub_files(const std::vector<ObjectStore>& stores, const std::string& url, const Fetcher& fetcher,
                        const std::string& trace, std::stop_token stop) {
  const HubAddress address = split_hub_url(url);
  const std::string hub = endpoint(stores, url), api = fmt::format("{}/api/datasets/{}", hub, address.name);
  HubFiles found;
  const schema::Value revision =
      ask(fetcher, fmt::format("{}/revision/{}", api, encoded_query(address.revision)), url, trace, stop);
  found.commit = text_of(member(revision, "sha"));
  require(is_name(found.commit), ErrorCode::kDatasetUnavailable, "{}: the Hub names no commit for revision {}", url,
          address.revision);
  const std::string folder = address.folder.empty() ? "" : "/" + encoded_path(address.folder);
  const schema::Value tree = ask(fetcher, fmt::format("{}/tree/{}{}", api, found.commit, folder), url, trace, stop);
  const auto* entries = std::get_if<schema::ValueList>(&tree.data);
  require(entries != nullptr, ErrorCode::kDatasetUnavailable, "{}: the Hub's answer is no list of files", url);
  const std::string base = fmt::format("{}/datasets/{}/resolve/{}/", hub, address.name, found.commit);
  for (const schema::Value& entry : *entries)
    if (ObjectInfo info; read_entry(entry, address, base, info)) found.files.push_back(std::move(info));
  require(!found.files.empty(), ErrorCode::kDatasetNotFound, "'{}' names no file of commit {}", url, found.commit);
  require(found.files.size() <= kMostObjects, ErrorCode::kInvalidValue, "'{}' names more than {} files", url,
          kMostObjects);
  std::ranges::sort(found.files, {}, &ObjectInfo::key);
  return found;
}

}   // namespace kedge::server
