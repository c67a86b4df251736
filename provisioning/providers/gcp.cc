// Google Compute Engine: instances that the provider itself deletes at the end of their life.
// Instances of Google Compute Engine.
#include "provisioning/providers.h"

#include <fmt/core.h>

#include <set>
#include <sstream>
#include <vector>

#include "crypto/digest.h"
#include "provisioning/bootstrap.h"
#include "provisioning/providers/gcp_types.h"
#include "provisioning/providers/google_token.h"
#include "provisioning/providers/list_prices.h"
#include "provisioning/rest.h"

namespace kedge::provisioning {
namespace {

constexpr const char* kTag = "kedge";   // of the network, and the name of the firewall's rule, which costs nothing and stays
constexpr int kDisk_gb = 60;

struct GcpSettings {
  std::string project, base, gpu_image, image;
  std::vector<std::string> zones;
  ListPrices prices;
};

Failure gcp_failure(long status, const std::string& body) {
  if (mentions(body, {"ZONE_RESOURCE_POOL_EXHAUSTED", "does not have enough resources", "stockout"})) return Failure::kNoCapacity;
  if (mentions(body, {"QUOTA_EXCEEDED", "quotaExceeded"})) return Failure::kQuota;
  if (mentions(body, {"rateLimitExceeded"})) return Failure::kRetryLater;
  return usual_failure(status, body);
}

class Gcp final : public Provider {
 public:
  Gcp(http::Client& http, GoogleToken token, GcpSettings settings)
      : rest_(http, "gcp", settings.base, {}, gcp_failure), token_(std::move(token)), settings_(std::move(settings)) {}

  std::string_view name() const override { return "gcp"; }
  std::string_view fuse() const override { return "Google deletes the machine at the end of its life"; }
  bool launch_repeatable() const override { return true; }

  std::vector<Offer> offers(const Wish& wish) override {
    std::vector<Offer> offers;
    for (const std::string& zone : settings_.zones) {
      std::set<std::string> accelerators;
      const json::Value answer = get(zone_path(zone) + "/acceleratorTypes");
      for (const json::Value& type : json::list(answer, "items")) accelerators.insert(json::text(type, "name"));
      for (const GcpType& type : gcp_types()) {
        if (wish.market != Market::kSpot) offers.push_back(offer_of(type, zone, false, accelerators));
        if (wish.market != Market::kOnDemand) offers.push_back(offer_of(type, zone, true, accelerators));
      }
    }
    return offers;
  }

  // The name is the machine's id: a second launch finds the first one's machine. The operation says whether there was
  // room.
  Machine launch(const Intent& intent) override {
    open_port();
    const std::string zone = intent.offer.region;
    try {
      const json::Value operation = post(zone_path(zone) + "/instances?requestId=" + request_id(intent.id), instance(intent));
      wait_for(zone, operation);
    } catch (const ProviderError& error) {
      if (error.status != 409) throw;
    }
    return {.id = intent.id, .name = intent.id, .region = zone};
  }

  std::optional<Machine> describe(const Intent& intent) override {
    const auto found = get_if_there(zone_path(intent.offer.region) + "/instances/" + intent.machine);
    if (!found) return std::nullopt;
    return machine(*found, intent.offer.region);
  }

  void terminate(const Intent& intent) override {
    authorize();
    rest_.remove_if_there(zone_path(intent.offer.region) + "/instances/" + intent.machine);
  }

  std::vector<Machine> list_owned(const std::string& owner) override {
    const std::string prefix = name_prefix(owner);
    std::vector<Machine> machines;
    std::string token;
    do {
      const json::Value answer =
          get("/projects/" + settings_.project + "/aggregated/instances?filter=" + http::url_encode("name:" + prefix + "*") +
              (token.empty() ? "" : "&pageToken=" + http::url_encode(token)));
      for (const auto& [place, content] : json::map(answer, "items"))   // "zones/us-central1-a"
        for (const json::Value& found : json::list(content, "instances"))
          if (json::text(found, "name").starts_with(prefix))
            machines.push_back(machine(found, place.substr(place.rfind('/') + 1)));
      token = json::text(answer, "nextPageToken");
    } while (!token.empty());
    return machines;
  }

