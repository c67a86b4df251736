// Sets the parts up, and shows phases as they pass.
#include "client/cli/rental.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "provisioning/json.h"

namespace kedge::cli {
namespace {

namespace json = provisioning::json;
using provisioning::Phase;

void show_phase(const Phase& phase) {
  if (phase.seconds < 0) {
    if (isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\033[K{:<8} {} ...", phase.name, phase.note);
    return;
  }
  if (isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\033[K");
  fmt::print(stderr, "{:<8}{:>8.2f} s  {}\n", phase.name, phase.seconds, phase.note);
}

void print_phase(const Phase& phase) {
  if (phase.seconds < 0) return;
  fmt::print("{}\n", json::write(json::ValueMap{{"phase", phase.name}, {"seconds", phase.seconds}, {"note", phase.note}}));
  std::fflush(stdout);
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
      controller(store, providers, clock, provisioning::https_probe(curl), json ? print_phase : show_phase) {}

bool ask_to_keep(const provisioning::Intent& intent) {
  constexpr int kPatience_ms = 20'000;
  if (isatty(STDIN_FILENO) != 1 || intent.machine.empty()) return false;
  fmt::print(stderr, "\n{} is rented. Keep it (k) or end it (e, or nothing)? ", machine_line(intent));
  pollfd wait{STDIN_FILENO, POLLIN, 0};
  if (poll(&wait, 1, kPatience_ms) != 1) return false;
  char answer = 0;
  return read(STDIN_FILENO, &answer, 1) == 1 && (answer == 'k' || answer == 'K');
}

provisioning::UpOptions up_options(const Options& options) {
  const RentOptions& rent = options.rent;
  provisioning::UpOptions up;
  up.wish = {.gpu = rent.gpu, .gpus = rent.gpus, .max_price = rent.max_price, .region = rent.region, .provider = rent.provider};
  if (rent.spot) up.wish.market = provisioning::Market::kSpotThenOnDemand;
  if (rent.spot_only) up.wish.market = provisioning::Market::kSpot;
  up.lease.idle_s = static_cast<std::int64_t>(rent.idle_minutes * 60);
  up.lease.life_s = static_cast<std::int64_t>(rent.life_hours * 3600);
  up.max_spend = rent.max_spend;
  up.spend_cap = rent.spend_cap;
  up.image = rent.image;
  up.boot_limit = std::chrono::seconds(rent.boot_limit_s);
  up.keep_after_interrupt = ask_to_keep;
  return up;
}

std::string machine_line(const provisioning::Intent& intent) {
  const auto& offer = intent.offer;
  return fmt::format("{} {}{} {} at {:.3f} USD/h", offer.provider, offer.id, offer.gpu.empty() ? "" : " (" + offer.gpu + ")", offer.region,
                     offer.price_usd_per_hour);
}

std::string intent_json(const provisioning::Intent& intent, std::int64_t now) {
  const auto& offer = intent.offer;
  return json::write(json::ValueMap{{"id", intent.id},
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
                                    {"note", intent.note}});
}

}  // namespace kedge::cli
