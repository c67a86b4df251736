// Data within jobs: described by size and digest, so that answers about a job can leave the data out.
#pragma once

#include <cstddef>
#include <optional>

#include "schemas/job.h"

namespace kedge::server {

// Data up to so many bytes are shown with their job; longer ones, and all in lists, are left out.
inline constexpr std::size_t kLongestShownData = 64 << 10;

// Fills in InlineRef::bytes and sha256. Errors: kInvalidValue when the caller gave other ones. Reads the data once.
void describe_data(schema::JobSpec& spec);

// Empties inline data of more than `longest` bytes, which are described then.
void leave_out_data(schema::JobSpec& spec, std::size_t longest);

// A copy without the data, which are never copied, where they are too long to be shown; otherwise unset.
std::optional<schema::JobSpec> without_long_data(schema::JobSpec& spec);

}   // namespace kedge::server
