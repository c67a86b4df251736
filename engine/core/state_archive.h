// The fitted state of estimators on its way into a model's file or out of it: described once, for both directions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/core/context.h"
#include "engine/core/model_file.h"
#include "engine/core/state_records.h"
#include "schemas/value.h"

namespace kedge::engine {

// Of a tensor's rows or columns: as many as there are.
inline constexpr std::int64_t kAnySize = -1;
inline constexpr std::int64_t kMaxSize = 0x7fffffff;   // of anything that is counted

// What Estimator::state() writes to and reads from. Each call names a member. Saving writes it; loading reads it and
// checks its name, type and size, so that after state() the members fit each other for any file. Errors when loading:
// kModelCorrupt, "model: PCA: 'mean' has 5 rows, must have 4".
class StateArchive {
 public:
  StateArchive(const Context& ctx, ModelFileWriter& writer, std::int32_t n_classes);
  StateArchive(const Context& ctx, const ModelFile& file, std::int32_t n_classes);

  bool is_loading() const { return writer_ == nullptr; }
  const Context& ctx() const { return ctx_; }
  std::int64_t n_features() const { return n_features_; }   // columns of what the estimator was fitted with, at least 1
  std::int32_t n_classes() const { return n_classes_; }     // of the target; 0: it has no classes

  // The estimator that the next calls are about, until the scope ends.
  class Scope {
   public:
    Scope(StateArchive& archive, const std::string& owner, std::int64_t n_features)
        : Scope(archive, owner, n_features, archive.n_classes_) {}
    // Of one that was fitted with other classes than the model's, such as one class against the rest.
    Scope(StateArchive& archive, const std::string& owner, std::int64_t n_features, std::int32_t n_classes)
        : archive_(archive), owner_(archive.owner_), n_features_(archive.n_features_), n_classes_(archive.n_classes_) {
      archive.owner_ = owner_.empty() ? owner : owner_ + ": " + owner;
      archive.n_features_ = n_features, archive.n_classes_ = n_classes;
    }
    ~Scope() { archive_.owner_ = owner_, archive_.n_features_ = n_features_, archive_.n_classes_ = n_classes_; }
    Scope(const Scope&) = delete;

   private:
    StateArchive& archive_;
    std::string owner_;
    std::int64_t n_features_;
    std::int32_t n_classes_;
  };

  void field(std::string_view name, bool& value);
  void field(std::string_view name, double& value);
  void field(std::string_view name, std::string& value);
  void field(std::string_view name, schema::Value& value);
  void field(std::string_view name, std::vector<std::string>& value, std::int64_t size = kAnySize);
  // A whole number from `low` to `high`.
  template <class I>
    requires(std::is_integral_v<I> && !std::is_same_v<I, bool>)
  void number(std::string_view name, I& value, std::int64_t low, std::int64_t high) {
    const std::int64_t held = checked_number(name, static_cast<std::int64_t>(value), low, high);
    if (is_loading()) value = static_cast<I>(held);
  }
  // A member that says no more than n_features() does.
  void features(std::int64_t& member) {
    if (is_loading()) member = n_features_;
  }
  // Numbers, row-major: rows x cols of them, any of the two as many as there are.
  template <class E>
  void field(std::string_view name, std::vector<E>& values, std::int64_t rows, std::int64_t cols = 1) {
    if (!is_loading()) return save_tensor(name, kTypeOf<E>, sizeof(E), values.data(), values.size(), rows, cols);
    const std::span<const std::byte> bytes = load_tensor(name, kTypeOf<E>, sizeof(E), rows, cols);
    values.resize(bytes.size() / sizeof(E));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  // The same for doubles that models held in float32 before: those are still read.
  void widened(std::string_view name, std::vector<double>& values, std::int64_t rows, std::int64_t cols);
  // Whole numbers that name something: each from `low` to `high`.
  template <class E>
  void indices(std::string_view name, std::vector<E>& values, std::int64_t size, std::int64_t low, std::int64_t high) {
    field(name, values, size);
    if (!is_loading()) return;
    for (const E value : values) expect_in(name, static_cast<std::int64_t>(value), low, high);
  }
  // rows x cols on the device; every number finite.
  template <class E>
  void field(std::string_view name, Matrix<E>& values, std::int64_t rows, std::int64_t cols) {
    if (!is_loading()) {
      std::vector<E> host = values.to_host();
      return field(name, host, rows, cols);
    }
    std::vector<E> host;
    field(name, host, rows, cols);
    expect_finite(name, host);
    values = Matrix<E>(ctx_.memory(), rows, cols, std::span<const E>(host));
  }
  // Any number of things: visit(item) describes each.
  template <class V, class Visit>
  void list(std::string_view name, std::vector<V>& items, Visit visit) {
    resize(items, count(name, items.size()));
    for (V& item : items) visit(item);
  }
  // How many there are: `size` itself when saving.
  std::size_t count(std::string_view name, std::size_t size);

  template <class E>
  void expect_finite(std::string_view name, const std::vector<E>& values) {
    for (const E value : values) expect(value - value == 0, name, "has a number that is not finite");
  }
  // Throws when loading and `ok` is false.
  void expect(bool ok, std::string_view name, std::string_view problem) const;
  void expect_in(std::string_view name, std::int64_t value, std::int64_t low, std::int64_t high) const;
  // "RandomForestRegressor cannot be stored": for an estimator without state().
  [[noreturn]] void refuse() const;
  // Loading: whether there is more to read, such as what files of earlier versions do not have.
  bool has_more() const { return !state_.empty(); }
  // Loading: everything in the file has been read.
  void finish() const;

 private:
  template <class E>
  static constexpr StateType kTypeOf = std::is_same_v<E, float>          ? StateType::kFloat32
                                       : std::is_same_v<E, double>       ? StateType::kFloat64
                                       : std::is_same_v<E, std::int32_t> ? StateType::kInt32
                                       : std::is_same_v<E, std::int64_t> ? StateType::kInt64
                                                                         : StateType::kUint8;
  template <class V>
  static void resize(std::vector<V>& items, std::size_t size) {
    if (items.size() != size) items = std::vector<V>(size);
  }

  void begin(std::string_view name, StateType type);   // writes or checks what stands before every record
  bool is_next(StateType type);                        // loading: whether the record that comes has this type
  void save_tensor(std::string_view name, StateType type, std::size_t element, const void* data, std::size_t size,
                   std::int64_t rows, std::int64_t cols);
  std::span<const std::byte> load_tensor(std::string_view name, StateType type, std::size_t element, std::int64_t rows,
                                         std::int64_t cols);
  std::int64_t checked_number(std::string_view name, std::int64_t value, std::int64_t low, std::int64_t high);
  void write(const void* data, std::size_t size);
  void write_text(std::string_view text);
  std::span<const std::byte> read(std::size_t size);
  std::string read_text();
  template <class V>
  void write_value(V value) { write(&value, sizeof value); }
  template <class V>
  V read_value() {
    V value;
    std::memcpy(&value, read(sizeof value).data(), sizeof value);
    return value;
  }
  [[noreturn]] void fail(std::string_view name, std::string_view problem) const;

  const Context& ctx_;
  ModelFileWriter* writer_ = nullptr;
  std::span<const std::byte> state_, tensors_;   // what is still to be read
  std::string owner_;
  std::int64_t n_features_ = 1;
  std::int32_t n_classes_ = 0;
};

}  // namespace kedge::engine
