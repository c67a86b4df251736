// The attempt to get one machine of an offer, as `up` makes it and, for each of its machines, a gang.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <span>
#include <string>

#include "provisioning/controller.h"
#include "provisioning/providers.h"

namespace kedge::provisioning {

inline constexpr int kMostAttempts = 12;
inline constexpr int kMostDeadMachines = 2;   // machines that came and never answered: a third would hardly do better

inline std::string describe(const Offer& offer) {
  return fmt::format("{} {} {} at {:.3f} USD/h", offer.provider, offer.id, offer.region, offer.price_usd_per_hour);
}

// One offer. Its intent is durable before the provider hears of it.
struct Controller::Trial {
  Controller& controller;
  Provider& provider;
  const UpOptions& options;
  UpResult& result;
  Intent& intent = result.intent;
  std::string failure;
  bool is_called = false;        // a launch was tried
  bool machine_failed = false;   // there was a machine, and it was no good
  std::optional<Failure> kind;   // of what the provider refused
  std::string private_address = {};
  std::span<Trial> agents = {};   // of the cluster whose head this is

  bool run();
  bool reserve(const Offer& offer);
  std::optional<Lease> affordable(const Offer& offer, int nodes);
  void write(const Offer& offer, const Lease& lease);
  void keep();
  void run_from_now();
  bool launch();
  bool rescue(const ProviderError& error);
  void clean_up_refused();
  bool adopt(const Machine& machine);
  bool boot(double deadline);
  bool start(double deadline);
  bool is_placed(const Machine& machine) const;
  bool accept(const Readiness& readiness);
  bool has_ended();
  bool has_ended_or_lost_an_agent();
  void give_up(const std::string& why);
  template <class Step>
  bool phase(const char* name, const std::string& note, Step step);
};

template <class Step>
bool Controller::Trial::phase(const char* name, const std::string& note, Step step) {
  controller.say({name, -1, note});
  const double begin = controller.clock_.steady_seconds();
  const bool done = step();
  result.phases.push_back({name, controller.clock_.steady_seconds() - begin, done ? note : failure});
  controller.say(result.phases.back());
  return done;
}

}   // namespace kedge::provisioning
