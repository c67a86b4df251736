// Feeds any bytes to the binary decoder, as each of the messages that come from outside or from a worker.
#include "tests/fuzz/identity.h"

namespace {

using namespace kedge::schema;

template <class T>
concept HasJson = !std::is_same_v<T, WorkerCommand> && !std::is_same_v<T, WorkerReport>;

template <class T>
void try_as(std::span<const std::byte> bytes) {
  T value;
  try {
    value = from_binary<T>(bytes);
  } catch (const Error&) {
    return;
  }
  require_binary_identity(value);
  if constexpr (HasJson<T>) require_json_identity(value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try_as<JobSpec>(bytes);
  try_as<Job>(bytes);
  try_as<Event>(bytes);
  try_as<Catalogue>(bytes);
  try_as<WorkerCommand>(bytes);
  try_as<WorkerReport>(bytes);
  return 0;
}
