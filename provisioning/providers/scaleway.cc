// Scaleway: instances started by cloud-init, with block volumes of their own.
// Instances of Scaleway and their block volumes.
#include "provisioning/providers.h"

#include <fmt/core.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#include "provisioning/bootstrap.h"
#include "provisioning/rest.h"

namespace kedge::provisioning {
namespace {

struct ScalewaySettings {
  std::string key, project, base;
  std::string gpu_image = "ubuntu_noble_gpu_os_12", image = "ubuntu_noble";   // labels of the marketplace
  std::vector<std::string> zones;
  double usd_per_eur = 1.2;   // prices come in EUR
};

Failure scaleway_failure(long status, const std::string& body) {
  if (mentions(body, {"quotas_exceeded", "quota"})) return Failure::kQuota;
  if (mentions(body, {"out_of_stock", "resource_sold_out"})) return Failure::kNoCapacity;
  return status == 412 ? Failure::kRetryLater : usual_failure(status, body);   // 412: not in this state of the thing
}

class Scaleway final : public Provider {
 public:
  Scaleway(http::Client& http, ScalewaySettings settings)
      : rest_(http, "scaleway", settings.base, {{"X-Auth-Token", settings.key}}, scaleway_failure),
        settings_(std::move(settings)) {}

  std::string_view name() const override { return "scaleway"; }
  std::string_view fuse() const override {
    return "none: a machine that is powered off still has its volumes, so only `kedge machines gc` ends it";
  }

  std::vector<Offer> offers(const Wish&) override {
    std::vector<Offer> offers;
    for (const std::string& zone : settings_.zones) {
      const json::Value types = rest_.get(instances(zone) + "/products/servers?per_page=100");
      const json::Value stock = rest_.get(instances(zone) + "/products/servers/availability?per_page=100");
      for (const auto& [name, type] : json::map(types, "servers")) offers.push_back(offer_of(zone, name, type, stock));
    }
    return offers;
  }

  // Made, given its script, switched on. If a step fails the machine exists nevertheless: the controller looks it up
  // and ends it.
  Machine launch(const Intent& intent) override {
    const std::string zone = intent.offer.region;
    const json::Value made = rest_.post(instances(zone) + "/servers", json::ValueMap{{"name", intent.id},
                                                                                     {"commercial_type", intent.offer.id},
                                                                                     {"image", image(intent.offer)},
                                                                                     {"project", settings_.project},
                                                                                     {"dynamic_ip_required", true},
                                                                                     {"tags", json::ValueList{"kedge"}}});
    const std::string id = json::text(made, "server.id");
    if (id.empty()) throw ProviderError(Failure::kRetryLater, "scaleway: create", "the answer names no server", 0, true);
    try {
      name_volumes(zone, json::at(made, "server"), intent.id);
      rest_.patch_text(server(zone, id) + "/user_data/cloud-init", cloud_init(intent));
      act(zone, id, "poweron");
    } catch (ProviderError& error) {
      error.maybe_done = true;
      throw;
    }
    return {.id = id, .name = intent.id, .region = zone};
  }

  std::optional<Machine> describe(const Intent& intent) override {
    const auto answer = rest_.get_if_there(server(intent.offer.region, intent.machine));
    if (!answer) return std::nullopt;
    return machine(json::at(*answer, "server"), intent.offer.region);
  }

  // A running machine is terminated, a stopped one deleted: each refuses the other's call. Block volumes stay behind either way,
  // so they get the machine's name first, by which cleanup() finds them.
  void terminate(const Intent& intent) override {
    const std::string zone = intent.offer.region;
    const auto answer = rest_.get_if_there(server(zone, intent.machine));
    if (!answer) return;
    name_volumes(zone, json::at(*answer, "server"), intent.id);
    if (json::text(*answer, "server.state") == "running") if_there([&] { return act(zone, intent.machine, "terminate"); });
    else rest_.remove_if_there(server(zone, intent.machine));
  }

  std::vector<Machine> list_owned(const std::string& owner) override {
    constexpr std::size_t kPage = 100;
    std::vector<Machine> machines;
    for (const std::string& zone : settings_.zones)
      for (int page = 1, full = 1; full != 0; ++page) {
        const json::Value answer =
            rest_.get(fmt::format("{}/servers?tags=kedge&per_page={}&page={}", instances(zone), kPage, page));
        const auto& servers = json::list(answer, "servers");
        for (const json::Value& server : servers)
          if (json::text(server, "name").starts_with(name_prefix(owner))) machines.push_back(machine(server, zone));
        full = servers.size() == kPage;
      }
    return machines;
  }

