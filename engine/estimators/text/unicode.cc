// Reads characters and asks utf8proc for their properties.
#include "engine/estimators/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <vector>

namespace kedge::engine::text {
namespace {

constexpr CodePoint kReplacement = 0xFFFD, kCapitalSigma = 0x3A3, kSigma = 0x3C3, kFinalSigma = 0x3C2;
constexpr CodePoint kCapitalDottedI = 0x130, kDotAbove = 0x307;

bool has_case(CodePoint c) {
  const utf8proc_category_t category = utf8proc_category(c);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT ||
         utf8proc_tolower(c) != c || utf8proc_toupper(c) != c;
}

// Unicode's Case_Ignorable.
bool is_ignored_by_case(CodePoint c) {
  static constexpr CodePoint kMarks[] = {'\'',   '.',    ':',    0xB7,   0x387,  0x55F,  0x5F4,  0x2018, 0x2019,
                                         0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
  if (std::find(std::begin(kMarks), std::end(kMarks), c) != std::end(kMarks)) return true;
  switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return false;
  }
}

std::vector<CodePoint> code_points(std::string_view text) {
  std::vector<CodePoint> all;
  all.reserve(text.size());
  for (const char *p = text.data(), *const end = p + text.size(); p != end;) all.push_back(next_code_point(p, end));
  return all;
}

// As CPython's handle_capital_sigma().
bool is_final_sigma(const std::vector<CodePoint>& text, std::size_t at) {
  std::size_t before = at;
  while (before > 0 && is_ignored_by_case(text[before - 1])) --before;
  if (before == 0 || !has_case(text[before - 1])) return false;
  std::size_t after = at + 1;
  while (after < text.size() && is_ignored_by_case(text[after])) ++after;
  return after == text.size() || !has_case(text[after]);
}

// Calls keep(c) for each character of the compatibility decomposition.
template <class Keep>
void decomposed(std::string_view text, const Keep& keep) {
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  std::string valid;
  for (const CodePoint c : code_points(text)) append(valid, c);
  const auto* const bytes = reinterpret_cast<const utf8proc_uint8_t*>(valid.data());
  const auto size = static_cast<utf8proc_ssize_t>(valid.size());
  const utf8proc_ssize_t needed = utf8proc_decompose(bytes, size, nullptr, 0, options);
  if (needed < 0) throw std::bad_alloc();   // its only failure for valid text
  std::vector<utf8proc_int32_t> made(static_cast<std::size_t>(needed) + 1);
  utf8proc_decompose(bytes, size, made.data(), needed, options);
  for (utf8proc_ssize_t i = 0; i < needed; ++i) keep(made[static_cast<std::size_t>(i)]);
}

}   // namespace

CodePoint next_code_point(const char*& p, const char* end) {
  const auto byte = static_cast<unsigned char>(*p++);
  if (byte < 0x80) return byte;
  const int more = byte >= 0xF0 && byte <= 0xF4   ? 3
                   : byte >= 0xE0 && byte <= 0xEF ? 2
                   : byte >= 0xC2 && byte <= 0xDF ? 1
                                                  : 0;
  if (more == 0 || end - p < more) return kReplacement;
  CodePoint c = byte & (0x3F >> more);
  for (int i = 0; i < more; ++i) {
    const auto next = static_cast<unsigned char>(p[i]);
    if ((next & 0xC0) != 0x80) return kReplacement;
    c = c << 6 | (next & 0x3F);
  }
  static constexpr CodePoint kLeast[] = {0, 0x80, 0x800, 0x10000};
  if (c < kLeast[more] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return kReplacement;
  p += more;
  return c;
}

void append(std::string& out, CodePoint c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      out += static_cast<char>(0xE0 | c >> 12);
    } else {
      out += static_cast<char>(0xF0 | c >> 18);
      out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    }
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
  }
  out += static_cast<char>(0x80 | (c & 0x3F));
}

bool is_utf8(std::string_view text) {
  for (const char *p = text.data(), *const end = p + text.size(); p != end;) {
    const char* const first = p;
    if (next_code_point(p, end) == kReplacement && p == first + 1) return false;
  }
  return true;
}

bool is_ascii(std::string_view text) {
  const char *p = text.data(), *const end = p + text.size();
  for (; end - p >= 8; p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    if (word & 0x8080808080808080) return false;
  }
  return std::all_of(p, end, [](char c) { return static_cast<signed char>(c) >= 0; });
}

bool is_word(CodePoint c) {
  switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return true;
    default:
      return c == '_';
  }
}

bool is_space(CodePoint c) {
  return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

void lower(std::string_view text, std::string& out) {
  out.clear();
  std::vector<CodePoint> context;   // of a sigma, which needs its neighbours
  std::size_t at = 0;
  for (const char *p = text.data(), *const end = p + text.size(); p != end; ++at) {
    const CodePoint c = next_code_point(p, end);
    if (c == kCapitalSigma) {
      if (context.empty()) context = code_points(text);
      append(out, is_final_sigma(context, at) ? kFinalSigma : kSigma);
    } else if (c == kCapitalDottedI) {
      out += 'i';
      append(out, kDotAbove);
    } else {
      append(out, utf8proc_tolower(c));
    }
  }
}

void strip_accents(std::string_view text, std::string& out) {
  if (is_ascii(text)) {
    out.assign(text);
    return;
  }
  out.clear();
  decomposed(text, [&](CodePoint c) {
    if (utf8proc_get_property(c)->combining_class == 0) append(out, c);
  });
}

void strip_to_ascii(std::string_view text, std::string& out) {
  out.clear();
  decomposed(text, [&](CodePoint c) {
    if (c < 0x80) out += static_cast<char>(c);
  });
}

}   // namespace kedge::engine::text
