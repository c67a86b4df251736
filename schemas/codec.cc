// The codec's entry points: value <-> Cap'n Proto struct (wire_structs.cc) <-> JSON text or bytes.
#include "schemas/codec.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/io.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "schemas/check.h"
#include "schemas/json_reader.h"
#include "schemas/json_writer.h"
#include "schemas/wire.h"

namespace kedge::schema {
namespace {

// A message is read twice, by check() and by load(). Twice that leaves room for honest messages, and none for
// one whose pointers all lead to the same data. The floor is for tiny messages, the ceiling bounds the
// largest.
constexpr std::uint64_t kTraversalFactor = 4;
constexpr std::uint64_t kLeastTraversalWords = 1024;
constexpr std::uint64_t kMostTraversalWords = std::uint64_t{16} << 20;
constexpr int kNestingLimit = 192;  // three pointers for each level of a value, and what surrounds it

// Items in one document or message: a job's description is small, except for its inline CSV, which is one
// item; a result may be long.
template <class T>
constexpr std::size_t kMaxItems = std::size_t{16} << 20;
template <>
constexpr std::size_t kMaxItems<JobSpec> = 200'000;
template <>
constexpr std::size_t kMaxItems<PreviewRequest> = 200'000;
template <>
constexpr std::size_t kMaxItems<WorkerCommand> = kMaxItems<JobSpec>;

// What Cap'n Proto throws becomes our error.
template <class Action>
auto translated(std::string_view what, Action action) {
  try {
    return action();
  } catch (const kj::Exception& e) {
    if (e.getType() == kj::Exception::Type::OVERLOADED) throw std::bad_alloc();   // what it says where memory ends
    throw Error{ErrorCode::kMalformed, std::string(what) + ": " + e.getDescription().cStr()};
  }
}

std::string_view bytes_of_no_message(std::span<const std::byte> bytes) {
  if (bytes.empty()) return "no bytes";
  return bytes.size() % sizeof(capnp::word) != 0 ? "length is not a multiple of 8" : "";
}

capnp::ReaderOptions limits(std::size_t words) {
  return {.traversalLimitInWords =
              std::clamp(kTraversalFactor * words, kLeastTraversalWords, kMostTraversalWords),
          .nestingLimit = kNestingLimit};
}

// The words of a message, copied only if they are not aligned.
class Words {
 public:
  explicit Words(std::span<const std::byte> bytes) : size_(bytes.size() / sizeof(capnp::word)) {
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(capnp::word) == 0) {
      data_ = reinterpret_cast<const capnp::word*>(bytes.data());
    } else {
      copy_ = kj::heapArray<capnp::word>(size_);
      std::memcpy(copy_.begin(), bytes.data(), bytes.size());
      data_ = copy_.begin();
    }
  }
  kj::ArrayPtr<const capnp::word> get() const { return {data_, size_}; }

 private:
  kj::Array<capnp::word> copy_;
  const capnp::word* data_ = nullptr;
  std::size_t size_;
};

template <class T>
T read_message(kj::ArrayPtr<const capnp::word> words) {
  capnp::FlatArrayMessageReader message(words, limits(words.size()));
  if (message.getEnd() != words.end())
    throw Error{ErrorCode::kMalformed, "Cap'n Proto message: bytes after its end"};
  const auto root = message.getRoot<typename WireOf<T>::Type>();
  check(capnp::toDynamic(root), kMaxItems<T>);
  T value;
  load(value, root);
  return value;
}

}  // namespace

template <class T>
std::string to_json(const T& value) {
  return translated("JSON", [&] {
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<typename WireOf<T>::Type>();
    store(value, root);
    std::string out;
    append_json(out, capnp::toDynamic(root.asReader()));
    return out;
  });
}

template <class T>
T from_json(std::string_view text) {
  return translated("JSON", [&] {
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<typename WireOf<T>::Type>();
    read_json(text, capnp::toDynamic(root), kMaxItems<T>);
    T value;
    load(value, root.asReader());
    return value;
  });
}

template <class T>
std::vector<std::byte> to_binary(const T& value) {
  return translated("Cap'n Proto message", [&] {
    capnp::MallocMessageBuilder message;
    store(value, message.initRoot<typename WireOf<T>::Type>());
    std::vector<std::byte> out(capnp::computeSerializedSizeInWords(message) * sizeof(capnp::word));
    kj::ArrayOutputStream stream(kj::arrayPtr(reinterpret_cast<kj::byte*>(out.data()), out.size()));
    capnp::writeMessage(stream, message);
    return out;
  });
}

template <class T>
T from_binary(std::span<const std::byte> bytes) {
  if (const auto fault = bytes_of_no_message(bytes); !fault.empty())
    throw Error{ErrorCode::kMalformed, "Cap'n Proto message: " + std::string(fault)};
  return translated("Cap'n Proto message", [&] { return read_message<T>(Words(bytes).get()); });
}

Value value_from_json(std::string_view text) {
  return read_json_value(text);
}

std::string value_to_json(const Value& value) {
  return to_string(value);
}

#include "schemas/documents.inc"

}  // namespace kedge::schema
