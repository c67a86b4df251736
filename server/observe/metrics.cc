// Counting, and the exposition format: https://prometheus.io/docs/instrumenting/exposition_formats/
#include "server/observe/metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>

namespace kedge::server::observe {
namespace {

template <class... Args>
void add(std::string& out, fmt::format_string<Args...> text, Args&&... args) {
  fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
}

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  add(out, "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

// The process's own figures, named as Prometheus' client libraries name them.
void append_process(std::string& out) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  head(out, "process_cpu_seconds_total", "counter", "User and system time.");
  add(out, "process_cpu_seconds_total {:.3f}\n", seconds(usage.ru_utime) + seconds(usage.ru_stime));
  long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  head(out, "process_resident_memory_bytes", "gauge", "Resident memory.");
  add(out, "process_resident_memory_bytes {}\n", pages * ::sysconf(_SC_PAGESIZE));
  std::error_code none;
  const auto open = std::distance(std::filesystem::directory_iterator("/proc/self/fd", none), std::filesystem::directory_iterator());
  head(out, "process_open_fds", "gauge", "Open file descriptors.");
  add(out, "process_open_fds {}\n", open);
}

}  // namespace

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

void Histogram::add(double seconds) {
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  ++counts_[static_cast<std::size_t>(bound - kBounds.begin())];
  sum_ += seconds;
}

void Histogram::append(std::string& out, std::string_view name, const std::string& labels) const {
  const std::string comma = labels.empty() ? "" : ",", braced = labels.empty() ? "" : "{" + labels + "}";
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < kBounds.size(); ++i)
    observe::add(out, "{}_bucket{{{}{}le=\"{}\"}} {}\n", name, labels, comma, kBounds[i], count += counts_[i]);
  count += counts_.back();
  observe::add(out, "{}_bucket{{{}{}le=\"+Inf\"}} {}\n{}_sum{} {}\n{}_count{} {}\n", name, labels, comma, count, name, braced, sum_, name, braced, count);
}

void Metrics::request(const http::RequestRecord& record) {
  const std::string route(record.route.empty() ? "none" : record.route);
  const std::string method(record.method.empty() ? "none" : record.method);
  const std::lock_guard lock(mutex_);
  ++requests_[{route, method, record.status}];
  durations_[route].add(std::chrono::duration<double>(record.took).count());
  if (record.route == "/v1/jobs" && record.method == "POST" && record.status < 300) ++submitted_;
}

void Metrics::job_ended(std::string_view outcome, std::string_view reason, double queued_seconds, double total_seconds) {
  const std::lock_guard lock(mutex_);
  ++ended_[{std::string(outcome), std::string(reason)}];
  queued_.add(queued_seconds);
  total_.add(total_seconds);
}

void Metrics::gauge(std::string name, std::string help, std::function<double()> value) {
  const std::lock_guard lock(mutex_);
  gauges_.push_back({std::move(name), std::move(help), std::move(value)});
}

void Metrics::set_build(std::string version) {
  const std::lock_guard lock(mutex_);
  version_ = std::move(version);
}

std::string Metrics::text() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  head(out, "kedge_build_info", "gauge", "Version of the server; always 1.");
  add(out, "kedge_build_info{{version=\"{}\"}} 1\n", label_value(version_));
  head(out, "kedge_http_requests_total", "counter", "Requests that were answered, by route, method and status.");
  for (const auto& [key, count] : requests_)
    add(out, "kedge_http_requests_total{{route=\"{}\",method=\"{}\",code=\"{}\"}} {}\n", label_value(std::get<0>(key)),
        label_value(std::get<1>(key)), std::get<2>(key), count);
  head(out, "kedge_http_request_duration_seconds", "histogram", "From the header block to the last byte of the answer.");
  for (const auto& [route, histogram] : durations_)
    histogram.append(out, "kedge_http_request_duration_seconds", fmt::format("route=\"{}\"", label_value(route)));
  head(out, "kedge_jobs_submitted_total", "counter", "Jobs that were accepted.");
  add(out, "kedge_jobs_submitted_total {}\n", submitted_);
  head(out, "kedge_jobs_finished_total", "counter", "Jobs that have ended, by outcome and reason.");
  for (const auto& [key, count] : ended_)
    add(out, "kedge_jobs_finished_total{{outcome=\"{}\",reason=\"{}\"}} {}\n", label_value(key.first), label_value(key.second), count);
  head(out, "kedge_job_queue_seconds", "histogram", "Time that jobs waited for data and a device.");
  queued_.append(out, "kedge_job_queue_seconds", "");
  head(out, "kedge_job_duration_seconds", "histogram", "Time from submission to the end of a job.");
  total_.append(out, "kedge_job_duration_seconds", "");
  for (const Gauge& gauge : gauges_) {
    head(out, gauge.name, "gauge", gauge.help);
    add(out, "{} {}\n", gauge.name, gauge.value());
  }
  append_process(out);
  return out;
}

}  // namespace kedge::server::observe
