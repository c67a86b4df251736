// The interface of a provider of machines. Everything that makes renting reliable is in controller.h, above it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "provisioning/errors.h"
#include "provisioning/intent.h"
#include "provisioning/machine.h"
#include "provisioning/offer.h"

namespace kedge::provisioning {

// fuse() where nothing but the controller gives a machine back.
constexpr std::string_view kNoFuse = "none: a machine that is powered off is still paid for, so only `kedge machines gc` ends it";

// All calls may block for some seconds and throw ProviderError. Not thread safe.
class Provider {
 public:
  virtual ~Provider() = default;
  virtual std::string_view name() const = 0;

  // The catalogue, with prices. May leave out what cannot fit the wish (an expensive search), never what fits.
  virtual std::vector<Offer> offers(const Wish& wish) = 0;
  // Rents one machine named intent.id, which starts the server by itself (bootstrap.h). An error with maybe_done set
  // means that it may be there: list_owned() shows it, sooner or later.
  virtual Machine launch(const Intent& intent) = 0;
  // The same launch again gives the same machine, because the provider knows the intent's id as a token.
  virtual bool launch_repeatable() const { return false; }
  // By intent.machine, nullopt: the provider does not know it or says that it is gone for good.
  virtual std::optional<Machine> describe(const Intent& intent) = 0;
  // After this long without a trace of it, a launch counts as never having happened: how far lists may lag behind.
  virtual std::chrono::seconds settle() const { return std::chrono::seconds(120); }
  // Requests its end; not an error when it is gone. describe() says whether it has ended.
  virtual void terminate(const Intent& intent) = 0;
  // Every machine of this owner that is not gone, by name or tag ("kedge-<owner>-"); what is stopped but paid for included.
  virtual std::vector<Machine> list_owned(const std::string& owner) = 0;
  // Removes what was made with the machine: volumes, addresses, scripts. After the machine is gone; repeatable.
  virtual void cleanup(const Intent&) {}
  // What the machine printed while it started, for people; empty: the provider does not give it.
  virtual std::string log(const Intent&) { return {}; }
  // How a machine of this provider ends when it cannot be reached, in words.
  virtual std::string_view fuse() const = 0;
};

// The last 2,000 characters, for log().
std::string end_of_log(std::string text);

}   // namespace kedge::provisioning
