// Running other programs: to their end, or detached from us.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kedge::provisioning {

struct Outcome {
  int status = -1;   // exit status; 127: no such program; 128 + signal
  std::string out, err;
  bool timed_out = false;
};

// What a program said when it failed, in at most 500 characters.
std::string complaint(const Outcome& outcome);

using Environment = std::vector<std::pair<std::string, std::string>>;

// Runs a program found on PATH with `input` on its stdin. Beyond the time limit it is killed; after a Ctrl-C
// (interrupt.h) as well, with schema::Error{kCancelled}.
Outcome run_program(const std::vector<std::string>& arguments, std::string_view input = {},
                    std::chrono::seconds limit = std::chrono::seconds(60));

// Starts a program in a session of its own, so that it outlives us and our terminal. Of our environment it gets what a
// server may need (process.cc lists it) and nothing else: no token, no key of a cloud; `added` comes on top. stdout and
// stderr go to `log`. schema::Error when it cannot be started.
void start_detached(const std::vector<std::string>& arguments, const Environment& added, const std::filesystem::path& log);

bool on_path(const std::string& program);

}   // namespace kedge::provisioning
