// Addresses by path ("https://host/bucket/key") with a store of the operator's, by host without one: Amazon's name
// server knows the region then.
#include "server/data/object_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <pugixml.hpp>

#include "engine/core/require.h"
#include "server/data/fetch_url.h"

namespace kedge::server {
namespace {

using engine::require;
using schema::ErrorCode;

constexpr std::string_view kS3 = "s3://", kGs = "gs://";
constexpr const char* kGoogle = "https://storage.googleapis.com";

bool is_plain(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         std::strchr("-_.~", c) != nullptr;
}

std::string encoded(std::string_view text, bool keeps_slashes) {
  std::string out;
  for (const char c : text) {
    if ((c != 0 && is_plain(static_cast<unsigned char>(c))) || (keeps_slashes && c == '/')) out += c;
    else out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

// Of the bucket, without a slash at the end.
std::string bucket_url(const ObjectStore* store, const ObjectAddress& address) {
  if (store && !store->endpoint.empty()) return store->endpoint + "/" + address.bucket;
  if (address.scheme == "gs") return fmt::format("{}/{}", kGoogle, address.bucket);
  if (store) return fmt::format("https://s3.{}.amazonaws.com/{}", store->signing.region, address.bucket);
  return fmt::format("https://{}.s3.amazonaws.com", address.bucket);
}

std::int64_t to_bytes(std::string_view text) {
  std::int64_t bytes = 0;
  std::from_chars(text.data(), text.data() + text.size(), bytes);
  return bytes;
}

// Adds what fits of one page of ListObjectsV2; returns where the next begins, or nothing.
std::string read_page(const std::string& xml, const ObjectAddress& pattern, std::vector<ObjectInfo>& found) {
  pugi::xml_document document;
  const bool is_xml = document.load_buffer(xml.data(), xml.size());
  const pugi::xml_node list = document.child("ListBucketResult");
  require(is_xml && list, ErrorCode::kDatasetUnavailable, "{}://{}: the list of its objects is not one of S3",
          pattern.scheme, pattern.bucket);
  for (const pugi::xml_node object : list.children("Contents")) {
    ObjectInfo info{object.child_value("Key"), object.child_value("ETag"), to_bytes(object.child_value("Size"))};
    if (fits_pattern(pattern.key, info.key)) found.push_back(std::move(info));
  }
  require(found.size() <= kMostObjects, ErrorCode::kInvalidValue, "{}://{}/{} names more than {} objects",
          pattern.scheme, pattern.bucket, pattern.key, kMostObjects);
  return list.child_value("NextContinuationToken");
}

}   // namespace

std::string encoded_path(std::string_view path) {
  return encoded(path, true);
}

std::string encoded_query(std::string_view text) {
  return encoded(text, false);
}

bool fits_pattern(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  pattern.remove_prefix(star + 1), text.remove_prefix(star);
  for (std::size_t skipped = 0; skipped <= text.size(); ++skipped) {
    if (fits_pattern(pattern, text.substr(skipped))) return true;
    if (skipped < text.size() && text[skipped] == '/') return false;
  }
  return false;
}

bool is_object_url(std::string_view url) {
  return url.starts_with(kS3) || url.starts_with(kGs);
}

ObjectAddress split_object_url(const std::string& url) {
  require(is_object_url(url), ErrorCode::kInvalidValue,
          "'{}' is no address of an object store, must begin with s3:// or gs://", url);
  const std::size_t begin = kS3.size(), slash = std::min(url.find('/', begin), url.size());
  ObjectAddress address{.scheme = url.substr(0, 2),
                        .bucket = url.substr(begin, slash - begin),
                        .key = url.substr(std::min(slash + 1, url.size()))};
  const bool is_name = address.bucket.size() >= 3 && address.bucket.size() <= 63 &&
                       std::ranges::all_of(address.bucket, [](unsigned char c) {
                         return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
                       });
  require(is_name, ErrorCode::kInvalidValue, "'{}': '{}' is no name of a bucket", url, address.bucket);
  require(!address.key.empty() && address.key.back() != '/', ErrorCode::kInvalidValue,
          "'{}' names no object, must be {}://BUCKET/KEY", url, address.scheme);
  return address;
}

bool is_pattern(const ObjectAddress& address) {
  return address.key.find('*') != std::string::npos;
}

const ObjectStore* store_of(const std::vector<ObjectStore>& stores, std::string_view url) {
  const ObjectStore* best = nullptr;
  for (const ObjectStore& store : stores)
    if (url.starts_with(store.prefix) && (!best || store.prefix.size() > best->prefix.size())) best = &store;
  return best;
}

ObjectRequest object_request(const std::vector<ObjectStore>& stores, const std::string& url) {
  if (!is_object_url(url)) return {.url = url, .signing = {}};
  const ObjectAddress address = split_object_url(url);
  const ObjectStore* const store = store_of(stores, url);
  return {.url = bucket_url(store, address) + "/" + encoded_path(address.key),
          .signing = store ? store->signing : RequestSigning{}};
}

std::vector<ObjectInfo> list_objects(const std::vector<ObjectStore>& stores, const std::string& pattern,
                                     const Fetcher& fetcher, const std::string& trace, std::stop_token stop) {
  const ObjectAddress address = split_object_url(pattern);
  const ObjectStore* const store = store_of(stores, pattern);
  const std::string prefix = address.key.substr(0, address.key.find('*')), base = bucket_url(store, address);
  std::vector<ObjectInfo> found;
  std::string next;
  do {   // the signature is of sorted parameters, and this libcurl does not sort
    const std::string from = next.empty() ? "" : fmt::format("continuation-token={}&", encoded_query(next));
    FetchRequest request{.what = pattern,
                         .url = fmt::format("{}/?{}list-type=2&prefix={}", base, from, encoded_query(prefix)),
                         .trace = trace};
    if (store) request.signing = store->signing;
    next = read_page(fetcher.text(request, stop).body, address, found);
  } while (!next.empty());
  require(!found.empty(), ErrorCode::kDatasetNotFound, "'{}' names no object", pattern);
  for (ObjectInfo& object : found) object.url = base + "/" + encoded_path(object.key);
  std::ranges::sort(found, {}, &ObjectInfo::key);
  return found;
}

}   // namespace kedge::server
