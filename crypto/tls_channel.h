// A TLS 1.3 connection over a socket that does not block, for programs of ours that know each other's certificate.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "crypto/pin.h"

namespace kedge::crypto {

// Resource; closes the socket with itself. Not thread-safe. SIGPIPE must be ignored: the peer may be gone.
class TlsChannel {
 public:
  // Both take the socket over. Errors: kInvalidValue for a certificate or key that is none.
  static TlsChannel accepting(int fd, const std::string& certificate, const std::string& key);   // PEM
  static TlsChannel connecting(int fd, const std::string& fingerprint);   // trusts that certificate alone
  ~TlsChannel();
  TlsChannel(TlsChannel&&) noexcept;
  TlsChannel& operator=(TlsChannel&&) = delete;

  // What to poll the socket for, and how: 0 ms when there is more to do without an event.
  int fd() const;
  short events() const;
  bool has_more() const;
  // Goes on with the handshake, writes what is queued and reads what is there, at most about 1 MiB ahead of the reader.
  void step();

  void send(std::string_view bytes);   // queues
  std::size_t queued() const;
  std::string& received();   // the reader removes what it has used

  bool is_ready() const;         // the handshake is done
  bool has_ended() const;        // the peer has closed, or the connection is broken
  std::string problem() const;   // why it is broken; empty: it is not
  std::string refused() const;   // the fingerprint of a certificate that was not the expected one

 private:
  struct Impl;
  explicit TlsChannel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}   // namespace kedge::crypto
