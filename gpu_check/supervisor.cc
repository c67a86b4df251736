// The parent: one section after another, what their processes say, and what it means when they do not come to their
// end.
#include "gpu_check/supervisor.h"

#include <fmt/core.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <sstream>

#include "engine/version.h"
#include "gpu_check/clock.h"
#include "gpu_check/message.h"
#include "gpu_check/process.h"

namespace kedge::gpu_check {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kGraceSeconds = 5;   // for the item in which the time ends, and for the process to end
constexpr double kLeastSeconds = 1;   // with less a section is not begun
constexpr double kHangSeconds = 20;
constexpr int kMostProcesses = 12;   // of a section: one more after each that broke off
constexpr std::size_t kMostLargest = 5;
constexpr std::size_t kMostToolLines = 20;
constexpr int kToolFound = 86;   // the exit code that compute-sanitizer is asked for

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string own_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

// compute-sanitizer on the PATH, or where the CUDA toolkit is usually; empty if it is in neither.
std::string sanitizer_program() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(std::string(path ? path : "") + ":/usr/local/cuda/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string program = folder + "/compute-sanitizer";
    std::error_code ignored;
    if (!folder.empty() && std::filesystem::is_regular_file(program, ignored)) return program;
  }
  return {};
}

// One section in one or more processes.
class SectionRun {
 public:
  SectionRun(const Section& section, const Plan& plan, double seconds, Report& report)
      : section_(section),
        plan_(plan),
        seconds_(seconds),
        report_(report),
        result_{.name = section.name, .what = section.what} {}

  SectionReport run() {
    const std::string tool = section_.tool ? sanitizer_program() : "";
    if (section_.tool && tool.empty()) return left_out("compute-sanitizer is not on the PATH");
    for (int process = 0; process < kMostProcesses && is_worth_more(); ++process)
      if (!run_process_once(tool)) break;
    if (result_.left_out() > 0 && result_.why_not.empty())
      result_.why_not = time_left() < kLeastSeconds ? "for lack of time" : "too many of its processes broke off";
    result_.seconds = seconds_since(begin_);
    return std::move(result_);
  }

 private:
  double time_left() const { return seconds_ - seconds_since(begin_); }
  std::int64_t n_done() const { return result_.agreed + static_cast<std::int64_t>(result_.disagreements.size()); }
  bool is_worth_more() const { return time_left() >= kLeastSeconds && report_.unavailable.empty(); }

  SectionReport left_out(std::string why) {
    result_.why_not = std::move(why);
    return std::move(result_);
  }

  std::vector<std::string> command(const std::string& tool) const {
    std::vector<std::string> words;
    if (!tool.empty())
      words = {
          tool, "--tool", section_.tool, "--target-processes", "all", "--error-exitcode", std::to_string(kToolFound)};
    for (const std::string& word :
         {own_program(), std::string("--section"), std::string(section_.name), std::string("--device"), plan_.device,
          std::string("--skip"), std::to_string(n_done()), std::string("--seconds"),
          fmt::format("{:.3f}", time_left())})
      words.push_back(word);
    if (!plan_.items.empty()) words.push_back("--items=" + plan_.items);   // "--items=" alone would take the next word
    return words;
  }

  // False: it came to its end, and there is nothing to go on with.
  bool run_process_once(const std::string& tool) {
    begun_.clear();
    said_by_tool_.clear();
    const Patience patience{time_left() + kGraceSeconds, plan_.item_seconds};
    const Ended ended = run_process(command(tool), patience, [this](std::string_view line) { take(line); });
    if (!report_.unavailable.empty()) return false;
    // What it was at when the time ended is left out, unless it had so long that it would not have come to its end.
    if (ended.how == Ended::How::kLate && (begun_.empty() || seconds_since(begun_at_) < kHangSeconds)) return false;
    const bool is_well = ended.how == Ended::How::kItself && ended.status == 0;
    if (is_well) return false;
    if (ended.how == Ended::How::kItself && WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == kGoOnInAnother)
      return true;
    const std::string item = begun_.empty() ? "its process" : begun_;
    const bool found = !tool.empty() && ended.how == Ended::How::kItself && begun_.empty();
    std::vector<std::string> what{found ? fmt::format("compute-sanitizer: {}", words_of(ended, patience))
                                        : words_of(ended, patience)};
    std::ranges::copy(said_by_tool_, std::back_inserter(what));
    disagree(item, std::move(what));
    return !begun_.empty();
  }

