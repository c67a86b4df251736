// The child: runs the items of one section and says what they found.
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "gpu_check/message.h"
#include "gpu_check/supervisor.h"
#include "schemas/error.h"

namespace kedge::gpu_check {
namespace {

void say(const Message& message) {
  fmt::print("{}\n", line_of(message));
  std::fflush(stdout);   // it may crash at the next step
}

schema::DeviceEntry entry_of(std::string id, const engine::DeviceInfo& info) {
  return {.id = std::move(id),
          .name = info.name,
          .driver = info.driver,
          .threads = info.threads,
          .memoryBytes = info.memory_bytes};
}

std::string id_of(const engine::DeviceInfo& info) {
  return info.kind == engine::DeviceKind::kCpu ? "cpu" : "cuda:" + std::to_string(info.index);
}

struct Outcome {
  Finding finding;
  bool has_broken_the_device = false;   // after an illegal access nothing works in this process any more
};

Outcome outcome_of(const Item& item) {
  try {
    return {item.run()};
  } catch (const schema::Error& error) {
    return {{.disagreements = {error.message}}, error.code == schema::ErrorCode::kInternal};
  } catch (const std::exception& error) {
    return {{.disagreements = {error.what()}}};
  }
}

std::unique_ptr<Bench> opened(const Plan& plan) {
  try {
    return std::make_unique<Bench>(plan.device);
  } catch (const schema::Error& error) {
    say(Unavailable{error.message});
    return nullptr;
  }
}

}   // namespace

int run_items(const Section& section, const Plan& plan, std::int64_t skip) {
  const auto begin = std::chrono::steady_clock::now();
  const std::unique_ptr<Bench> bench = opened(plan);
  if (!bench) return EXIT_FAILURE;
  std::vector<Item> items = section.items(*bench);
  std::erase_if(items, [&plan](const Item& item) { return item.name.find(plan.items) == std::string::npos; });
  const engine::DeviceInfo &device = bench->device().info(), &cpu = bench->cpu().info();
  say(Opened{entry_of(id_of(device), device), entry_of("cpu", cpu), static_cast<std::int64_t>(items.size())});
  for (std::size_t i = static_cast<std::size_t>(skip); i < items.size(); ++i) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > plan.seconds) break;
    say(Begun{items[i].name});
    const Outcome outcome = outcome_of(items[i]);
    say(Checked{items[i].name, outcome.finding});
    if (outcome.has_broken_the_device) return kGoOnInAnother;
  }
  return EXIT_SUCCESS;
}

}   // namespace kedge::gpu_check
