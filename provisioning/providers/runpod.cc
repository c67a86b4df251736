// RunPod: our image as a pod, with the API port mapped to a public one.
// Pods by REST, their prices by GraphQL.
#include "provisioning/providers.h"

#include <fmt/core.h>

#include "provisioning/bootstrap.h"
#include "provisioning/rest.h"

namespace kedge::provisioning {
namespace {

constexpr std::string_view kClouds[] = {"secure",
                                        "community"};   // two markets with prices of their own; they stand in Offer::region

constexpr int kCudaVersions = 4;   // from the least that the server needs on

Failure failure(long status, const std::string& body) {
  if (mentions(body, {"SUPPLY_CONSTRAINT", "no longer any instances available", "no instances available"}))
    return Failure::kNoCapacity;
  return usual_failure(status, body);
}

class RunPod final : public Provider {
 public:
  RunPod(http::Client& http, const std::string& key, const std::string& rest, const std::string& graphql)
      : rest_(http, "runpod", rest, {{"Authorization", "Bearer " + key}}, failure),
        graphql_(http, "runpod", graphql, {{"Authorization", "Bearer " + key}}, failure) {}

  std::string_view name() const override { return "runpod"; }
  std::string_view fuse() const override {
    return "the pod removes itself with its own, pod-scoped key when its server has ended";
  }

  std::vector<Offer> offers(const Wish& wish) override {
    std::string query = "query { gpuTypes { id displayName";
    for (const std::string_view cloud : kClouds)
      query += fmt::format(
          " {}: lowestPrice(input: {{gpuCount: {}, secureCloud: {}}}) {{ minimumBidPrice uninterruptablePrice minVcpu minMemory "
          "stockStatus }}",
          cloud, wish.gpus, cloud == kClouds[0]);
    const json::Value answer = graphql_.post("", json::ValueMap{{"query", query + " } }"}});
    if (const auto& errors = json::list(answer, "errors"); !errors.empty())
      throw ProviderError(failure(400, json::text(answer, "errors.0.message")), "runpod: gpuTypes",
                          json::text(answer, "errors.0.message"));
    std::vector<Offer> offers;
    for (const json::Value& type : json::list(answer, "data.gpuTypes"))
      for (const std::string_view cloud : kClouds) add_both_markets(offers, type, cloud, wish.gpus);
    return offers;
  }

  Machine launch(const Intent& intent) override {
    json::ValueMap environment;
    for (const auto& [name, value] : server_settings(intent, fmt::format("0.0.0.0:{}", kServerPort)))
      environment.emplace_back(name, value);
    const auto create = [&](json::ValueList versions) {
      return rest_.post("/pods",
                        json::ValueMap{{"name", intent.id},
                                       {"imageName", intent.image},
                                       {"gpuTypeIds", json::ValueList{intent.offer.id}},
                                       {"gpuCount", intent.offer.gpus},
                                       {"cloudType", intent.offer.region == kClouds[0] ? "SECURE" : "COMMUNITY"},
                                       {"allowedCudaVersions", std::move(versions)},
                                       {"interruptible", intent.offer.spot},
                                       {"containerDiskInGb", 20},
                                       {"volumeInGb", 0},
                                       {"supportPublicIp", true},
                                       {"ports", json::ValueList{fmt::format("{}/tcp", kServerPort)}},
                                       {"env", environment}});
    };
    const json::Value pod = create_on_new_enough(create);
    Machine made = machine(pod);
    if (made.id.empty()) made.id = std::holds_alternative<std::string>(pod.data) ? std::get<std::string>(pod.data) : "";
    if (made.id.empty()) throw ProviderError(Failure::kRetryLater, "runpod: create pod", "the answer names no pod", 0, true);
    made.name = intent.id;
    return made;
  }

  std::optional<Machine> describe(const Intent& intent) override {
    const auto pod = rest_.get_if_there("/pods/" + intent.machine);
    if (!pod || ended(*pod)) return std::nullopt;
    return machine(*pod);
  }

  void terminate(const Intent& intent) override { rest_.remove_if_there("/pods/" + intent.machine); }

  std::vector<Machine> list_owned(const std::string& owner) override {
    const json::Value answer = rest_.get("/pods");
    std::vector<Machine> machines;
    for (const json::Value& pod : json::list(answer))
      if (json::text(pod, "name").starts_with(name_prefix(owner)) && !ended(pod)) machines.push_back(machine(pod));
    return machines;
  }

 private:
  // RunPod takes a list of versions and no least one. It refuses a version that it does not know yet; then the least
  // one is asked for alone.
  template <class Create>
  static json::Value create_on_new_enough(const Create& create) {
    json::ValueList versions;
    for (int i = 0; i < kCudaVersions; ++i) versions.emplace_back(fmt::format("{:.1f}", kLeastCuda + 0.1 * i));
    try {
      return create(versions);
    } catch (const ProviderError& error) {
      if (error.failure != Failure::kFatal || !mentions(error.words, {"allowedCudaVersions"})) throw;
    }
    versions.resize(1);
    return create(versions);
  }
  // The price of the cloud that the pod will be asked of; each is that of one GPU.
  static void add_both_markets(std::vector<Offer>& offers, const json::Value& type, std::string_view cloud, int gpus) {
    const json::Value& prices = json::at(type, cloud);
    Offer offer{
        .provider = "runpod", .id = json::text(type, "id"), .gpu = canonical_gpu(json::text(type, "displayName")), .gpus = gpus};
    offer.cpus = static_cast<int>(json::number(prices, "minVcpu"));
    offer.memory_gb = json::number(prices, "minMemory");
    offer.region = std::string(cloud);
    offer.price_source = "live";
    offer.available = json::text(prices, "stockStatus", "none") != "none";
    add(offers, offer, false, json::number(prices, "uninterruptablePrice") * gpus);
    add(offers, offer, true, json::number(prices, "minimumBidPrice") * gpus);
  }
  static void add(std::vector<Offer>& offers, Offer offer, bool spot, double price) {
    offer.spot = spot;
    offer.price_usd_per_hour = price;
    if (price > 0) offers.push_back(std::move(offer));
  }
  // An exited pod still costs its disk, so only TERMINATED is gone.
  static bool ended(const json::Value& pod) { return json::text(pod, "desiredStatus") == "TERMINATED"; }

  static Machine machine(const json::Value& pod) {
    Machine machine{.id = json::text(pod, "id"), .name = json::text(pod, "name"), .detail = json::text(pod, "desiredStatus")};
    machine.port = static_cast<int>(json::number(pod, fmt::format("portMappings.{}", kServerPort)));
    if (machine.port > 0) machine.address = json::text(pod, "publicIp");
    if (machine.detail == "RUNNING") machine.state = MachineState::kRunning;
    else if (machine.detail == "EXITED") machine.state = MachineState::kEnding;
    return machine;
  }

  Rest rest_, graphql_;
};

}   // namespace

// Set up by RUNPOD_API_KEY.
std::unique_ptr<Provider> make_runpod(const Surroundings& here) {
  const auto key = here.variable("RUNPOD_API_KEY");
  if (!key) return nullptr;
  return std::make_unique<RunPod>(here.http, *key, here.variable("KEDGE_RUNPOD_URL").value_or("https://rest.runpod.io/v1"),
                                  here.variable("KEDGE_RUNPOD_GRAPHQL_URL").value_or("https://api.runpod.io/graphql"));
}

}   // namespace kedge::provisioning
