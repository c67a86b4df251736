// One array of an .npz file, read from its begin to its end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/data/npy_header.h"
#include "server/data/zip_reader.h"

namespace kedge::server {

// Borrows the member. Errors, all kDatasetCorrupt: "SOURCE: member 'NAME': ..."
class NpzArray {
 public:
  NpzArray(const ZipMember& member, const std::string& source);
  NpzArray(const NpzArray&) = delete;

  const NpyHeader& header() const { return header_; }
  std::int64_t size() const { return size_; }   // elements
  bool is_text() const { return header_.kind == 'U' || header_.kind == 'S'; }
  [[noreturn]] void refuse(std::string_view what) const;
  void require_numbers() const;
  void require_dimensions(std::size_t dimensions) const;
  void require_size(std::int64_t wanted, std::string_view of) const;

  // The next numbers. Integers beyond 2^53 are refused, with their place.
  void read(std::span<double> values);
  // The next number; not mixed with read().
  double next();
  std::string next_text();
  std::vector<std::string> texts();   // all that are left, which finish() follows
  // All elements have been read: looks at the checksum.
  void finish();

 private:
  std::string_view take(std::size_t bytes);
  void refuse_inexact(std::span<const double> values) const;

  std::string name_, source_;   // without .npy
  ZipMemberReader reader_;
  std::string_view piece_;   // what is left of the reader's
  std::string joined_;       // what lay in two pieces
  NpyHeader header_;
  std::int64_t size_ = 0, read_ = 0;
  std::vector<double> ahead_;   // of next()
  std::size_t used_ = 0;
};

// A column of one value for each row: numbers, codes of given categories (-1 and NaN are missing), or texts as the
// codes of theirs.
class NpzColumn {
 public:
  // categories: null for numbers. Both are borrowed.
  NpzColumn(const ZipMember& member, const std::string& source, const std::vector<std::string>* categories);
  NpzArray& array() { return array_; }
  void read(std::span<double> values);

 private:
  NpzArray array_;
  const std::vector<std::string>* categories_;
  std::unordered_map<std::string_view, double> codes_;   // of texts
};

// A code as the table keeps it: -1 becomes NaN. Refused through the array where it is none of so many.
double npz_code(double code, std::size_t n_categories, const NpzArray& array);

}   // namespace kedge::server
