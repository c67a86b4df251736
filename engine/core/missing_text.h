// The texts that stand for a missing cell unless a job says otherwise.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace kedge::engine {

// Without the blanks around it, by which cells of CSV differ that mean the same number, date or missing value.
inline std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// pandas' list (read_csv, na_values), and "?" as OpenML writes it.
inline bool is_missing_text(std::string_view text) {
  text = without_blanks(text);
  static constexpr std::array<std::string_view, 20> kTexts = {
      "",        "?",        "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
      "1.#QNAN", "<NA>",     "N/A",  "NA",       "NULL", "NaN",    "None",     "n/a",  "nan",  "null"};
  return text.size() <= 8 && std::ranges::find(kTexts, text) != kTexts.end();
}

}  // namespace kedge::engine
