// s3:// and gs:// addresses: which HTTP address they mean, and with which of the operator's keys requests are signed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/data/fetch.h"

namespace kedge::server {

// One entry of --stores: what addresses with this prefix mean. A job never has keys of its own.
struct ObjectStore {
  std::string prefix;     // "s3://research/"; the longest that fits counts
  std::string endpoint;   // "https://minio.example:9000"; empty: Amazon's or Google's own
  RequestSigning signing;

  friend bool operator==(const ObjectStore&, const ObjectStore&) = default;
};

struct ObjectAddress {
  std::string scheme, bucket, key;   // "s3", "research", "2024/part-0.parquet"
};

bool is_object_url(std::string_view url);
// Errors: kInvalidValue for what is no s3:// or gs:// address of an object.
ObjectAddress split_object_url(const std::string& url);
// The key has a '*', which stands for any characters but '/'.
bool is_pattern(const ObjectAddress& address);

// What fits, or null: an object that everyone may read.
const ObjectStore* store_of(const std::vector<ObjectStore>& stores, std::string_view url);

// Where the request goes. `signing` is empty without a store.
struct ObjectRequest {
  std::string url;
  RequestSigning signing;
};
ObjectRequest object_request(const std::vector<ObjectStore>& stores, const std::string& url);

struct ObjectInfo {
  std::string key, etag;
  std::int64_t bytes = 0;
  std::string url = {};      // where it is fetched
  std::string sha256 = {};   // as far as the store knows it
};

// RFC 3986, as signatures demand it. A path keeps its slashes.
std::string encoded_path(std::string_view path);
std::string encoded_query(std::string_view text);
bool fits_pattern(std::string_view pattern, std::string_view text);

// The objects that a pattern names, by key. Errors: kDatasetNotFound where there is none; kInvalidValue for more than
// kMostObjects; those of Fetcher.
inline constexpr std::size_t kMostObjects = 10'000;
std::vector<ObjectInfo> list_objects(const std::vector<ObjectStore>& stores, const std::string& pattern,
                                     const Fetcher& fetcher, const std::string& trace, std::stop_token stop);

}   // namespace kedge::server
