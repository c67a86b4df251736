// What from_binary refuses: damaged messages, messages that need more memory than they hold, and what JSON
// refuses too.
#include "schemas/kj_clang.h"   // first of all

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "schemas/codec.h"
#include "schemas/wire.h"
#include "tests/unit/schemas/samples.h"

namespace kedge::schema {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

template <class T>
Error refusal(std::span<const std::byte> bytes) {
  try {
    from_binary<T>(bytes);
  } catch (const Error& error) {
    return error;
  }
  return {ErrorCode::kInternal, "accepted"};
}

Bytes bytes_of(capnp::MallocMessageBuilder& message) {
  const auto words = capnp::messageToFlatArray(message);
  const auto raw = words.asBytes();
  Bytes bytes(raw.size());
  std::memcpy(bytes.data(), raw.begin(), raw.size());
  return bytes;
}

// A message of one segment with these words; see "Encoding" at capnproto.org.
Bytes message_of(std::vector<std::uint64_t> words) {
  words.insert(words.begin(), static_cast<std::uint64_t>(words.size()) << 32);
  Bytes bytes(words.size() * 8);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}
constexpr std::uint64_t struct_pointer(std::int64_t offset, std::uint64_t data_words,
                                       std::uint64_t pointers) {
  return (static_cast<std::uint64_t>(offset) << 2 & 0xffffffff) | data_words << 32 | pointers << 48;
}
constexpr std::uint64_t list_pointer(std::int64_t offset, std::uint64_t element_size, std::uint64_t count) {
  return (static_cast<std::uint64_t>(offset) << 2 & 0xffffffff) | 1 | element_size << 32 | count << 35;
}
constexpr std::uint64_t kVoid = 0, kByte = 2, kPointer = 6, kComposite = 7;  // element sizes
constexpr std::uint64_t kMany = (std::uint64_t{1} << 29) - 1;

TEST(FromBinary, RefusesWhatIsNoMessage) {
  EXPECT_EQ(refusal<Error>({}).code, ErrorCode::kMalformed);
  EXPECT_EQ(refusal<Error>(Bytes(7)).code, ErrorCode::kMalformed);
  EXPECT_EQ(refusal<Error>(Bytes(8, std::byte{0xff})).code, ErrorCode::kMalformed);
  EXPECT_EQ(refusal<Error>(Bytes(4096, std::byte{0xff})).code, ErrorCode::kMalformed);
}

TEST(FromBinary, RefusesEveryTruncation) {
  const Bytes bytes = to_binary(samples::spec());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(refusal<JobSpec>(std::span(bytes).first(size)).code, ErrorCode::kMalformed) << size;
}

TEST(FromBinary, RefusesTrailingBytes) {
  Bytes bytes = to_binary(samples::spec());
  bytes.resize(bytes.size() + 8);
  EXPECT_THAT(refusal<JobSpec>(bytes).message, HasSubstr("bytes after its end"));
}

TEST(FromBinary, ReadsUnalignedBytes) {
  const Bytes bytes = to_binary(samples::spec());
  Bytes shifted(bytes.size() + 8);
  for (std::size_t shift = 1; shift < 8; ++shift) {
    std::copy(bytes.begin(), bytes.end(), shifted.begin() + static_cast<std::ptrdiff_t>(shift));
    EXPECT_EQ(from_binary<JobSpec>(std::span(shifted).subspan(shift, bytes.size())), samples::spec());
  }
}

TEST(FromBinary, SurvivesDamageAnywhere) {
  const Bytes bytes = to_binary(samples::jobs()[0]);
  std::mt19937 random(1);
  std::size_t refused = 0;
  for (int round = 0; round < 5000; ++round) {
    Bytes damaged = bytes;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    if (refusal<Job>(damaged).code != ErrorCode::kInternal) ++refused;
  }
  EXPECT_GT(refused, 0u);
}

TEST(FromBinary, RefusesAListOfHalfABillionEmptyStructs) {
  const Bytes composite =
      message_of({struct_pointer(0, 0, 1), list_pointer(0, kComposite, 0), struct_pointer(kMany, 0, 0)});
  EXPECT_EQ(refusal<Catalogue>(composite).code, ErrorCode::kMalformed);
  EXPECT_EQ(refusal<DeviceList>(composite).code, ErrorCode::kMalformed);
  const Bytes plain = message_of({struct_pointer(0, 0, 1), list_pointer(0, kVoid, kMany)});
  EXPECT_EQ(refusal<DeviceList>(plain).code, ErrorCode::kMalformed);
}

TEST(FromBinary, RefusesManyPointersToTheSameData) {
  constexpr int kPointers = 1000, kTextWords = 1000;
  std::vector<std::uint64_t> words{
      struct_pointer(0, 0, 5), 0, 0, 0, 0, list_pointer(0, kPointer, kPointers)};  // ServerInfo.scorers
  for (int i = 0; i < kPointers; ++i) words.push_back(list_pointer(kPointers - 1 - i, kByte, kTextWords * 8));
  words.resize(words.size() + kTextWords);
  const Error error = refusal<ServerInfo>(message_of(words));
  EXPECT_EQ(error.code, ErrorCode::kMalformed);
  EXPECT_THAT(error.message, HasSubstr("limit"));
}

TEST(FromBinary, RefusesASpecOfTooManyItems) {
  JobSpec spec = samples::spec();
  spec.pipeline[0].params = {{"a", ValueList(200'001)}};
  const Error error = refusal<JobSpec>(to_binary(spec));
  EXPECT_EQ(error.code, ErrorCode::kBodyTooLarge);
  EXPECT_EQ(error.where, "pipeline[0].params.a");
}

TEST(FromBinary, RefusesAValueThatContainsItself) {
  const std::uint64_t list_tag = 6;  // Value.list
  const Error error = refusal<Result>(
      message_of({struct_pointer(0, 0, 2), 0, list_pointer(0, kComposite, 2),  // Result.fitted
                  struct_pointer(1, 0, 2), 0, list_pointer(0, kComposite, 2),  // one NamedValueMap
                  struct_pointer(1, 0, 2), 0, struct_pointer(0, 2, 1),         // one NamedValue
                  list_tag, 0, list_pointer(0, kComposite, 3),                 // a list ...
                  struct_pointer(1, 2, 1), list_tag, 0,
                  list_pointer(-4, kComposite, 3)}));  // ... of one value: that list
  EXPECT_EQ(error.code, ErrorCode::kMalformed);
  EXPECT_THAT(error.message, HasSubstr("deeper than 48"));
}

TEST(FromBinary, RefusesAnUnknownKindOfValue) {
  const Error error = refusal<Result>(
      message_of({struct_pointer(0, 0, 2), 0, list_pointer(0, kComposite, 2),  // Result.fitted
                  struct_pointer(1, 0, 2), 0, list_pointer(0, kComposite, 2),  // one NamedValueMap
                  struct_pointer(1, 0, 2), 0, struct_pointer(0, 2, 1),         // one NamedValue
                  77, 0, 0}));
  EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
  EXPECT_THAT(error.message, HasSubstr("needs one of nothing, boolean, integer"));
}

TEST(FromBinary, NamesThePlaceWithinAValue) {
  JobSpec spec = samples::spec();
  const auto where = [&](Value value) {
    spec.pipeline[0].params = {{"a", ValueList{Value(), std::move(value)}}};
    return refusal<JobSpec>(to_binary(spec)).where;
  };
  EXPECT_EQ(where(ValueMap{{"b", 1.0}, {"b", 2.0}}), "pipeline[0].params.a[1].b");
  EXPECT_EQ(where(ValueList(200'001)), "pipeline[0].params.a[1]");
}

TEST(FromBinary, RefusesAnUnknownUnionMember) {
  const Error error = refusal<Event>(message_of({struct_pointer(0, 2, 0), 1, 77}));
  EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
  EXPECT_THAT(error.message, HasSubstr("needs one of state, progress"));
}

TEST(FromBinary, RefusesAnUnknownEnumValue) {
  capnp::MallocMessageBuilder message;
  auto job = message.initRoot<wire::Job>();
  store(Job{}, job);
  job.setState(static_cast<wire::JobState>(99));
  EXPECT_EQ(refusal<Job>(bytes_of(message)),
            (Error{ErrorCode::kInvalidValue, "state: unknown value number 99", "state"}));
}

TEST(FromBinary, RefusesAMissingRequiredField) {
  capnp::MallocMessageBuilder message;
  auto spec = message.initRoot<wire::JobSpec>();
  EXPECT_EQ(refusal<JobSpec>(bytes_of(message)),
            (Error{ErrorCode::kInvalidValue, "dataset: is required", "dataset"}));
  store(samples::spec(), spec);
  spec.getPipeline()[1].disownEstimator();
  EXPECT_EQ(refusal<JobSpec>(bytes_of(message)).where, "pipeline[1].estimator");
}

TEST(FromBinary, RefusesBadUtf8) {
  capnp::MallocMessageBuilder message;
  auto spec = message.initRoot<wire::JobSpec>();
  store(samples::spec(), spec);
  spec.getPipeline()[1].setEstimator("PC\xff");
  EXPECT_EQ(refusal<JobSpec>(bytes_of(message)).where, "pipeline[1].estimator");
  store(samples::spec(), spec);
  spec.getPipeline()[1].getParams()[0].setName("\xff");
  EXPECT_EQ(refusal<JobSpec>(bytes_of(message)).where, "pipeline[1].params[0]");
}

TEST(FromBinary, RefusesAParameterThatComesTwice) {
  capnp::MallocMessageBuilder message;
  auto spec = message.initRoot<wire::JobSpec>();
  JobSpec value = samples::spec();
  value.pipeline[1].params = {{"a", 1}, {"a", 2}};
  store(value, spec);
  EXPECT_EQ(refusal<JobSpec>(bytes_of(message)).where, "pipeline[1].params.a");
}

Value nested_list(int depth) {
  Value value;
  for (int i = 0; i < depth; ++i) value = ValueList{std::move(value)};
  return value;
}

TEST(ToBinary, RefusesAValueThatNestsTooDeep) {
  JobSpec spec = samples::spec();
  spec.pipeline[0].params = {{"a", nested_list(49)}};
  EXPECT_THROW(to_binary(spec), Error);
  EXPECT_THROW(to_json(spec), Error);
}

TEST(ToBinary, CarriesTheDeepestValueInTheDeepestMessage) {
  RunCommand run{.spec = samples::spec()};
  run.spec.pipeline[0].params = {{"a", nested_list(48)}};
  Value deep;
  for (int i = 0; i < 48; ++i) deep = ValueMap{{"k", std::move(deep)}};
  run.spec.pipeline[1].params = {{"a", deep}};
  EXPECT_EQ(std::get<RunCommand>(from_binary<WorkerCommand>(to_binary(WorkerCommand{run})).body), run);
  EXPECT_EQ(from_json<JobSpec>(to_json(run.spec)), run.spec);
}

}  // namespace
}  // namespace kedge::schema
