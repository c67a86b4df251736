// A libcurl handle with the options that all transfers of Kedge share.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace kedge::transfer {

// One transfer at a time. A resource of one thread that does not move. Always set, and set again by reset(): http and
// https only (CURLOPT_PROTOCOLS_STR), no signals (CURLOPT_NOSIGNAL), "kedge" as CURLOPT_USERAGENT,
// CURLOPT_CONNECTTIMEOUT, and the system's authorities. The rest has libcurl's defaults. Errors: kInternal if libcurl
// has no memory.
class Handle {
 public:
  using Take = std::function<void(std::string_view)>;

  // connect_timeout bounds the look-up of the name, the connection and TLS together.
  explicit Handle(std::chrono::seconds connect_timeout);
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  void reset();   // forgets options, headers and takers

  CURL* get() const { return easy_.get(); }
  // For options without a call of their own. libcurl copies texts; what other pointers name outlives the transfer.
  template <class T>
  void set(CURLoption option, T value) {
    curl_easy_setopt(easy_.get(), option, value);
  }
  void add_header(const std::string& line);   // "Name: value"; "Name:" leaves out one of libcurl's own
  void set_body(std::string_view body);       // borrowed until the transfer has ended; an empty one is sent, too
  void set_lowest_speed(long bytes_per_second, std::chrono::seconds time);   // a slower transfer ends with an error

  // Takers get pieces of the body, for any status, and lines of the head. What one throws ends the transfer with
  // CURLE_WRITE_ERROR and is kept for rethrow(), because libcurl is C.
  void on_body(Take take);
  void on_header(Take take);
  void rethrow();   // what a taker threw, if it did

  long status() const;                     // of the answer; 0 before there is one
  curl_off_t info(CURLINFO which) const;   // a number of 64 bits; 0 if it is not known

 private:
  struct EasyDeleter {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };
  struct ListDeleter {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  void set_shared_options();
  std::size_t hand_on(const Take& take, std::string_view data);

  long connect_seconds_;
  std::unique_ptr<curl_slist, ListDeleter> headers_;
  Take take_body_, take_header_;
  std::exception_ptr thrown_;
  std::unique_ptr<CURL, EasyDeleter> easy_;
};

}   // namespace kedge::transfer