  std::string log(const Intent& intent) override {
    const json::Value answer = get(zone_path(intent.offer.region) + "/instances/" + intent.machine + "/serialPort");
    return end_of_log(json::text(answer, "contents"));
  }

 private:
  void authorize() { rest_.set_header("Authorization", "Bearer " + token_.get()); }
  json::Value get(const std::string& path) { return authorize(), rest_.get(path); }
  std::optional<json::Value> get_if_there(const std::string& path) { return authorize(), rest_.get_if_there(path); }
  json::Value post(const std::string& path, const json::Value& body) { return authorize(), rest_.post(path, body); }
  std::string zone_path(const std::string& zone) const { return "/projects/" + settings_.project + "/zones/" + zone; }

  // A UUID made of the intent's id.
  static std::string request_id(const std::string& id) {
    const std::string hex = crypto::sha256_hex(id);
    return fmt::format("{}-{}-4{}-8{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(13, 3), hex.substr(17, 3),
                       hex.substr(20, 12));
  }

  void open_port() {
    const std::string rules = "/projects/" + settings_.project + "/global/firewalls";
    if (get_if_there(rules + "/" + kTag)) return;
    const json::ValueMap allowed{{"IPProtocol", "tcp"}, {"ports", json::ValueList{std::to_string(kServerPort)}}};
    try {
      post(rules, json::ValueMap{{"name", kTag},
                                 {"network", "global/networks/default"},
                                 {"direction", "INGRESS"},
                                 {"sourceRanges", json::ValueList{"0.0.0.0/0"}},
                                 {"targetTags", json::ValueList{kTag}},
                                 {"allowed", json::ValueList{allowed}}});
    } catch (ProviderError& error) {
      if (error.status == 409) return;   // another process was quicker
      error.maybe_done = false;          // of the machine, which has not been requested
      throw;
    }
  }

  json::Value instance(const Intent& intent) const {
    const Offer& offer = intent.offer;
    const std::string zone = "zones/" + offer.region;
    const json::ValueMap disk{
        {"boot", true},
        {"autoDelete", true},
        {"initializeParams", json::ValueMap{{"sourceImage", offer.gpus > 0 ? settings_.gpu_image : settings_.image},
                                            {"diskSizeGb", std::to_string(kDisk_gb)},
                                            {"diskType", zone + "/diskTypes/pd-balanced"}}}};
    const json::ValueMap address{{"type", "ONE_TO_ONE_NAT"}, {"name", "External NAT"}};
    const json::ValueMap network{{"network", "global/networks/default"}, {"accessConfigs", json::ValueList{address}}};
    const json::ValueMap start{{"key", "startup-script"}, {"value", start_script(intent)}};
    const json::ValueMap driver{{"key", "install-nvidia-driver"}, {"value", "True"}};
    const json::ValueMap scheduling{
        {"provisioningModel", offer.spot ? "SPOT" : "STANDARD"},
        {"onHostMaintenance", "TERMINATE"},
        {"automaticRestart", false},
        {"instanceTerminationAction", "DELETE"},
        {"maxRunDuration", json::ValueMap{{"seconds", std::to_string(intent.lease.life_s + kFuseSlack_s)}}}};
    json::ValueMap body{{"name", intent.id},
                        {"machineType", zone + "/machineTypes/" + offer.id.substr(0, offer.id.find('+'))},
                        {"disks", json::ValueList{disk}},
                        {"networkInterfaces", json::ValueList{network}},
                        {"metadata", json::ValueMap{{"items", json::ValueList{start, driver}}}},
                        {"tags", json::ValueMap{{"items", json::ValueList{kTag}}}},
                        {"scheduling", scheduling}};
    for (const GcpType& type : gcp_types())
      if (type.name == offer.id && type.attached)
        body.emplace_back("guestAccelerators",
                          json::ValueList{json::ValueMap{{"acceleratorType", zone + "/acceleratorTypes/" + type.accelerator},
                                                         {"acceleratorCount", type.gpus}}});
    return body;
  }

