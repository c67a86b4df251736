// Filters and ranks offers.
#include "provisioning/select.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>

#include "provisioning/providers.h"
#include "schemas/error.h"

namespace kedge::provisioning {
namespace {

// Of NVIDIA's architectures before Turing: rented, it would leave the work to the CPU.
bool too_old(std::string_view gpu) {
  constexpr std::string_view kOld[] = {"V100",  "TITANV", "TITANX", "P100", "P40", "P4",
                                       "P4000", "P5000",  "P6000",  "K80",  "M40", "M60"};
  if (gpu.starts_with("V100") || gpu.starts_with("P100") || gpu.starts_with("GTX9") || gpu.starts_with("GTX10") ||
      gpu.starts_with("QUADROP"))
    return true;
  return std::ranges::find(kOld, gpu) != std::end(kOld);
}

// Why not, or empty.
std::string objection(const Wish& wish, const std::string& gpu, const Offer& offer) {
  if (!wish.provider.empty() && offer.provider != wish.provider) return fmt::format("provider is not {}", wish.provider);
  if (!gpu.empty() && offer.gpu != gpu) return fmt::format("GPU is {}, not {}", offer.gpu.empty() ? "none" : offer.gpu, gpu);
  if (!gpu.empty() && offer.gpus < wish.gpus) return fmt::format("has {} GPUs, {} are wanted", offer.gpus, wish.gpus);
  if (!offer.region.starts_with(wish.region)) return fmt::format("region is {}, not {}", offer.region, wish.region);
  if (wish.market == Market::kOnDemand && offer.spot) return "spot, which is not wanted (--spot)";
  if (wish.market == Market::kSpot && !offer.spot) return "on-demand, and only spot is wanted";
  if (wish.max_price && offer.price_usd_per_hour > *wish.max_price)
    return fmt::format("{:.3f} USD/h is above the cap of {:.3f}", offer.price_usd_per_hour, *wish.max_price);
  if (wish.nodes > 1)
    if (const auto reason = wish.cluster ? why_no_cluster(offer.provider) : why_no_gang(offer.provider);
        !reason.empty())
      return std::string(reason);
  if (!offer.available) return "sold out";
  if (too_old(offer.gpu)) return fmt::format("{} is older than what CUDA {:.0f} runs on", offer.gpu, kLeastCuda);
  if (!offer.flaw.empty()) return offer.flaw;
  return {};
}

auto rank(const Offer& offer) {
  return std::tie(offer.price_usd_per_hour, offer.provider, offer.region, offer.id);
}

std::string advice_for(const Wish& wish, const std::string& gpu, const Selection& selection) {
  if (selection.refused.empty()) return "no provider offers anything";
  std::set<std::string> gpus;
  const Offer* cheapest = nullptr;   // of those that only the price keeps out
  for (const auto& [offer, reason] : selection.refused) {
    if (!offer.gpu.empty()) gpus.insert(offer.gpu);
    if (!cheapest && reason.find("above the cap") != std::string::npos) cheapest = &offer;
  }
  if (!gpu.empty() && !gpus.contains(gpu)) {
    std::vector<std::string_view> names(gpus.begin(), gpus.end());
    const auto near = schema::nearest_name(gpu, names);
    std::string list;
    for (const auto& name : names) list += (list.empty() ? "" : ", ") + std::string(name);
    return fmt::format("no provider offers a GPU '{}'{}; offered: {}", wish.gpu,
                       near.empty() ? "" : fmt::format("; nearest is {}", near), list.empty() ? "none" : list);
  }
  if (cheapest)
    return fmt::format("the cheapest that fits costs {:.3f} USD/h ({} {} {}), above the cap of {:.3f}",
                       cheapest->price_usd_per_hour, cheapest->provider, cheapest->id, cheapest->region, *wish.max_price);
  return "no offer fits; the table says why";
}

}   // namespace

std::string canonical_gpu(std::string_view name) {
  std::string word, out;
  const auto finish = [&] {
    const bool memory = word.size() > 2 && word.ends_with("GB") && std::isdigit(static_cast<unsigned char>(word[0]));
    if (word != "NVIDIA" && word != "GEFORCE" && word != "TESLA" && word != "PCIE" && !memory) out += word;
    word.clear();
  };
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) word += static_cast<char>(std::toupper(byte));
    else finish();
  }
  finish();
  return out;
}

Selection select(const Wish& wish, std::vector<Offer> offers) {
  const std::string gpu = canonical_gpu(wish.gpu);
  std::ranges::sort(offers, [](const Offer& a, const Offer& b) { return rank(a) < rank(b); });
  Selection selection;
  for (Offer& offer : offers) {
    std::string reason = objection(wish, gpu, offer);
    if (reason.empty()) selection.order.push_back(std::move(offer));
    else selection.refused.push_back({std::move(offer), std::move(reason)});
  }
  if (wish.market == Market::kSpotThenOnDemand) std::ranges::stable_partition(selection.order, &Offer::spot);
  if (selection.order.empty()) selection.advice = advice_for(wish, gpu, selection);
  return selection;
}

}   // namespace kedge::provisioning
