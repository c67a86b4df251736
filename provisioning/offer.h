// What a provider sells, and what the user wants.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kedge::provisioning {

// One thing that can be rented, in one market at one place.
struct Offer {
  std::string provider;
  std::string id;    // the provider's own name for it: instance type, GPU type, number of an ask
  std::string gpu;   // canonical_gpu(); empty: none
  int gpus = 0;
  int cpus = 0;                    // 0: not known
  double memory_gb = 0;            // 0: not known
  std::string region;              // region or zone
  bool spot = false;               // may be taken away by the provider
  double price_usd_per_hour = 0;   // of this market
  std::string price_source;        // "live", or which list of which date
  bool available = true;           // as far as the catalogue says
  std::string flaw;   // why the server could not use it, as far as the catalogue says; empty: nothing is known
};

enum class Market { kOnDemand, kSpotThenOnDemand, kSpot };

struct Wish {
  std::string gpu;                   // empty: any machine will do, the cheapest
  int gpus = 1;                      // at least so many, where a GPU is requested
  int nodes = 1;                     // machines in one place and one network: more than one is a gang
  bool cluster = false;              // the gang is one cluster: its first machine has a server with ranks on all
  std::optional<double> max_price;   // USD an hour, of one machine
  std::string region;                // a prefix of the offer's region
  std::string provider;              // empty: all that are configured
  Market market = Market::kOnDemand;
};

// The server's CUDA 13 needs a driver for it, and a GPU of compute capability 7.5 (Turing) or newer.
constexpr double kLeastCuda = 13.0;

// "RTX4090" for "NVIDIA GeForce RTX 4090", "rtx_4090", "RTX 4090 24GB": vendor, brand, memory and punctuation are left out.
std::string canonical_gpu(std::string_view name);

}   // namespace kedge::provisioning
