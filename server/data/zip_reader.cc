// Reads ZIP files by their directory; inflates by ISA-L.
#include "server/data/zip_reader.h"

#include <fmt/format.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "schemas/error.h"
#include "server/data/inflate.h"

namespace kedge::server {
namespace {

using std::string_view;

// Sizes of records without what is of variable length, as in APPNOTE.TXT 6.3.10, 4.3.
constexpr std::size_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56, kEntryBytes = 46, kLocalBytes = 30;
constexpr std::uint32_t kIn64 = 0xFFFFFFFF;   // the number is in the ZIP64 field
constexpr std::uint64_t kFreeBytes = std::uint64_t{64} << 20;
constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

template <class T>
T number(string_view bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | static_cast<T>(static_cast<unsigned char>(bytes[at + i])) << 8 * i);
  return value;
}

constexpr auto u16 = number<std::uint16_t>;
constexpr auto u32 = number<std::uint32_t>;
constexpr auto u64 = number<std::uint64_t>;

// Of the extra fields the ZIP64 one replaces, in this order, the numbers that are all ones. False: it lacks one.
bool read_zip64_field(string_view extra, std::initializer_list<std::uint64_t*> numbers) {
  constexpr std::uint16_t kZip64 = 1;
  string_view field;
  while (extra.size() >= 4) {
    const std::size_t size = std::min<std::size_t>(u16(extra, 2), extra.size() - 4);
    if (u16(extra, 0) == kZip64) field = extra.substr(4, size);
    extra.remove_prefix(4 + size);
  }
  for (std::uint64_t* const wanted : numbers) {
    if (*wanted != kIn64) continue;
    if (field.size() < 8) return false;
    *wanted = u64(field, 0);
    field.remove_prefix(8);
  }
  return true;
}

}   // namespace

void ZipFile::refuse(string_view what) const {
  throw schema::Error(schema::ErrorCode::kDatasetCorrupt, fmt::format("{}: {}", source_, what));
}

ZipFile::ZipFile(string_view bytes, std::string source) : bytes_(bytes), source_(std::move(source)) {
  const Directory where = find_directory();
  if (where.offset > bytes_.size() || where.bytes > bytes_.size() - where.offset)
    refuse("its directory is not in the file");
  if (where.count > kMostMembers)
    refuse(fmt::format("it has {} members, at most {} are taken", where.count, kMostMembers));
  string_view directory = bytes_.substr(where.offset, where.bytes);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;   // begin and end of each member with its head
  for (std::uint64_t i = 0; i < where.count; ++i) {
    std::uint64_t offset = 0;
    ZipMember member = read_entry(directory, offset);
    places.emplace_back(offset,
                        static_cast<std::uint64_t>(member.packed.data() - bytes_.data()) + member.packed.size());
    std::string name = member.name;
    if (!members_.emplace(name, std::move(member)).second) refuse(fmt::format("it has two members '{}'", name));
  }
  std::ranges::sort(places);
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i].first < places[i - 1].second) refuse("two of its members share bytes");
  check_bounds();
}

void ZipFile::check_bounds() const {
  std::uint64_t made = 0;
  for (const auto& [name, member] : members_) {
    if (!member.is_deflated && member.size != member.packed.size())
      refuse(fmt::format("member '{}' has two sizes", name));
    made += std::min(member.size, std::numeric_limits<std::uint64_t>::max() / 2 / kMostMembers);
  }
  if (made > kFreeBytes && made / kMostInflation > bytes_.size())
    refuse(fmt::format("its members become more than {} times as large as it is", kMostInflation));
}

// The record at the end, behind which there is only a comment.
ZipFile::Directory ZipFile::find_directory() const {
  constexpr std::size_t kLongestComment = 0xFFFF;
  if (bytes_.size() < kEndBytes) refuse("it is no ZIP, or cut short");
  const std::size_t last = bytes_.size() - kEndBytes, first = last - std::min(last, kLongestComment);
  for (std::size_t at = last + 1; at-- > first;) {
    const string_view record = bytes_.substr(at);
    if (!record.starts_with("PK\x05\x06") || u16(record, 20) != record.size() - kEndBytes) continue;
    const Directory found{.offset = u32(record, 16), .bytes = u32(record, 12), .count = u16(record, 10)};
    if (u16(record, 4) != 0 && u16(record, 4) != 0xFFFF) refuse("it is one of several files");
    const bool is_in_64 = found.offset == kIn64 || found.bytes == kIn64 || found.count == 0xFFFF;
    return is_in_64 ? read_zip64(at) : found;
  }
  refuse("it is no ZIP, or cut short");
}

ZipFile::Directory ZipFile::read_zip64(std::size_t end) const {
  if (end < kLocatorBytes) refuse("its ZIP64 directory is missing");
  const string_view locator = bytes_.substr(end - kLocatorBytes, kLocatorBytes);
  const std::uint64_t at = locator.starts_with("PK\x06\x07") ? u64(locator, 8) : std::uint64_t{kIn64} << 32;
  if (at > bytes_.size() || bytes_.size() - at < kEnd64Bytes || !bytes_.substr(at).starts_with("PK\x06\x06"))
    refuse("its ZIP64 directory is missing");
  const string_view record = bytes_.substr(at);
  return {.offset = u64(record, 48), .bytes = u64(record, 40), .count = u64(record, 32)};
}

