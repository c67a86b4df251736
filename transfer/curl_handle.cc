// A libcurl handle: shared options, headers, and callbacks that keep exceptions away from C.
#include "transfer/curl_handle.h"

#include <utility>

#include "schemas/error.h"
#include "transfer/authorities.h"

namespace kedge::transfer {
namespace {

[[noreturn]] void fail_without_memory() {
  throw schema::Error(schema::ErrorCode::kInternal, "libcurl has no memory");
}

}   // namespace

Handle::Handle(std::chrono::seconds connect_timeout)
    : connect_seconds_(static_cast<long>(connect_timeout.count())), easy_(curl_easy_init()) {
  if (!easy_) fail_without_memory();
  set_shared_options();
}

void Handle::reset() {
  curl_easy_reset(easy_.get());
  headers_.reset();
  take_body_ = take_header_ = {};
  thrown_ = {};
  set_shared_options();
}

void Handle::set_shared_options() {
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "kedge");
  set(CURLOPT_CONNECTTIMEOUT, connect_seconds_);
  if (const std::string file = system_authorities(); !file.empty()) set(CURLOPT_CAINFO, file.c_str());
}

void Handle::add_header(const std::string& line) {
  curl_slist* longer = curl_slist_append(headers_.get(), line.c_str());
  if (!longer) fail_without_memory();
  if (headers_) return;   // its first element stays the same
  headers_.reset(longer);
  set(CURLOPT_HTTPHEADER, longer);
}

void Handle::set_body(std::string_view body) {
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(CURLOPT_POSTFIELDS, body.data() ? body.data() : "");
}

void Handle::set_lowest_speed(long bytes_per_second, std::chrono::seconds time) {
  set(CURLOPT_LOW_SPEED_LIMIT, bytes_per_second);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(time.count()));
}

std::size_t Handle::hand_on(const Take& take, std::string_view data) {
  try {
    take(data);
    return data.size();
  } catch (...) {
    thrown_ = std::current_exception();
    return CURL_WRITEFUNC_ERROR;
  }
}

void Handle::on_body(Take take) {
  take_body_ = std::move(take);
  set(CURLOPT_WRITEDATA, this);
  set(
      CURLOPT_WRITEFUNCTION, +[](char* data, std::size_t size, std::size_t count, void* self) {
        auto& handle = *static_cast<Handle*>(self);
        return handle.hand_on(handle.take_body_, {data, size * count});
      });
}

void Handle::on_header(Take take) {
  take_header_ = std::move(take);
  set(CURLOPT_HEADERDATA, this);
  set(
      CURLOPT_HEADERFUNCTION, +[](char* data, std::size_t size, std::size_t count, void* self) {
        auto& handle = *static_cast<Handle*>(self);
        return handle.hand_on(handle.take_header_, {data, size * count});
      });
}

void Handle::rethrow() {
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, {}));
}

long Handle::status() const {
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  return status;
}

curl_off_t Handle::info(CURLINFO which) const {
  curl_off_t value = 0;
  return curl_easy_getinfo(easy_.get(), which, &value) == CURLE_OK ? value : 0;
}

}   // namespace kedge::transfer
