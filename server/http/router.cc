// Matching paths against templates.
#include "server/http/router.h"

#include <algorithm>
#include <utility>

#include "server/http/url.h"

namespace kedge::server::http {
namespace {

// Takes "/segment" off the front of `path` and returns the segment.
std::string_view take_segment(std::string_view& path) {
  path.remove_prefix(1);
  const auto end = path.find('/');
  const std::string_view segment = path.substr(0, end);
  path = end == std::string_view::npos ? std::string_view() : path.substr(end);
  return segment;
}

// Appends raw captures as (name, segment); their order is that of the template.
bool matches(std::string_view pattern, std::string_view path,
             std::vector<std::pair<std::string_view, std::string_view>>& captures) {
  captures.clear();
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = take_segment(pattern);
    const std::string_view given = take_segment(path);
    if (wanted.starts_with('{')) {
      if (given.empty()) return false;
      captures.emplace_back(wanted.substr(1, wanted.size() - 2), given);
    } else if (wanted != given) {
      return false;
    }
  }
  return pattern.empty() && path.empty();
}

}  // namespace

Router::Router(std::vector<Route> routes) : routes_(std::move(routes)) {}

Match Router::find(std::string_view method, std::string_view path) const {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  Match match;
  std::vector<std::pair<std::string_view, std::string_view>> captures;
  const bool is_spelled_out = std::ranges::any_of(routes_, [&](const Route& route) { return route.path == path && path.find('{') == std::string_view::npos; });
  for (const Route& route : routes_) {
    if (is_spelled_out ? route.path != path : !matches(route.path, path, captures))
      continue;   // a name in braces matches the others
    if (route.method == wanted) {
      match.route = &route;
      for (const auto& [name, segment] : captures)
        match.captures.emplace_back(std::string(name), percent_decode(segment, false));
      return match;
    }
    match.allow += std::string(route.method) + (route.method == "GET" ? ", HEAD, " : ", ");
  }
  if (!match.allow.empty()) match.allow += "OPTIONS";
  return match;
}

}  // namespace kedge::server::http