// `offset`: of the head in front of the member.
ZipMember ZipFile::read_entry(string_view& directory, std::uint64_t& offset) const {
  constexpr std::uint16_t kStored = 0, kDeflated = 8, kEncrypted = 1;
  if (directory.size() < kEntryBytes || !directory.starts_with("PK\x01\x02")) refuse("its directory is damaged");
  const std::size_t name = u16(directory, 28), extra = u16(directory, 30), comment = u16(directory, 32);
  if (directory.size() - kEntryBytes < name + extra + comment) refuse("its directory is damaged");
  ZipMember member{.name = std::string(directory.substr(kEntryBytes, name)), .crc = u32(directory, 16)};
  std::uint64_t packed = u32(directory, 20);
  member.size = u32(directory, 24), offset = u32(directory, 42);
  if (!read_zip64_field(directory.substr(kEntryBytes + name, extra), {&member.size, &packed, &offset}))
    refuse(fmt::format("member '{}': its sizes are missing", member.name));
  const std::uint16_t method = u16(directory, 10);
  if (u16(directory, 8) & kEncrypted) refuse(fmt::format("member '{}' is encrypted", member.name));
  if (method != kStored && method != kDeflated)
    refuse(fmt::format("member '{}' is packed by method {}, must be stored or deflated", member.name, method));
  member.is_deflated = method == kDeflated;
  member.packed = packed_bytes(member.name, offset, packed);
  directory.remove_prefix(kEntryBytes + name + extra + comment);
  return member;
}

string_view ZipFile::packed_bytes(const std::string& name, std::uint64_t offset, std::uint64_t size) const {
  if (offset > bytes_.size() || bytes_.size() - offset < kLocalBytes ||
      !bytes_.substr(offset).starts_with("PK\x03\x04"))
    refuse(fmt::format("member '{}' is not in the file", name));
  const string_view local = bytes_.substr(offset);
  const std::size_t head = kLocalBytes + u16(local, 26) + u16(local, 28);
  if (local.size() < head || local.size() - head < size) refuse(fmt::format("member '{}' is not in the file", name));
  if (local.substr(kLocalBytes, u16(local, 26)) != name)
    refuse(fmt::format("member '{}' has another name at its place", name));
  return local.substr(head, size);
}

struct ZipMemberReader::Inflation {
  inflate_state state{};
  std::vector<char> piece = std::vector<char>(kPieceBytes);
  std::size_t given = 0;   // bytes of the member
};

ZipMemberReader::ZipMemberReader(const ZipMember& member, std::string source)
    : member_(&member), source_(std::move(source)) {
  if (!member.is_deflated) return;
  inflation_ = std::make_unique<Inflation>();
  isal_inflate_init(&inflation_->state);
  inflation_->state.crc_flag = ISAL_DEFLATE;
}

ZipMemberReader::~ZipMemberReader() = default;
ZipMemberReader::ZipMemberReader(ZipMemberReader&&) noexcept = default;

void ZipMemberReader::refuse(string_view what) const {
  throw schema::Error(schema::ErrorCode::kDatasetCorrupt,
                      fmt::format("{}: member '{}' {}", source_, member_->name, what));
}

string_view ZipMemberReader::next() {
  if (is_checked_) return {};
  string_view piece = inflation_ ? inflate() : member_->packed.substr(done_, kPieceBytes);
  done_ += piece.size();
  if (done_ > member_->size) refuse("becomes larger than its directory says");
  crc_ = crc32_gzip_refl(crc_, reinterpret_cast<const unsigned char*>(piece.data()), piece.size());
  if (!piece.empty()) return piece;
  is_checked_ = true;
  if (done_ != member_->size) refuse("is cut short");
  if (crc_ != member_->crc) refuse("is damaged: its checksum is wrong");
  return {};
}

// The next of what the member becomes; empty at its end.
string_view ZipMemberReader::inflate() {
  Inflation& in = *inflation_;
  while (in.state.block_state != ISAL_BLOCK_FINISH) {
    const std::size_t left = member_->packed.size() - in.given;
    const auto size =
        static_cast<std::uint32_t>(std::min<std::size_t>(left, std::numeric_limits<std::uint32_t>::max()));
    in.state.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(member_->packed.data() + in.given));
    in.state.avail_in = size;
    in.state.next_out = reinterpret_cast<std::uint8_t*>(in.piece.data());
    in.state.avail_out = static_cast<std::uint32_t>(in.piece.size());
    if (isal_inflate(&in.state) != ISAL_DECOMP_OK) refuse("is damaged: it cannot be inflated");
    in.given += size - in.state.avail_in;
    const std::size_t made = in.piece.size() - in.state.avail_out;
    if (made > 0) return {in.piece.data(), made};
    if (size == 0) refuse("is cut short");   // nothing came of what the state still had
  }
  if (in.given != member_->packed.size()) refuse("has bytes behind its end");
  return {};
}

}   // namespace kedge::server
