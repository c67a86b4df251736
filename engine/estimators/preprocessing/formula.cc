// The parser of formulas: by recursive descent, with the depth and the nodes counted.
#include "engine/estimators/preprocessing/formula.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "schemas/error.h"

namespace kedge::engine {
namespace {

using F = FormulaFunction;
using Kind = FormulaNode::Kind;

struct NamedFunction {
  std::string_view name;
  F function;
};
constexpr NamedFunction kOfOne[] = {
    {"log", F::kLog},           {"log2", F::kLog2},
    {"log10", F::kLog10},       {"log1p", F::kLog1p},
    {"exp", F::kExp},           {"exp2", F::kExp2},
    {"expm1", F::kExpm1},       {"sqrt", F::kSqrt},
    {"square", F::kSquare},     {"abs", F::kAbs},
    {"absolute", F::kAbs},      {"sign", F::kSign},
    {"negative", F::kNegative}, {"reciprocal", F::kReciprocal},
    {"tanh", F::kTanh},         {"expit", F::kExpit},
};
constexpr NamedFunction kOfTwo[] = {{"min", F::kMinimum},
                                    {"minimum", F::kMinimum},
                                    {"max", F::kMaximum},
                                    {"maximum", F::kMaximum},
                                    {"power", F::kPower}};

template <std::size_t N>
std::optional<F> found(const NamedFunction (&functions)[N], std::string_view name) {
  const auto* const at = std::ranges::find(functions, name, &NamedFunction::name);
  return at == std::end(functions) ? std::nullopt : std::optional(at->function);
}

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> problem, Args&&... args) {
  throw schema::Error(schema::ErrorCode::kInvalidValue, fmt::format(problem, std::forward<Args>(args)...));
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { formula_.text = text; }

  Formula parsed() {
    if (text_.size() > kMostFormulaText) refuse("is longer than {} characters", kMostFormulaText);
    const std::int32_t root = comparison();
    skip_spaces();
    if (at_ < text_.size()) fail(fmt::format("'{}' is not expected", text_[at_]));
    if (node(root).kind == Kind::kNumber) refuse("names no column");
    return std::move(formula_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { refuse("{} at character {}", problem, at_ + 1); }
  FormulaNode& node(std::int32_t i) { return formula_.nodes[static_cast<std::size_t>(i)]; }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool takes(std::string_view token) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(char c) {
    if (!takes({&c, 1}))
      fail(at_ < text_.size() ? fmt::format("'{}' is missing before '{}'", c, text_[at_])
                              : fmt::format("'{}' is missing", c));
  }

  std::int32_t add(FormulaNode made) {
    if (formula_.nodes.size() >= kMostFormulaNodes) refuse("has more than {} values and operations", kMostFormulaNodes);
    formula_.nodes.push_back(made);
    return static_cast<std::int32_t>(formula_.nodes.size()) - 1;
  }
  std::int32_t number(double value) { return add({.number = value}); }
  std::int32_t function(F f, std::int32_t left, std::int32_t right = -1) {
    const bool is_number = node(left).kind == Kind::kNumber && (right < 0 || node(right).kind == Kind::kNumber);
    if (!is_number) return add({.kind = Kind::kFunction, .function = f, .left = left, .right = right});
    const double value = applied(f, node(left).number, right < 0 ? 0 : node(right).number);
    if (!std::isfinite(value)) fail("the numbers give no finite value");
    formula_.nodes.resize(static_cast<std::size_t>(left));   // the arguments are the last nodes
    return number(value);
  }

  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMostFormulaDepth) refuse("is nested deeper than {} levels", kMostFormulaDepth);
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;

   private:
    Parser& parser_;
  };

  std::int32_t comparison() {
    const Level level(*this);
    const std::int32_t left = sum();
    if (takes(">=")) return function(F::kGreaterEqual, left, sum());
    if (takes(">")) return function(F::kGreater, left, sum());
    if (takes("<=")) return function(F::kLessEqual, left, sum());
    if (takes("<")) return function(F::kLess, left, sum());
    return left;
  }

  std::int32_t sum() {
    std::int32_t left = product();
    for (;;) {
      if (takes("+")) left = function(F::kAdd, left, product());
      else if (takes("-")) left = function(F::kSubtract, left, product());
      else return left;
    }
  }

  std::int32_t product() {
    std::int32_t left = signed_value();
    for (;;) {
      if (takes("*")) left = function(F::kMultiply, left, signed_value());
      else if (takes("/")) left = function(F::kDivide, left, signed_value());
      else return left;
    }
  }

  std::int32_t signed_value() {
    const Level level(*this);
    if (takes("-")) return function(F::kNegative, signed_value());
    if (takes("+")) return signed_value();
    const std::int32_t base = value();
    return takes("**") ? function(F::kPower, base, signed_value()) : base;
  }

  std::int32_t value() {
    skip_spaces();
    if (at_ == text_.size()) fail("a value is missing");
    const char c = text_[at_];
    if (is_digit(c) || c == '.') return literal();
    if (takes("(")) {
      const std::int32_t inner = comparison();
      expect(')');
      return inner;
    }
    if (c == '`') {
      const std::size_t end = text_.find('`', at_ + 1);
      if (end == std::string_view::npos) fail("the ` has no second one");
      const std::string_view name = text_.substr(at_ + 1, end - at_ - 1);
      if (name.empty()) fail("the name is empty");
      at_ = end + 1;
      return column(name);
    }
    if (!is_letter(c)) fail(fmt::format("'{}' is no value", c));
    return word();
  }

  std::int32_t literal() {
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || !std::isfinite(value)) fail("a number is missing or too large");
    at_ = static_cast<std::size_t>(end - text_.data());
    return number(value);
  }

