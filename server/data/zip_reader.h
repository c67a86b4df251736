// ZIP files from outside: their members, stored or deflated, within bounds on what they become.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace kedge::server {

struct ZipMember {
  std::string name;
  bool is_deflated = false;
  std::string_view packed;   // as it lies in the file
  std::uint64_t size = 0;    // of what it becomes
  std::uint32_t crc = 0;     // of that
};

// The list of members, from the directory at the file's end (with ZIP64). Borrows the bytes. Errors, all
// kDatasetCorrupt and "SOURCE: ...": what is no ZIP; members that are encrypted, packed by something else, twice there
// or on each other's bytes; members that become more than kMostInflation times what the file has (beyond 64 MiB).
class ZipFile {
 public:
  static constexpr std::size_t kMostMembers = 250'000;

  ZipFile(std::string_view bytes, std::string source);
  const std::map<std::string, ZipMember, std::less<>>& members() const { return members_; }

 private:
  struct Directory {
    std::uint64_t offset = 0, bytes = 0, count = 0;
  };
  [[noreturn]] void refuse(std::string_view what) const;
  Directory find_directory() const;
  Directory read_zip64(std::size_t end) const;
  ZipMember read_entry(std::string_view& directory, std::uint64_t& offset) const;
  std::string_view packed_bytes(const std::string& name, std::uint64_t offset, std::uint64_t size) const;
  void check_bounds() const;

  const std::string_view bytes_;
  const std::string source_;
  std::map<std::string, ZipMember, std::less<>> members_;
};

// Reads a member from its begin to its end, a piece at a time. Borrows it. Errors: kDatasetCorrupt, "SOURCE: member
// 'NAME' ..."
class ZipMemberReader {
 public:
  ZipMemberReader(const ZipMember& member, std::string source);
  ~ZipMemberReader();
  ZipMemberReader(ZipMemberReader&&) noexcept;

  // The next piece, valid until the next call; empty behind the last one, when length and checksum were right.
  std::string_view next();

 private:
  struct Inflation;
  [[noreturn]] void refuse(std::string_view what) const;
  std::string_view inflate();

  const ZipMember* member_;
  std::string source_;
  std::unique_ptr<Inflation> inflation_;   // null: it is stored
  std::uint64_t done_ = 0;
  std::uint32_t crc_ = 0;
  bool is_checked_ = false;
};

}   // namespace kedge::server
