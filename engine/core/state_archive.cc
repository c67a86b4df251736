// Records of a model's state: name, type, then the value; tensors are stored apart, in the same order.
#include "engine/core/state_archive.h"

#include <fmt/core.h>

#include "schemas/error.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::Value;

constexpr std::size_t kLeastRecord = 7;   // bytes: the length of a name, a character, a type, a value; a thing in a list has one

}  // namespace

StateArchive::StateArchive(const Context& ctx, ModelFileWriter& writer, std::int32_t n_classes)
    : ctx_(ctx), writer_(&writer), n_classes_(n_classes) {}

StateArchive::StateArchive(const Context& ctx, const ModelFile& file, std::int32_t n_classes)
    : ctx_(ctx), state_(file.state()), tensors_(file.tensors()), n_classes_(n_classes) {}

void StateArchive::fail(std::string_view name, std::string_view problem) const {
  const std::string whose = owner_.empty() ? "" : owner_ + ": ";
  throw Error(ErrorCode::kModelCorrupt, fmt::format("model: {}'{}' {}", whose, name, problem));
}

void StateArchive::refuse() const {
  throw Error(ErrorCode::kInvalidValue, fmt::format("{} cannot be stored", owner_));
}

void StateArchive::expect(bool ok, std::string_view name, std::string_view problem) const {
  if (is_loading() && !ok) fail(name, problem);
}

void StateArchive::expect_in(std::string_view name, std::int64_t value, std::int64_t low, std::int64_t high) const {
  if (is_loading() && (value < low || value > high)) fail(name, fmt::format("has {}, must be from {} to {}", value, low, high));
}

void StateArchive::finish() const {
  if (is_loading() && !(state_.empty() && tensors_.empty())) fail("state", "has more than the estimators read");
}

void StateArchive::write(const void* data, std::size_t size) { writer_->state().append(static_cast<const char*>(data), size); }

void StateArchive::write_text(std::string_view text) {
  write_value(static_cast<std::uint32_t>(text.size()));
  write(text.data(), text.size());
}

std::span<const std::byte> StateArchive::read(std::size_t size) {
  if (size > state_.size()) fail("state", "is cut short");
  const auto bytes = state_.first(size);
  state_ = state_.subspan(size);
  return bytes;
}

std::string StateArchive::read_text() {
  const auto bytes = read(read_value<std::uint32_t>());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void StateArchive::begin(std::string_view name, StateType type) {
  if (!is_loading()) {
    write_text(name);
    return write_value(type);
  }
  const std::string found = read_text();
  if (found != name) fail(name, fmt::format("is expected, the file has '{}'", found.substr(0, 64)));
  if (read_value<std::uint8_t>() != static_cast<std::uint8_t>(type)) fail(name, "has another type than expected");
}

bool StateArchive::is_next(StateType type) {
  const std::span<const std::byte> here = state_;
  read_text();
  const bool is_type = read_value<std::uint8_t>() == static_cast<std::uint8_t>(type);
  state_ = here;
  return is_type;
}

void StateArchive::widened(std::string_view name, std::vector<double>& values, std::int64_t rows, std::int64_t cols) {
  if (!is_loading() || !is_next(StateType::kFloat32)) return field(name, values, rows, cols);
  std::vector<float> narrow;
  field(name, narrow, rows, cols);
  values.assign(narrow.begin(), narrow.end());
}

void StateArchive::field(std::string_view name, bool& value) {
  begin(name, StateType::kBool);
  if (!is_loading()) return write_value(static_cast<std::uint8_t>(value));
  const auto held = read_value<std::uint8_t>();
  if (held > 1) fail(name, "is neither true nor false");
  value = held != 0;
}

void StateArchive::field(std::string_view name, double& value) {
  begin(name, StateType::kReal);
  if (!is_loading()) return write_value(value);
  value = read_value<double>();
}

void StateArchive::field(std::string_view name, std::string& value) {
  begin(name, StateType::kText);
  if (!is_loading()) return write_text(value);
  value = read_text();
}

void StateArchive::field(std::string_view name, Value& value) {
  begin(name, StateType::kValue);
  if (!is_loading()) return write_text(value_bytes(value));
  try {
    value = value_of_bytes(read(read_value<std::uint32_t>()));
  } catch (const std::length_error& error) {
    fail(name, error.what());
  }
}

void StateArchive::field(std::string_view name, std::vector<std::string>& value, std::int64_t size) {
  begin(name, StateType::kTexts);
  if (!is_loading()) {
    write_value(static_cast<std::uint64_t>(value.size()));
    for (const std::string& text : value) write_text(text);
    return;
  }
  const auto held = read_value<std::uint64_t>();
  if (held > state_.size() / sizeof(std::uint32_t)) fail(name, "is cut short");
  if (size != kAnySize && held != static_cast<std::uint64_t>(size)) fail(name, fmt::format("has {} texts, must have {}", held, size));
  value.resize(held);
  for (std::string& text : value) text = read_text();
}

std::int64_t StateArchive::checked_number(std::string_view name, std::int64_t value, std::int64_t low, std::int64_t high) {
  begin(name, StateType::kNumber);
  if (!is_loading()) return write_value(value), value;
  const auto held = read_value<std::int64_t>();
  expect_in(name, held, low, high);
  return held;
}

std::size_t StateArchive::count(std::string_view name, std::size_t size) {
  begin(name, StateType::kCount);
  if (!is_loading()) return write_value(static_cast<std::uint64_t>(size)), size;
  const auto held = read_value<std::uint64_t>();
  if (held > state_.size() / kLeastRecord) fail(name, "is cut short");
  return held;
}

void StateArchive::save_tensor(std::string_view name, StateType type, std::size_t element, const void* data,
                               std::size_t size, std::int64_t rows, std::int64_t cols) {
  const auto total = static_cast<std::int64_t>(size);
  if (rows == kAnySize) rows = cols > 0 ? total / cols : 0;
  if (cols == kAnySize) cols = rows > 0 ? total / rows : 0;
  if (rows * cols != total) {
    throw Error(ErrorCode::kInternal, fmt::format("{}: '{}' has {} numbers, its state says {} x {}", owner_, name, size, rows, cols));
  }
  begin(name, type);
  write_value(rows), write_value(cols);
  writer_->add_tensor({static_cast<const std::byte*>(data), size * element});
}

std::span<const std::byte> StateArchive::load_tensor(std::string_view name, StateType type, std::size_t element,
                                                     std::int64_t rows, std::int64_t cols) {
  begin(name, type);
  const auto held_rows = read_value<std::int64_t>(), held_cols = read_value<std::int64_t>();
  if (rows != kAnySize && held_rows != rows) fail(name, fmt::format("has {} rows, must have {}", held_rows, rows));
  if (cols != kAnySize && held_cols != cols) fail(name, fmt::format("has {} columns, must have {}", held_cols, cols));
  const auto room = static_cast<std::int64_t>(tensors_.size() / element);
  const bool fits = held_rows >= 0 && held_cols >= 0 && (held_cols == 0 || held_rows <= room / held_cols);
  if (!fits) fail(name, fmt::format("has {} x {} numbers, more than the file holds", held_rows, held_cols));
  const std::size_t bytes = static_cast<std::size_t>(held_rows * held_cols) * element;
  if (padded_size(bytes) > tensors_.size()) fail(name, "is cut short");
  const auto taken = tensors_.first(bytes);
  tensors_ = tensors_.subspan(padded_size(bytes));
  return taken;
}

}  // namespace kedge::engine
