// Vast.ai: our image on a machine that a host offers.
// Asks are searched, and the very one that was ranked is rented.
#include "provisioning/providers.h"

#include <fmt/core.h>

#include "provisioning/bootstrap.h"
#include "provisioning/rest.h"

namespace kedge::provisioning {
namespace {

constexpr double kBidFactor = 1.2;   // above the lowest bid that would win now
constexpr int kMostAsks = 500;

Failure failure(long status, const std::string& body) {
  if (mentions(body, {"no_such_ask", "not available", "already rented"})) return Failure::kNoCapacity;
  return usual_failure(status, body);
}

class VastAi final : public Provider {
 public:
  VastAi(http::Client& http, const std::string& key, const std::string& base)
      : rest_(http, "vastai", base, {{"Authorization", "Bearer " + key}}, failure) {}

  std::string_view name() const override { return "vastai"; }
  std::string_view fuse() const override {
    return "the instance removes itself with its own, instance-scoped key when its server has ended";
  }

  std::vector<Offer> offers(const Wish& wish) override {
    std::vector<Offer> offers;
    if (wish.market != Market::kSpot) search(wish, false, offers);
    if (wish.market != Market::kOnDemand) search(wish, true, offers);
    return offers;
  }

  Machine launch(const Intent& intent) override {
    json::ValueMap environment{{fmt::format("-p {0}:{0}", kServerPort), "1"}};
    for (const auto& [name, value] : server_settings(intent, fmt::format("0.0.0.0:{}", kServerPort)))
      environment.emplace_back(name, value);
    json::ValueMap body{{"client_id", "me"}, {"image", intent.image}, {"disk", 20},
                        {"runtype", "args"}, {"label", intent.id},    {"env", environment}};
    if (intent.offer.spot) body.emplace_back("price", intent.offer.price_usd_per_hour);
    const json::Value answer = rest_.put("/api/v0/asks/" + intent.offer.id + "/", body);
    const std::string id = json::text(answer, "new_contract");
    if (!id.empty()) return {.id = id, .name = intent.id};
    const std::string words = json::text(answer, "msg", json::text(answer, "error", json::write(answer)));
    throw ProviderError(json::truth(answer, "success", true) ? Failure::kRetryLater : failure(400, words), "vastai: rent", words,
                        0, json::truth(answer, "success", true));
  }

  std::optional<Machine> describe(const Intent& intent) override {
    const auto answer = rest_.get_if_there("/api/v0/instances/" + intent.machine + "/?owner=me");
    if (!answer || json::text(*answer, "instances.id").empty()) return std::nullopt;
    return machine(json::at(*answer, "instances"));
  }

  void terminate(const Intent& intent) override { rest_.remove_if_there("/api/v0/instances/" + intent.machine + "/"); }

  std::vector<Machine> list_owned(const std::string& owner) override {
    const json::Value answer = rest_.get("/api/v0/instances/?owner=me");
    std::vector<Machine> machines;
    for (const json::Value& instance : json::list(answer, "instances"))
      if (json::text(instance, "label").starts_with(name_prefix(owner))) machines.push_back(machine(instance));
    return machines;
  }

 private:
  void search(const Wish& wish, bool spot, std::vector<Offer>& offers) {
    const auto is = [](json::Value value) { return json::ValueMap{{"eq", std::move(value)}}; };
    const json::Value answer = rest_.post(
        "/api/v0/bundles/", json::ValueMap{{"rentable", is(true)},
                                           {"rented", is(false)},
                                           {"verified", is(true)},
                                           {"num_gpus", json::ValueMap{{"gte", wish.gpus}}},
                                           {"direct_port_count", json::ValueMap{{"gte", 1}}},
                                           {"type", spot ? "bid" : "on-demand"},
                                           {"order", json::ValueList{json::ValueList{spot ? "min_bid" : "dph_total", "asc"}}},
                                           {"limit", kMostAsks}});
    for (const json::Value& ask : json::list(answer, "offers")) {
      Offer offer{
          .provider = "vastai", .id = json::text(ask, "id"), .gpu = canonical_gpu(json::text(ask, "gpu_name")), .spot = spot};
      offer.gpus = static_cast<int>(json::number(ask, "num_gpus"));
      offer.cpus = static_cast<int>(json::number(ask, "cpu_cores_effective"));
      offer.memory_gb = json::number(ask, "cpu_ram") / 1024;
      offer.region = json::text(ask, "geolocation", "unknown");
      offer.price_usd_per_hour = spot ? json::number(ask, "min_bid") * kBidFactor : json::number(ask, "dph_total");
      offer.price_source = "live";
      if (const double cuda = json::number(ask, "cuda_max_good", kLeastCuda); cuda < kLeastCuda)
        offer.flaw = fmt::format("its driver is for CUDA {:.1f}, at least {:.1f} is needed", cuda, kLeastCuda);
      if (offer.price_usd_per_hour > 0) offers.push_back(std::move(offer));
    }
  }

  static Machine machine(const json::Value& instance) {
    Machine machine{.id = json::text(instance, "id"),
                    .name = json::text(instance, "label"),
                    .detail = json::text(instance, "actual_status", "created")};
    if (machine.detail == "running") machine.state = MachineState::kRunning;
    else if (machine.detail == "exited" || machine.detail == "offline") machine.state = MachineState::kEnding;
    machine.port = static_cast<int>(json::number(instance, fmt::format("ports.{}/tcp.0.HostPort", kServerPort)));
    if (machine.port > 0) machine.address = json::text(instance, "public_ipaddr");
    while (machine.address.ends_with(' ') || machine.address.ends_with('\n')) machine.address.pop_back();
    return machine;
  }

  Rest rest_;
};

}   // namespace

// Set up by VAST_API_KEY.
std::unique_ptr<Provider> make_vastai(const Surroundings& here) {
  const auto key = here.variable("VAST_API_KEY");
  if (!key) return nullptr;
  return std::make_unique<VastAi>(here.http, *key, here.variable("KEDGE_VASTAI_URL").value_or("https://console.vast.ai"));
}

}   // namespace kedge::provisioning