  std::int32_t word() {
    const std::size_t first = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view name = text_.substr(first, at_ - first);
    const std::size_t after = at_;
    if (!takes("(")) {
      at_ = after;
      return column(name);
    }
    if (const auto f = found(kOfOne, name)) return function(*f, last_argument());
    if (const auto f = found(kOfTwo, name)) {
      const std::int32_t left = argument();
      return function(*f, left, last_argument());
    }
    if (name != "clip") at_ = first, fail(unknown(name));
    const std::int32_t low = argument(), raised = function(F::kMaximum, low, argument());
    return function(F::kMinimum, raised, last_argument());
  }
  std::int32_t argument() {
    const std::int32_t made = comparison();
    expect(',');
    return made;
  }
  std::int32_t last_argument() {
    const std::int32_t made = comparison();
    expect(')');
    return made;
  }

  static std::string unknown(std::string_view name) {
    std::vector<std::string_view> names{"clip"};
    for (const NamedFunction& known : kOfOne) names.push_back(known.name);
    for (const NamedFunction& known : kOfTwo) names.push_back(known.name);
    const std::string_view nearest = schema::nearest_name(name, names);
    return nearest.empty() ? fmt::format("there is no function '{}'", name)
                           : fmt::format("there is no function '{}'; did you mean '{}'?", name, nearest);
  }

  std::int32_t column(std::string_view name) {
    const auto known = std::ranges::find(formula_.columns, name);
    const auto place = static_cast<std::int32_t>(known - formula_.columns.begin());
    if (known == formula_.columns.end()) formula_.columns.emplace_back(name);
    return add({.kind = Kind::kColumn, .column = place});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Formula formula_;
};

}   // namespace

Formula Formula::parsed(std::string_view text) {
  return Parser(text).parsed();
}

std::vector<std::string> formula_functions() {
  std::vector<std::string> names;
  for (const NamedFunction& known : kOfOne) names.emplace_back(known.name);
  return names;
}

double applied(FormulaFunction f, double x, double y) {
  switch (f) {
    case F::kLog:
      return std::log(x);
    case F::kLog2:
      return std::log2(x);
    case F::kLog10:
      return std::log10(x);
    case F::kLog1p:
      return std::log1p(x);
    case F::kExp:
      return std::exp(x);
    case F::kExp2:
      return std::exp2(x);
    case F::kExpm1:
      return std::expm1(x);
    case F::kSqrt:
      return std::sqrt(x);
    case F::kSquare:
      return x * x;
    case F::kAbs:
      return std::abs(x);
    case F::kReciprocal:
      return 1 / x;
    case F::kNegative:
      return -x;
    case F::kSign:
      return static_cast<double>((x > 0) - (x < 0));
    case F::kTanh:
      return std::tanh(x);
    case F::kExpit:
      return 1 / (1 + std::exp(-x));
    case F::kAdd:
      return x + y;
    case F::kSubtract:
      return x - y;
    case F::kMultiply:
      return x * y;
    case F::kDivide:
      return x / y;
    case F::kPower:
      return std::pow(x, y);
    case F::kMinimum:
      return std::min(x, y);
    case F::kMaximum:
      return std::max(x, y);
    case F::kGreater:
      return x > y;
    case F::kGreaterEqual:
      return x >= y;
    case F::kLess:
      return x < y;
    case F::kLessEqual:
      return x <= y;
  }
  return x;
}

}   // namespace kedge::engine
