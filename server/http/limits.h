// How much and how long a client may ask of the server.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace kedge::server::http {

struct Limits {
  std::size_t head_bytes = 8 * 1024;  // request line and fields
  std::size_t target_bytes = 4 * 1024;
  std::size_t fields = 64;
  std::uint64_t body_bytes = 64 << 20;         // of one request
  std::uint64_t upload_bytes = std::uint64_t{16} << 30;  // of a body that goes to disk in pieces
  std::uint64_t body_bytes_total = 512 << 20;  // of all requests in progress
  // Bytes of answers that the server holds for clients that have not taken them yet: of all, and of one tenant, or of one address
  // where there are no tenants.
  std::uint64_t answer_bytes_total = 256 << 20;
  std::uint64_t answer_bytes_per_client = 64 << 20;
  std::size_t chunks = 65'536;                 // of a chunked body
  std::size_t chunk_head_bytes = 8 * 1024;     // one chunk's size line, or all trailers
  std::size_t chunk_extension_bytes = 256;
  std::size_t linger_bytes = 256 << 10;  // read and thrown away after a refusal; the rest stays with its sender, until the deadline
  std::size_t connections = 12'000;
  std::size_t connections_per_address = 256;  // loopback is exempt
};

struct Deadlines {
  std::chrono::milliseconds handshake{5'000};  // of TLS
  std::chrono::milliseconds header{10'000};  // from the first byte to the end of the header block
  std::chrono::milliseconds idle{60'000};    // between requests
  std::chrono::milliseconds body_grace{
      10'000};  // then the body must come at body_bytes_per_second on average
  std::uint64_t body_bytes_per_second = 8 * 1024;
  std::chrono::milliseconds write_stall{30'000};  // without a byte taken
  std::chrono::milliseconds acknowledgement{
      20'000};   // of what was sent: a late client counts as vanished. Streams send a comment every 15 s
  std::chrono::milliseconds linger{2'000};  // after a refusal, until the connection is closed: at once, the answer could be lost
  std::chrono::milliseconds drain{10'000};  // for requests in progress when the server stops
};

}  // namespace kedge::server::http
