// Droplets of DigitalOcean: virtual machines started by cloud-init.
#include <algorithm>

#include "provisioning/bootstrap.h"
#include "provisioning/providers.h"
#include "provisioning/rest.h"

namespace kedge::provisioning {
namespace {

struct DigitalOceanSettings {
  std::string token, base;
  std::string image;     // empty: the provider's own, with a driver where there is a GPU
  std::string ssh_key;   // fingerprint of a key of the account; empty: none is put on the machine
};

class DigitalOcean final : public Provider {
 public:
  DigitalOcean(http::Client& http, DigitalOceanSettings settings)
      : rest_(http, "digitalocean", settings.base, {{"Authorization", "Bearer " + settings.token}}),
        settings_(std::move(settings)) {}

  std::string_view name() const override { return "digitalocean"; }
  std::string_view fuse() const override { return kNoFuse; }

  std::vector<Offer> offers(const Wish&) override {
    std::vector<Offer> offers;
    each("/sizes", "sizes", [&](const json::Value& size) { add_size(size, offers); });
    return offers;
  }

  Machine launch(const Intent& intent) override {
    json::ValueMap body{{"name", intent.id},       {"region", intent.offer.region},
                        {"size", intent.offer.id}, {"image", image_for(intent.offer)},
                        {"backups", false},        {"user_data", cloud_init(intent)}};
    if (!settings_.ssh_key.empty()) body.emplace_back("ssh_keys", json::ValueList{json::Value(settings_.ssh_key)});
    const json::Value answer = rest_.post("/droplets", json::Value(std::move(body)));
    const std::string id = json::text(answer, "droplet.id");
    if (id.empty())
      throw ProviderError(Failure::kRetryLater, "digitalocean: create", "the answer names no droplet", 0, true);
    return {.id = id, .name = intent.id};
  }

  std::optional<Machine> describe(const Intent& intent) override {
    const auto answer = rest_.get_if_there("/droplets/" + intent.machine);
    if (!answer) return std::nullopt;
    return machine(json::at(*answer, "droplet"));
  }

  void terminate(const Intent& intent) override { rest_.remove_if_there("/droplets/" + intent.machine); }

  // A list has those with a GPU, or those without.
  std::vector<Machine> list_owned(const std::string& owner) override {
    std::vector<Machine> machines;
    for (const char* type : {"gpus", "droplets"}) {
      each(std::string("/droplets?type=") + type, "droplets", [&](const json::Value& droplet) {
        if (json::text(droplet, "name").starts_with(name_prefix(owner))) machines.push_back(machine(droplet));
      });
    }
    return machines;
  }

 private:
  // Calls what(element) for each element of a list, page after page.
  template <class What>
  void each(const std::string& path, const char* list, const What& what) const {
    const std::string more = path.find('?') == std::string::npos ? "?" : "&";
    for (int page = 1;; ++page) {
      const json::Value answer = rest_.get(path + more + "per_page=200&page=" + std::to_string(page));
      for (const json::Value& element : json::list(answer, list)) what(element);
      if (json::text(answer, "links.pages.next").empty()) return;
    }
  }

  static void add_size(const json::Value& size, std::vector<Offer>& offers) {
    std::string gpu = json::text(size, "gpu_info.model");   // "nvidia_h100"
    std::ranges::replace(gpu, '_', ' ');
    Offer offer{
        .provider = "digitalocean", .id = json::text(size, "slug"), .gpu = canonical_gpu(gpu), .price_source = "live"};
    offer.gpus = gpu.empty() ? 0 : std::max(1, static_cast<int>(json::number(size, "gpu_info.count", 1)));
    offer.cpus = static_cast<int>(json::number(size, "vcpus"));
    offer.memory_gb = json::number(size, "memory") / 1024;
    offer.price_usd_per_hour = json::number(size, "price_hourly");
    if (offer.price_usd_per_hour <= 0) return;   // without a price, no cap could be kept
    if (!gpu.empty() && !gpu.starts_with("nvidia")) offer.flaw = "it is no GPU of NVIDIA";
    const auto& regions = json::list(size, "regions");
    offer.available = json::truth(size, "available") && !regions.empty();
    if (regions.empty()) offers.push_back(offer);   // sold out everywhere: shown, not tried
    for (const json::Value& region : regions) {
      offer.region = json::text(region, "");
      offers.push_back(offer);
    }
  }

  std::string image_for(const Offer& offer) const {
    if (!settings_.image.empty()) return settings_.image;
    if (offer.gpus == 0) return "ubuntu-24-04-x64";
    return offer.gpus == 8 ? "gpu-h100x8-base" : "gpu-h100x1-base";   // for every GPU of NVIDIA, by their number
  }

  static Machine machine(const json::Value& droplet) {
    const std::string status = json::text(droplet, "status");
    Machine machine{
        .id = json::text(droplet, "id"), .name = json::text(droplet, "name"), .port = kServerPort, .detail = status};
    for (const json::Value& network : json::list(droplet, "networks.v4"))
      if (json::text(network, "type") == "public") machine.address = json::text(network, "ip_address");
    if (status == "off" || status == "archive") machine.state = MachineState::kEnding;
    else if (status == "active") machine.state = MachineState::kRunning;
    return machine;
  }

  Rest rest_;
  DigitalOceanSettings settings_;
};

}   // namespace

// Set up by DIGITALOCEAN_TOKEN.
std::unique_ptr<Provider> make_digitalocean(const Surroundings& here) {
  const auto token = here.variable("DIGITALOCEAN_TOKEN");
  if (!token) return nullptr;
  return std::make_unique<DigitalOcean>(
      here.http,
      DigitalOceanSettings{.token = *token,
                           .base = here.variable("KEDGE_DIGITALOCEAN_URL").value_or("https://api.digitalocean.com/v2"),
                           .image = here.variable("KEDGE_DIGITALOCEAN_IMAGE").value_or(""),
                           .ssh_key = here.variable("KEDGE_DIGITALOCEAN_SSH_KEY").value_or("")});
}

}   // namespace kedge::provisioning
