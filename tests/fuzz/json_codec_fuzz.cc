// Feeds any text to the JSON decoder, as each of the documents that come from outside.
#include "tests/fuzz/identity.h"

namespace {

using namespace kedge::schema;

template <class T>
void try_as(std::string_view text) {
  T value;
  try {
    value = from_json<T>(text);
  } catch (const Error&) {
    return;
  }
  require_json_identity(value);
  require_binary_identity(value);
}

void try_as_value(std::string_view text) {
  Value value;
  try {
    value = value_from_json(text);
  } catch (const Error&) {
    return;
  }
  const std::string json = value_to_json(value);
  require(value_to_json(value_from_json(json)) == json, "the value changed on its second way through\n");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_as_value(text);
  try_as<JobSpec>(text);
  try_as<Job>(text);
  try_as<Event>(text);
  try_as<Catalogue>(text);
  try_as<ServerInfo>(text);
  try_as<Error>(text);
  return 0;
}
