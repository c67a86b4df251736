// A small language of formulas over columns: what FunctionTransformer computes. Parsed and bounded before any data is
// read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::engine {

// Of one argument first, named as numpy's, then of two.
enum class FormulaFunction : int {
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kExp,
  kExp2,
  kExpm1,
  kSqrt,
  kSquare,
  kAbs,
  kReciprocal,
  kNegative,
  kSign,
  kTanh,
  kExpit,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kPower,
  kMinimum,
  kMaximum,
  kGreater,
  kGreaterEqual,
  kLess,
  kLessEqual,
};

// A node of the tree: a number, a column, or a function of the nodes before it.
struct FormulaNode {
  enum class Kind { kNumber, kColumn, kFunction };
  Kind kind = Kind::kNumber;
  double number = 0;
  std::int32_t column = 0;   // among Formula::columns
  FormulaFunction function = FormulaFunction::kAdd;
  std::int32_t left = -1, right = -1;   // right: -1 for a function of one argument
};

inline constexpr std::size_t kMostFormulaText = 1000, kMostFormulaNodes = 100;
inline constexpr int kMostFormulaDepth = 24;

// A value. What is made of numbers alone is one number; at least one column is in it.
struct Formula {
  std::string text;
  std::vector<std::string> columns;   // those that it names, each once
  std::vector<FormulaNode> nodes;     // children before parents; the last one is the result

  // + - * / **, - before a value, < <= > >= (1 or 0), parentheses, numbers, names of columns (in `...` where they are
  // no words of letters, digits and _), and the functions of formula_functions(), min(a, b), max(a, b) and clip(a, low,
  // high). Precedence as in Python. Errors: kInvalidValue that says what is wrong, and at which character (counted from
  // 1).
  static Formula parsed(std::string_view text);
};

// Names of the functions of one argument.
std::vector<std::string> formula_functions();

// numpy's function, in double; power, comparisons and all others of two arguments by `applied(f, x, y)`.
double applied(FormulaFunction f, double x, double y = 0);

}   // namespace kedge::engine
