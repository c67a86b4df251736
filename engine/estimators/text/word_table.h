// A dictionary of the distinct words of many documents, numbered as they come.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::engine::text {

// Up to 7 bytes as a number, without a call.
inline std::uint64_t few_bytes(const char* p, std::size_t n) {
  if (n >= 4) {
    std::uint32_t first, last;   // they may overlap, in the same bits
    std::memcpy(&first, p, 4);
    std::memcpy(&last, p + n - 4, 4);
    return first | static_cast<std::uint64_t>(last) << 8 * (n - 4);
  }
  const auto at = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(p[i])} << 8 * i; };
  return n == 0 ? 0 : at(0) | at(n / 2) | at(n - 1);
}

// Most words are short: eight bytes at a time, without a call.
inline bool is_same_word(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  const char *p = a.data(), *q = b.data();
  std::size_t left = a.size();
  for (; left >= 8; p += 8, q += 8, left -= 8) {
    std::uint64_t of_a, of_b;
    std::memcpy(&of_a, p, 8);
    std::memcpy(&of_b, q, 8);
    if (of_a != of_b) return false;
  }
  return few_bytes(p, left) == few_bytes(q, left);
}

// The same on every machine; a word's order never depends on it.
inline std::uint64_t hash_of(std::string_view word) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
  std::uint64_t hash = word.size() * kOdd;
  const char* p = word.data();
  std::size_t left = word.size();
  const auto mix = [&](std::uint64_t bytes) {
    const auto product = static_cast<unsigned __int128>(hash ^ bytes) * kOdd;
    hash = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  for (; left >= 8; p += 8, left -= 8) {
    std::uint64_t bytes;
    std::memcpy(&bytes, p, 8);
    mix(bytes);
  }
  mix(few_bytes(p, left));
  return hash;
}

// Words are kept one after the other. Not thread safe.
class WordTable {
 public:
  static constexpr std::size_t kMost = 0x7fffffff;   // words

  WordTable() : slots_(kFirstSize, Slot{}) {}

  // The number of a word, which is a new one for a new word.
  std::int32_t number_of(std::string_view word) {
    const std::uint64_t hash = hash_of(word);
    for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
      const Slot slot = slots_[at];
      if (slot.number < 0) return add(at, hash, word);
      if (slot.tag == tag_of(hash) && is_same_word(this->word(static_cast<std::size_t>(slot.number)), word))
        return slot.number;
    }
  }
  // The same, or -1 where it is unknown.
  std::int32_t find(std::string_view word) const {
    const std::uint64_t hash = hash_of(word);
    for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
      const Slot slot = slots_[at];
      if (slot.number < 0) return -1;
      if (slot.tag == tag_of(hash) && is_same_word(this->word(static_cast<std::size_t>(slot.number)), word))
        return slot.number;
    }
  }
  void reserve(std::size_t words, std::size_t bytes) {
    text_.reserve(bytes), ends_.reserve(words + 1);
    while (slots_.size() < 2 * words) grow();
  }
  std::size_t size() const { return ends_.size() - 1; }
  std::string_view word(std::size_t number) const {
    return {text_.data() + ends_[number], ends_[number + 1] - ends_[number]};
  }

 private:
  static constexpr std::size_t kFirstSize = 1024;
  struct Slot {
    std::int32_t number = -1;
    std::uint32_t tag = 0;
  };
  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
  std::size_t mask() const { return slots_.size() - 1; }

  std::int32_t add(std::size_t at, std::uint64_t hash, std::string_view word) {
    const auto number = static_cast<std::int32_t>(size());
    text_ += word;
    ends_.push_back(text_.size());
    slots_[at] = {number, tag_of(hash)};
    if (2 * size() > slots_.size()) grow();
    return number;
  }
  void grow() {
    std::vector<Slot> slots(slots_.size() * 2, Slot{});
    for (std::size_t number = 0; number < size(); ++number) {
      const std::uint64_t hash = hash_of(word(number));
      std::size_t at = hash & (slots.size() - 1);
      while (slots[at].number >= 0) at = (at + 1) & (slots.size() - 1);
      slots[at] = {static_cast<std::int32_t>(number), tag_of(hash)};
    }
    slots_ = std::move(slots);
  }

  std::string text_;
  std::vector<std::size_t> ends_{0};
  std::vector<Slot> slots_;
};

}   // namespace kedge::engine::text
