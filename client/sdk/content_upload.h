// Sends a file by its content: asks first what the server has of it, and goes on where a connection broke.
#pragma once

#include <cstdint>
#include <string>

#include "client/sdk/transport.h"

namespace kedge {

inline constexpr std::uintmax_t kResumesFrom = std::uintmax_t{16} << 20;   // bytes: less is sent again in a moment

// "csv", "arff", "libsvm", "npy" or "npz", by the ending of a file's name, packed or not; empty: none of these.
std::string format_of_file(const std::string& name);

// `sent` hears how far it is. Returns "sha256:..." when the server has it. Goes on for as long as something arrives within Transport::kPatience.
// Errors: kInvalidValue for a file that cannot be read; the server's; kConnection.
std::string send_content(Transport& transport, const std::string& file, const std::string& format,
                         const Transport::Sent& sent = {});

}   // namespace kedge