  // Refused with 412 while they still hang on the server: the controller asks again.
  void cleanup(const Intent& intent) override {
    if (intent.offer.region.empty()) return;
    const std::string volumes = fmt::format("/block/v1alpha1/zones/{}/volumes", intent.offer.region);
    const json::Value answer = rest_.get(volumes + "?name=" + http::url_encode(intent.id));
    for (const json::Value& volume : json::list(answer, "volumes"))
      if (json::text(volume, "name") == intent.id) rest_.remove_if_there(volumes + "/" + json::text(volume, "id"));
  }

 private:
  static std::string instances(const std::string& zone) { return "/instance/v1/zones/" + zone; }
  static std::string server(const std::string& zone, const std::string& id) { return instances(zone) + "/servers/" + id; }

  json::Value act(const std::string& zone, const std::string& id, const char* action) {
    return rest_.post(server(zone, id) + "/action", json::ValueMap{{"action", action}});
  }

  void name_volumes(const std::string& zone, const json::Value& server, const std::string& name) {
    for (const auto& [slot, volume] : json::map(server, "volumes"))
      if (json::text(volume, "volume_type") == "sbs_volume")
        if_there([&] {   // a machine that is just ending has lost them
          return rest_.patch(fmt::format("/block/v1alpha1/zones/{}/volumes/{}", zone, json::text(volume, "id")),
                             json::ValueMap{{"name", name}});
        });
  }

  std::string image(const Offer& offer) {
    const std::string& label = offer.gpus > 0 ? settings_.gpu_image : settings_.image;
    const json::Value answer = rest_.get(fmt::format("/marketplace/v2/local-images?image_label={}&zone={}&type=instance_sbs",
                                                     http::url_encode(label), offer.region));
    const std::string id = json::text(answer, "local_images.0.id");
    if (id.empty())
      throw ProviderError(Failure::kNoCapacity, "scaleway: images", fmt::format("{} has no image {}", offer.region, label));
    return id;
  }

  Offer offer_of(const std::string& zone, const std::string& name, const json::Value& type, const json::Value& stock) const {
    Offer offer{.provider = "scaleway", .id = name, .region = zone};
    offer.gpus = static_cast<int>(json::number(type, "gpu"));
    const std::string gpu = json::text(type, "gpu_info.gpu_name", name.substr(0, name.find('-')));
    if (offer.gpus > 0) offer.gpu = canonical_gpu(gpu);
    offer.cpus = static_cast<int>(json::number(type, "ncpus"));
    offer.memory_gb = json::number(type, "ram") / 1e9;
    offer.price_usd_per_hour = json::number(type, "hourly_price") * settings_.usd_per_eur;
    offer.price_source = fmt::format("live, 1 EUR = {:.2f} USD", settings_.usd_per_eur);
    for (const auto& [other, entry] : json::map(stock, "servers"))
      if (other == name) offer.available = json::text(entry, "availability") != "shortage";
    if (offer.price_usd_per_hour <= 0) offer.available = false;   // without a price, no cap could be kept
    return offer;
  }

  static Machine machine(const json::Value& server, const std::string& zone) {
    Machine machine{.id = json::text(server, "id"),
                    .name = json::text(server, "name"),
                    .port = kServerPort,
                    .detail = json::text(server, "state"),
                    .region = zone};
    machine.address = json::text(server, "public_ip.address", json::text(server, "public_ips.0.address"));
    if (machine.detail == "running") machine.state = MachineState::kRunning;
    else if (machine.detail != "starting") machine.state = MachineState::kEnding;
    return machine;
  }

  Rest rest_;
  ScalewaySettings settings_;
};

}   // namespace

// Set up by SCW_SECRET_KEY and SCW_DEFAULT_PROJECT_ID.
std::unique_ptr<Provider> make_scaleway(const Surroundings& here) {
  const auto key = here.variable("SCW_SECRET_KEY"), project = here.variable("SCW_DEFAULT_PROJECT_ID");
  if (!key || !project) return nullptr;
  ScalewaySettings settings{
      .key = *key, .project = *project, .base = here.variable("KEDGE_SCALEWAY_URL").value_or("https://api.scaleway.com")};
  if (const auto label = here.variable("KEDGE_SCALEWAY_IMAGE")) settings.gpu_image = settings.image = *label;
  if (const auto rate = here.variable("KEDGE_EUR_USD")) settings.usd_per_eur = std::strtod(rate->c_str(), nullptr);
  std::istringstream zones(
      here.variable("KEDGE_SCALEWAY_ZONES").value_or("fr-par-1,fr-par-2,fr-par-3,nl-ams-1,nl-ams-2,pl-waw-3"));
  for (std::string zone; std::getline(zones, zone, ',');) settings.zones.push_back(zone);
  return std::make_unique<Scaleway>(here.http, std::move(settings));
}

}   // namespace kedge::provisioning