  // Of what is no item of the section, the number of items grows.
  void disagree(const std::string& item, std::vector<std::string> what) {
    if (begun_.empty()) ++result_.items;
    result_.disagreements.push_back({item, std::move(what)});
  }

  void take(std::string_view line) {
    const std::optional<Message> message = message_of(line);
    if (message) std::visit([this](const auto& m) { take(m); }, *message);
    else if (line.starts_with("=====") && said_by_tool_.size() < kMostToolLines) said_by_tool_.emplace_back(line);
  }
  void take(const Opened& opened) {
    report_.device = opened.device, report_.cpu = opened.cpu;
    result_.items = opened.items;
  }
  // The first time there is no device; later one that was there has gone.
  void take(const Unavailable& unavailable) { report_.unavailable = unavailable.why; }
  void take(const Begun& begun) {
    begun_ = begun.item;
    begun_at_ = Clock::now();
  }
  void take(const Checked& checked) {
    begun_.clear();
    const Finding& finding = checked.finding;
    if (finding.disagreements.empty()) ++result_.agreed;
    else result_.disagreements.push_back({checked.item, finding.disagreements});
    std::ranges::copy(finding.measures, std::back_inserter(result_.measures));
    for (std::size_t i = 0; i < finding.measures.size(); ++i) {
      Measure& measure = result_.measures[result_.measures.size() - finding.measures.size() + i];
      measure.name = checked.item + ": " + measure.name;
    }
    if (finding.deviation && finding.bound && *finding.deviation > 0)
      keep({checked.item, *finding.deviation, *finding.bound});
  }
  void keep(const Deviation& deviation) {
    const auto share = [](const Deviation& d) { return -d.deviation / d.bound; };
    auto& largest = result_.largest;
    largest.insert(std::ranges::upper_bound(largest, share(deviation), {}, share), deviation);
    if (largest.size() > kMostLargest) largest.pop_back();
  }

  const Section& section_;
  const Plan& plan_;
  const double seconds_;
  Report& report_;
  SectionReport result_;
  std::string begun_;   // the item that is being run
  Clock::time_point begun_at_;
  std::vector<std::string> said_by_tool_;
  const Clock::time_point begin_ = Clock::now();
};

bool is_chosen(const Plan& plan, const Section& section) {
  return plan.only.empty() || std::ranges::find(plan.only, section.name) != plan.only.end();
}

// A device that was there and has gone is a difference, not a machine without one.
void note_a_lost_device(Report& report, SectionReport& section) {
  if (report.unavailable.empty() || report.device.name.empty()) return;
  ++section.items;
  section.disagreements.push_back({"the device can be opened again", {report.unavailable}});
  section.why_not = "the device has gone";
  report.unavailable.clear();
}

}   // namespace

Report run_sections(const Plan& plan) {
  const auto begin = Clock::now();
  Report report{.version = kVersion, .date = utc_now()};
  bool has_gone = false;
  for (const Section& section : sections()) {
    if (!is_chosen(plan, section)) continue;
    const double most =
        plan.only.empty() ? section.most_seconds : plan.seconds;   // sections that are asked for share all of it
    const double seconds = std::min(most, plan.seconds - seconds_since(begin));
    SectionReport result{
        .name = section.name, .what = section.what, .why_not = has_gone ? "the device has gone" : "for lack of time"};
    if (!has_gone && seconds >= kLeastSeconds) result = SectionRun(section, plan, seconds, report).run();
    has_gone = has_gone || (!report.unavailable.empty() && !report.device.name.empty());
    note_a_lost_device(report, result);
    if (!report.unavailable.empty()) break;
    if (plan.tells)
      fmt::print(stderr, "{:<12}{}{}: {} agree, {} differ, {} left out, {:.1f} s\n", result.name, result.state(),
                 result.why_not.empty() ? "" : ", " + result.why_not, result.agreed, result.disagreements.size(),
                 result.left_out(), result.seconds);
    report.sections.push_back(std::move(result));
  }
  report.seconds = seconds_since(begin);
  return report;
}

}   // namespace kedge::gpu_check
