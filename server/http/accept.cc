// Content negotiation.
#include "server/http/accept.h"

#include <cstdlib>
#include <string>

#include "server/http/message.h"

namespace kedge::server::http {
namespace {

using std::string_view;

string_view trimmed(string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

// Takes the text before the next `separator` off `rest`.
string_view take(string_view& rest, char separator) {
  const auto end = rest.find(separator);
  const string_view part = rest.substr(0, end);
  rest = end == string_view::npos ? string_view() : rest.substr(end + 1);
  return trimmed(part);
}

// 0: does not match; 1: */*, 2: type/*, 3: exact.
int specificity(string_view range, string_view type) {
  if (range == "*/*") return 1;
  if (range.ends_with("/*"))
    return same_name(range.substr(0, range.size() - 1), type.substr(0, range.size() - 1)) ? 2 : 0;
  return same_name(range, type) ? 3 : 0;
}

// Quality that `accept` gives to `type`: that of its most specific range.
double quality(string_view accept, string_view type) {
  int best = 0;
  double result = 0;
  while (!accept.empty()) {
    string_view element = take(accept, ',');
    const int match = specificity(take(element, ';'), type);
    if (match <= best) continue;
    best = match, result = 1;
    while (!element.empty()) {
      const string_view parameter = take(element, ';');
      if (parameter.starts_with("q="))
        result = std::strtod(std::string(parameter.substr(2)).c_str(), nullptr);
    }
  }
  return result;
}

}  // namespace

string_view choose_media_type(string_view accept, std::span<const string_view> offers) {
  if (trimmed(accept).empty()) return offers.front();
  string_view best;
  double best_quality = 0;
  for (string_view offer : offers) {
    const double q = quality(accept, offer);
    if (q > best_quality) best = offer, best_quality = q;
  }
  return best;
}

string_view choose_media_type(string_view accept, std::initializer_list<string_view> offers) {
  return choose_media_type(accept, std::span(offers.begin(), offers.size()));
}

bool is_media_type(string_view content_type, string_view media_type) {
  return same_name(take(content_type, ';'), media_type);
}

}  // namespace kedge::server::http
