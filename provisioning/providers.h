// The list of providers, and what each needs to be made.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "provisioning/clock.h"
#include "provisioning/http/client.h"
#include "provisioning/provider.h"

namespace kedge::provisioning {

// What providers are made from. References outlive them.
struct Surroundings {
  std::function<std::optional<std::string>(const std::string& name)> variable;  // of the environment; empty text counts as unset
  http::Client& http;
  Clock& clock;
  std::filesystem::path state_directory;  // for what local machines keep
  std::filesystem::path programs;         // folder of kedged and kedge-worker
};

using ProviderFactory = std::unique_ptr<Provider>(const Surroundings& here);   // null: not set up

struct ProviderRow {
  const char* name;
  const char* what;                                             // one line for people
  const char* needs;                                            // variables and files that set it up
  bool by_default;                                              // offered even if the user does not name it
  ProviderFactory* make;
  // Why several of its machines are no gang: machines of one gang reach each other at private addresses. Empty: they
  // do.
  const char* no_gang = "";
  // Why a gang of its machines is no cluster, whose ranks reach each other at any port and no stranger reaches them.
  const char* no_cluster = "";
};

std::span<const ProviderRow> provider_rows();

// ProviderRow::no_gang; empty for a provider without a row.
std::string_view why_no_gang(std::string_view provider);
// The same for a cluster: ProviderRow::no_gang or no_cluster.
std::string_view why_no_cluster(std::string_view provider);
// schema::Error when a gang or a cluster is wished of a provider, named by the user, that rents none, and for a cluster
// of one machine.
void check_gang(const Wish& wish);

// Those that are set up; `only` (empty: all by_default) by name. schema::Error when `only` does not exist or is not set up,
// saying where was looked.
std::vector<std::unique_ptr<Provider>> make_providers(const Surroundings& here, const std::string& only = {});

// Every one that is set up, wanted or not: to look after what was rented.
std::vector<std::unique_ptr<Provider>> make_every_provider(const Surroundings& here);

std::optional<std::string> environment_variable(const std::string& name);

}  // namespace kedge::provisioning
