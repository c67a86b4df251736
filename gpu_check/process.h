// A child process whose output is read line by line, and which is killed when it is late.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::gpu_check {

struct Ended {
  enum class How { kItself, kSilent, kLate };   // kSilent, kLate: it was killed
  How how = How::kItself;
  int status = 0;   // as waitpid() gives it
};

struct Patience {
  double seconds;          // for all
  double silent_seconds;   // between two lines
};

// Runs a program and gives each line of its standard output to `on_line`. It and what it starts end with it, and with
// this process. Errors: kInternal with the system's words; a program that cannot be started ends with 127.
Ended run_process(const std::vector<std::string>& arguments, Patience patience,
                  const std::function<void(std::string_view)>& on_line);

std::string words_of(const Ended& ended, Patience patience);   // "it ended by signal 6 (Aborted)"

}   // namespace kedge::gpu_check
