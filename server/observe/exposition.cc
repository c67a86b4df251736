// Writing Prometheus' text format.
#include "server/observe/exposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace kedge::server::observe {
namespace {

// "\\", "\"" and line feeds of a label's value, escaped.
std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

std::string braced(const Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ",", name, label_value(value));
  return out.empty() ? out : "{" + out + "}";
}

}   // namespace

void Histogram::add(double seconds) {
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  ++counts_[static_cast<std::size_t>(bound - kBounds.begin())];
  sum_ += seconds;
}

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void Exposition::line(std::string_view suffix, const Labels& labels, double value) {
  fmt::format_to(std::back_inserter(text_), "{}{}{} {}\n", name_, suffix, braced(labels), value);
}

void Exposition::sample(const Labels& labels, double value) {
  line("", labels, value);
}

void Exposition::histogram(const Labels& labels, const Histogram& histogram) {
  Labels bounded = labels;
  bounded.emplace_back("le", "");
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
    bounded.back().second = i < Histogram::kBounds.size() ? fmt::format("{}", Histogram::kBounds[i]) : "+Inf";
    line("_bucket", bounded, static_cast<double>(count += histogram.counts()[i]));
  }
  line("_sum", labels, histogram.sum());
  line("_count", labels, static_cast<double>(count));
}

}   // namespace kedge::server::observe
