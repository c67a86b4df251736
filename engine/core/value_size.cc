// Adds up what values hold.
#include "engine/core/value_size.h"

namespace kedge::engine {
namespace {

struct Held {
  template <class Plain>
  std::size_t operator()(const Plain&) const { return 0; }
  std::size_t operator()(const std::string& text) const { return text.size(); }
  std::size_t operator()(const std::vector<double>& numbers) const { return numbers.size() * sizeof(double); }
  std::size_t operator()(const schema::ValueList& list) const {
    std::size_t bytes = 0;
    for (const schema::Value& item : list) bytes += held_bytes(item);
    return bytes;
  }
  std::size_t operator()(const schema::ValueMap& map) const { return held_bytes(map); }
};

}  // namespace

std::size_t held_bytes(const schema::Value& value) { return sizeof value + std::visit(Held{}, value.data); }

std::size_t held_bytes(const schema::ValueMap& map) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : map) bytes += sizeof name + name.size() + held_bytes(value);
  return bytes;
}

}  // namespace kedge::engine
