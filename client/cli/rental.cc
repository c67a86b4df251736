// Sets the parts up, and shows phases as they pass.
#include "client/cli/rental.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>

#include "client/cli/phase_display.h"
#include "client/host/key.h"
#include "provisioning/json.h"

namespace kedge::cli {
namespace {

namespace json = provisioning::json;
using provisioning::Phase;

void print_phase(const Phase& phase) {
  if (phase.seconds < 0) return;
  fmt::print("{}\n", json::write(json::ValueMap{{"phase", phase.name}, {"seconds", phase.seconds}, {"note", phase.note}}));
  std::fflush(stdout);
}

// Read here and not by the parser, which would let the variable of one subcommand overrule the option of another.
std::optional<double> spend_cap_of_environment() {
  const auto text = provisioning::environment_variable("KEDGE_SPEND_CAP");
  if (!text) return std::nullopt;
  char* end = nullptr;
  const double cap = std::strtod(text->c_str(), &end);
  if (*end != 0 || !(cap >= 0))
    throw schema::Error(schema::ErrorCode::kInvalidValue, fmt::format("KEDGE_SPEND_CAP is '{}', must be a number of USD, at least 0", *text));
  return cap;
}

provisioning::Surroundings surroundings(Rental& rental) {
  return {.variable = provisioning::environment_variable,
          .http = rental.http,
          .clock = rental.clock,
          .state_directory = rental.store.directory(),
          .programs = std::filesystem::read_symlink("/proc/self/exe").parent_path()};
}

}  // namespace

Rental::Rental(Reach reach, const std::string& provider, bool json)
    : providers(reach == Reach::kRent ? make_providers(surroundings(*this), provider) : make_every_provider(surroundings(*this))),
      controller(store, providers, clock, provisioning::https_probe(curl),
                 json ? std::function(print_phase) : [display = std::make_shared<PhaseDisplay>()](const Phase& phase) { display->show(phase); }) {}

bool ask_to_keep(const provisioning::Intent& intent) {
  constexpr int kPatience_ms = 20'000;
  if (isatty(STDIN_FILENO) != 1 || intent.machine.empty()) return false;
  fmt::print(stderr, "\n{} is rented. Keep it (k) or end it (e, or nothing)? ", machine_line(intent));
  pollfd wait{STDIN_FILENO, POLLIN, 0};
  if (poll(&wait, 1, kPatience_ms) != 1) return false;
  char answer = 0;
  return read(STDIN_FILENO, &answer, 1) == 1 && (answer == 'k' || answer == 'K');
}

void check_image(const provisioning::UpOptions& up) {
  const auto rows = provisioning::provider_rows();
  const bool cloud = std::ranges::any_of(rows, [&](const auto& row) { return row.by_default && (up.wish.provider.empty() || up.wish.provider == row.name); });
  if (cloud && up.image.empty())
    throw schema::Error(schema::ErrorCode::kInvalidValue,
                        "clouds pull the server's image from a registry: build it (docker/README.md), push it, and name it with --image or KEDGE_IMAGE",
                        "image");
}

namespace {

// "H100:8" is eight of them.
void read_gpus(provisioning::Wish& wish) {
  constexpr int kMost = 64;
  const std::size_t colon = wish.gpu.find(':');
  if (colon == std::string::npos) return;
  const std::string number = wish.gpu.substr(colon + 1);
  const bool is_number =
      !number.empty() && number.size() <= 2 && number.find_first_not_of("0123456789") == std::string::npos;
  const int gpus = is_number ? std::atoi(number.c_str()) : 0;
  if (gpus < 1 || gpus > kMost)
    throw schema::Error(schema::ErrorCode::kInvalidValue,
                        fmt::format("gpu is '{}': the number after ':' must be 1 to {}", wish.gpu, kMost), "gpu");
  wish.gpu.resize(colon);
  wish.gpus = gpus;
}

}   // namespace

provisioning::UpOptions up_options(const Options& options) {
  const RentOptions& rent = options.rent;
  provisioning::UpOptions up;
  up.wish = {.gpu = rent.gpu,
             .gpus = rent.gpus,
             .nodes = rent.nodes,
             .cluster = rent.cluster,
             .max_price = rent.max_price,
             .region = rent.region,
             .provider = rent.provider};
  read_gpus(up.wish);
  provisioning::check_gang(up.wish);
  if (rent.spot) up.wish.market = provisioning::Market::kSpotThenOnDemand;
  if (rent.spot_only) up.wish.market = provisioning::Market::kSpot;
  up.lease.idle_s = std::llround(rent.idle_s);
  up.lease.life_s = std::llround(rent.life_s);
  up.max_spend = rent.max_spend;
  up.spend_cap = rent.spend_cap ? rent.spend_cap : spend_cap_of_environment();
  up.image = !rent.image.empty() ? rent.image : provisioning::environment_variable("KEDGE_IMAGE").value_or("");
  up.boot_limit = std::chrono::seconds(std::llround(std::ceil(rent.boot_limit_s)));
  up.keep_after_interrupt = ask_to_keep;
  up.new_host_key = [] { return host::host_key_text(host::make_host_key()); };
  return up;
}

std::string machine_line(const provisioning::Intent& intent) {
  const auto& offer = intent.offer;
  return fmt::format("{} {}{} {} at {:.3f} USD/h", offer.provider, offer.id, offer.gpu.empty() ? "" : " (" + offer.gpu + ")", offer.region,
                     offer.price_usd_per_hour);
}

std::string cost_json(const provisioning::Intent& intent, std::int64_t now) {
  return json::write(json::ValueMap{{"machine", intent.id},
                                    {"provider", intent.offer.provider},
                                    {"offer", intent.offer.id},
                                    {"costUsd", cost_so_far(intent, now)}});
}

std::string intent_json(const provisioning::Intent& intent, std::int64_t now, const std::string& fuse) {
  const auto& offer = intent.offer;
  json::ValueMap value{{"id", intent.id},
                                    {"provider", offer.provider},
                                    {"offer", offer.id},
                                    {"gpu", offer.gpu},
                                    {"region", offer.region},
                                    {"spot", offer.spot},
                                    {"priceUsdPerHour", offer.price_usd_per_hour},
                                    {"priceSource", offer.price_source},
                                    {"stage", std::string(stage_name(intent.stage))},
                                    {"url", intent.url()},
                                    {"pin", intent.identity.pin},
                                    {"created", intent.created},
                                    {"endsAtLatest", intent.created + intent.lease.life_s},
                                    {"idleSeconds", intent.lease.idle_s},
                                    {"costUsd", cost_so_far(intent, now)},
                                    {"costAtMostUsd", cost_at_most(intent)},
                                    {"note", intent.note}};
  if (!fuse.empty()) value.emplace_back("fuse", fuse);
  if (!intent.gang.empty()) {
    value.emplace_back("gang", intent.gang);
    value.emplace_back("nodes", intent.nodes);
    if (intent.is_clustered()) value.emplace_back("cluster", intent.is_agent() ? "agent" : "head");
  }
  return json::write(value);
}

}  // namespace kedge::cli
