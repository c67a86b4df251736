// What the process of a section says to the one that started it: a JSON document on each line of its standard output.
// Other lines, of libraries and tools, are no messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "gpu_check/section.h"
#include "schemas/catalogue.h"

namespace kedge::gpu_check {

struct Opened {   // first: the device, and how many items there are
  schema::DeviceEntry device, cpu;
  std::int64_t items = 0;
};
struct Unavailable {   // in its place; the process then ends
  std::string why;
};
struct Begun {
  std::string item;
};
struct Checked {
  std::string item;
  Finding finding;
};
using Message = std::variant<Opened, Unavailable, Begun, Checked>;

std::string line_of(const Message& message);                // without its end
std::optional<Message> message_of(std::string_view line);   // nothing for what is no message

schema::Value value_of(const Measure& measure);

}   // namespace kedge::gpu_check
