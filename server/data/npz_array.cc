// Reads one array of an .npz file: see npz_array.h.
#include "server/data/npz_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "schemas/error.h"

namespace kedge::server {
namespace {

using std::string_view;

constexpr std::size_t kAhead = 4096;   // numbers that next() reads at a time

std::string without_ending(std::string name) {
  if (name.ends_with(".npy")) name.resize(name.size() - 4);
  return name;
}

}   // namespace

NpzArray::NpzArray(const ZipMember& member, const std::string& source)
    : name_(without_ending(member.name)), source_(source), reader_(member, source) {
  constexpr std::size_t kHead = kLongestNpyHeader + 12;
  piece_ = reader_.next();
  if (piece_.size() < std::min<std::uint64_t>(member.size, kHead)) {
    for (string_view next = piece_; !next.empty() && joined_.size() < kHead; next = reader_.next()) joined_ += next;
    piece_ = joined_;
  }
  header_ = read_npy_header(piece_, fmt::format("{}: member '{}'", source_, name_));
  piece_.remove_prefix(header_.bytes);
  unsigned __int128 elements = 1;
  for (const std::int64_t size : header_.shape)
    elements = std::min<unsigned __int128>(elements * static_cast<std::uint64_t>(size), member.size + 1);
  const std::uint64_t bytes = member.size - std::min<std::uint64_t>(member.size, header_.bytes);
  if (header_.kind == 'O' || (!header_.is_number() && !is_text())) refuse(npy_type_problem(header_));
  if (is_text() && header_.size == 0 && elements > 0)
    refuse("its texts have no characters; the type must be <U1 or longer");
  if (elements * header_.size != bytes) refuse(fmt::format("its shape does not fill its {} bytes", bytes));
  size_ = static_cast<std::int64_t>(elements);
}

void NpzArray::refuse(string_view what) const {
  throw schema::Error(schema::ErrorCode::kDatasetCorrupt, fmt::format("{}: member '{}': {}", source_, name_, what));
}

void NpzArray::require_numbers() const {
  if (!header_.is_number()) refuse(npy_type_problem(header_));
}

void NpzArray::require_dimensions(std::size_t dimensions) const {
  if (header_.shape.size() != dimensions)
    refuse(fmt::format("the array has {} dimensions, must have {}", header_.shape.size(), dimensions));
}

void NpzArray::require_size(std::int64_t wanted, string_view of) const {
  require_dimensions(1);
  if (size_ != wanted) refuse(fmt::format("it has {} elements, must have {}, one for each {}", size_, wanted, of));
}

// So many bytes, which are there: the shape has been compared with the member's size.
string_view NpzArray::take(std::size_t bytes) {
  if (piece_.size() < bytes) {
    std::string joined(piece_);
    while (joined.size() < bytes) {
      const string_view piece = reader_.next();
      if (piece.empty()) refuse("it is cut short");
      joined += piece;
    }
    joined_ = std::move(joined), piece_ = joined_;
  }
  const string_view taken = piece_.substr(0, bytes);
  piece_.remove_prefix(bytes);
  return taken;
}

void NpzArray::read(std::span<double> values) {
  require_numbers();
  constexpr std::size_t kTogether = 32 << 10;
  while (!values.empty()) {
    const std::span<double> part = values.first(std::min(values.size(), kTogether));
    npy_numbers(header_, take(part.size() * header_.size).data(), part);
    if (header_.may_be_inexact()) refuse_inexact(part);
    read_ += static_cast<std::int64_t>(part.size());
    values = values.subspan(part.size());
  }
}

void NpzArray::refuse_inexact(std::span<const double> values) const {
  const auto found = std::ranges::find_if(values, [](double value) { return std::abs(value) > kLargestExact; });
  if (found == values.end()) return;
  const std::int64_t place = read_ + (found - values.begin());
  const std::int64_t columns = header_.shape.size() == 2 ? header_.shape[1] : 1;
  if (header_.fortran || columns <= 1) refuse(fmt::format("element {}: the integer is beyond 2^53", place));
  refuse(fmt::format("row {}, column {}: the integer is beyond 2^53", place / columns + 1, place % columns));
}

double NpzArray::next() {
  if (used_ == ahead_.size()) {
    ahead_.resize(std::min(kAhead, static_cast<std::size_t>(size_ - read_)));
    if (ahead_.empty()) refuse("it has too few elements");
    read(ahead_);
    used_ = 0;
  }
  return ahead_[used_++];
}

std::string NpzArray::next_text() {
  const string_view element = take(header_.size);
  ++read_;
  if (header_.kind == 'S' && std::ranges::any_of(element, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    refuse("its bytes are not ASCII; send texts (type <U)");
  return npy_text(header_, element);
}

std::vector<std::string> NpzArray::texts() {
  if (!is_text()) refuse(fmt::format("the type '{}' is not one of texts (<U or |S)", header_.type));
  std::vector<std::string> texts(static_cast<std::size_t>(size_));
  for (std::string& text : texts) text = next_text();
  return texts;
}

void NpzArray::finish() {
  if (!piece_.empty() || !reader_.next().empty()) refuse("it has bytes behind its end");
}

NpzColumn::NpzColumn(const ZipMember& member, const std::string& source, const std::vector<std::string>* categories)
    : array_(member, source), categories_(categories) {
  if (!array_.is_text()) return;
  for (std::size_t i = 0; categories_ && i < categories_->size(); ++i)
    codes_.emplace((*categories_)[i], static_cast<double>(i));
}

void NpzColumn::read(std::span<double> values) {
  if (array_.is_text()) {
    for (double& value : values) value = codes_.at(array_.next_text());
    return;
  }
  array_.read(values);
  if (!categories_) return;
  for (double& value : values) value = npz_code(value, categories_->size(), array_);
}

double npz_code(double code, std::size_t n_categories, const NpzArray& array) {
  if (code == -1 || code != code) return std::numeric_limits<double>::quiet_NaN();
  if (code != std::floor(code) || code < 0 || code >= static_cast<double>(n_categories))
    array.refuse(fmt::format("{} is not the code of one of its {} categories", code, n_categories));
  return code;
}

}   // namespace kedge::server
