// EXPECT_* and ASSERT_* of the parity rows: GoogleTest's words without GoogleTest, because a program for users carries
// the rows, too. A file includes this or GoogleTest, not both.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace kedge::parity {

// The failures of one case, while this object lives, on this thread. Such objects nest; the innermost gets them.
class Findings {
 public:
  Findings() : outer_(std::exchange(current_, this)) {}
  ~Findings() { current_ = outer_; }
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;

  static bool any() { return current_ && current_->count_ > 0; }
  static void add(std::string failure) {
    if (current_ && current_->count_++ < kMostKept) current_->failures_.push_back(std::move(failure));
  }
  std::int64_t count() const { return count_; }
  std::vector<std::string> take() { return std::move(failures_); }   // the first few

 private:
  static constexpr std::int64_t kMostKept = 10;
  static inline constinit thread_local Findings* current_ = nullptr;
  Findings* const outer_;
  std::vector<std::string> failures_;
  std::int64_t count_ = 0;
};

// What stands behind << of a check.
class Words {
 public:
  template <class T>
  Words& operator<<(const T& value) {
    text_ << value;
    return *this;
  }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
};

// Takes the words of a check that failed: `return Record(...) = Words() << "why"` in a function without a result.
class Record {
 public:
  Record(const char* file, int line, std::string what)
      : what_(std::string(file) + ":" + std::to_string(line) + ": " + std::move(what)) {}
  void operator=(const Words& words) const {
    const std::string why = words.text();
    Findings::add(why.empty() ? what_ : what_ + ": " + why);
  }

 private:
  std::string what_;
};

template <class T>
std::string shown(const T& value) {
  if constexpr (requires(std::ostream& out) { out << value; }) {
    std::ostringstream out;
    out.precision(17);
    out << value;
    return out.str();
  } else if constexpr (requires {
                         value.size();
                         value.begin();
                       }) {
    constexpr std::size_t kMostShown = 8;
    std::string text = "{";
    std::size_t n = 0;
    for (const auto& element : value) {
      if (n++ == kMostShown) return text + ", ... " + std::to_string(value.size()) + "}";
      text += (n > 1 ? ", " : "") + shown(static_cast<const typename T::value_type&>(element));
    }
    return text + "}";
  } else {
    return "?";
  }
}

// What is to be said where `holds(a, b)` is false.
template <class A, class B, class Relation>
std::optional<std::string> difference(const char* a_text, const char* relation, const char* b_text, const A& a,
                                      const B& b, Relation holds) {
  if (holds(a, b)) return std::nullopt;
  return std::string("not ") + a_text + " " + relation + " " + b_text + ", but " + shown(a) + " and " + shown(b);
}

}   // namespace kedge::parity

// The switch keeps an `else` of the caller's from belonging to this `if`.
#define KEDGE_PARITY_CHECK(problem, then)                                         \
  switch (0)                                                                      \
  case 0:                                                                         \
  default:                                                                        \
    if (const std::optional<std::string> kedge_problem = problem; !kedge_problem) \
      ;                                                                           \
    else then ::kedge::parity::Record(__FILE__, __LINE__, *kedge_problem) = ::kedge::parity::Words()
#define KEDGE_PARITY_COMPARE(a, relation, b, then)                                                                     \
  KEDGE_PARITY_CHECK(                                                                                                  \
      ::kedge::parity::difference(#a, #relation, #b, a, b, [](const auto& x, const auto& y) { return x relation y; }), \
      then)
#define KEDGE_PARITY_TRUTH(condition, expected, then)                                   \
  KEDGE_PARITY_CHECK(static_cast<bool>(condition) == expected                           \
                         ? std::nullopt                                                 \
                         : std::optional<std::string>(#condition " is not " #expected), \
                     then)

#define EXPECT_TRUE(condition) KEDGE_PARITY_TRUTH(condition, true, )
#define EXPECT_FALSE(condition) KEDGE_PARITY_TRUTH(condition, false, )
#define EXPECT_EQ(a, b) KEDGE_PARITY_COMPARE(a, ==, b, )
#define EXPECT_NE(a, b) KEDGE_PARITY_COMPARE(a, !=, b, )
#define EXPECT_LE(a, b) KEDGE_PARITY_COMPARE(a, <=, b, )
#define EXPECT_LT(a, b) KEDGE_PARITY_COMPARE(a, <, b, )
#define EXPECT_GE(a, b) KEDGE_PARITY_COMPARE(a, >=, b, )
#define EXPECT_GT(a, b) KEDGE_PARITY_COMPARE(a, >, b, )
#define EXPECT_NEAR(a, b, bound)                                                                           \
  KEDGE_PARITY_CHECK(::kedge::parity::difference(#a, "near", #b, a, b, [&](const auto& x, const auto& y) { \
                       return std::abs(x - y) <= (bound);                                                  \
                     }), )
#define ASSERT_TRUE(condition) KEDGE_PARITY_TRUTH(condition, true, return)
#define ASSERT_FALSE(condition) KEDGE_PARITY_TRUTH(condition, false, return)
#define ASSERT_EQ(a, b) KEDGE_PARITY_COMPARE(a, ==, b, return)
#define ASSERT_LE(a, b) KEDGE_PARITY_COMPARE(a, <=, b, return)
#define ADD_FAILURE() ::kedge::parity::Record(__FILE__, __LINE__, "failed") = ::kedge::parity::Words()