  // Errors of an operation are no errors of HTTP: they stand in it. Still running after all: describe() will tell.
  void wait_for(const std::string& zone, json::Value operation) {
    constexpr int kWaits = 3;   // each lasts up to two minutes
    for (int i = 0; i < kWaits && json::text(operation, "status") != "DONE"; ++i) try {
        operation = post(zone_path(zone) + "/operations/" + json::text(operation, "name") + "/wait", json::ValueMap{});
      } catch (ProviderError& error) {
        error.maybe_done = true;
        throw;
      }
    const std::string code = json::text(operation, "error.errors.0.code");
    if (code.empty()) return;
    const std::string words = code + ": " + json::text(operation, "error.errors.0.message");
    throw ProviderError(gcp_failure(static_cast<long>(json::number(operation, "httpErrorStatusCode")), words), "gcp: insert",
                        words, 0, true);
  }

  Offer offer_of(const GcpType& type, const std::string& zone, bool spot, const std::set<std::string>& accelerators) const {
    Offer offer{.provider = "gcp",
                .id = type.name,
                .gpu = type.gpu,
                .gpus = type.gpus,
                .cpus = type.cpus,
                .memory_gb = type.memory_gb,
                .region = zone,
                .spot = spot};
    const std::string key = offer.id + (spot ? ":spot" : "");
    const Price price = settings_.prices.of(key, type.list_price, spot ? kGcpSpotSource : kGcpListSource);
    offer.price_usd_per_hour = price.usd_per_hour;
    offer.price_source = price.source;
    offer.available = type.gpus == 0 || accelerators.contains(type.accelerator);
    return offer;
  }

  static Machine machine(const json::Value& instance, const std::string& zone) {
    Machine machine{.id = json::text(instance, "name"),
                    .name = json::text(instance, "name"),
                    .address = json::text(instance, "networkInterfaces.0.accessConfigs.0.natIP"),
                    .port = kServerPort,
                    .private_address = json::text(instance, "networkInterfaces.0.networkIP"),
                    .detail = json::text(instance, "status"),
                    .region = zone};
    if (machine.detail == "RUNNING") machine.state = MachineState::kRunning;
    for (const char* word : {"STOPPING", "STOPPED", "TERMINATED", "SUSPENDING", "SUSPENDED", "PENDING_STOP"})
      if (machine.detail == word) machine.state = MachineState::kEnding;
    return machine;
  }

  Rest rest_;
  GoogleToken token_;
  GcpSettings settings_;
};

}   // namespace

// Set up by GOOGLE_APPLICATION_CREDENTIALS (a service account's key) or KEDGE_GCP_TOKEN.
std::unique_ptr<Provider> make_gcp(const Surroundings& here) {
  const auto variable = [&](const char* name, const char* otherwise) { return here.variable(name).value_or(otherwise); };
  GcpSettings settings{.project = variable("GOOGLE_CLOUD_PROJECT", ""),
                       .base = variable("KEDGE_GCP_URL", "https://compute.googleapis.com/compute/v1"),
                       .gpu_image = variable("KEDGE_GCP_IMAGE", kGcpGpuImage),
                       .image = variable("KEDGE_GCP_IMAGE", kGcpImage),
                       .prices = ListPrices(variable("KEDGE_GCP_PRICES", ""))};
  std::istringstream zones(variable("KEDGE_GCP_ZONES", "us-central1-a"));
  for (std::string zone; std::getline(zones, zone, ',');) settings.zones.push_back(zone);
  if (const auto token = here.variable("KEDGE_GCP_TOKEN"); token && !settings.project.empty())
    return std::make_unique<Gcp>(here.http, GoogleToken(here.http, here.clock, *token), std::move(settings));
  const auto path = here.variable("GOOGLE_APPLICATION_CREDENTIALS");
  auto account = path ? read_service_account(*path) : std::nullopt;
  if (!account) return nullptr;
  if (settings.project.empty()) settings.project = account->project;
  return std::make_unique<Gcp>(here.http, GoogleToken(here.http, here.clock, std::move(*account)), std::move(settings));
}

}   // namespace kedge::provisioning
