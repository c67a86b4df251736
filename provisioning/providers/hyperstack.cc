// Hyperstack: virtual machines started by cloud-init, each in an environment of its own.
// Virtual machines of Hyperstack.
#include "provisioning/providers.h"

#include <fmt/core.h>

#include <cstdlib>
#include <map>

#include "provisioning/bootstrap.h"
#include "provisioning/rest.h"
#include "provisioning/ssh_key.h"

namespace kedge::provisioning {
namespace {

class Hyperstack final : public Provider {
 public:
  Hyperstack(http::Client& http, const std::string& key, const std::string& base, std::string image)
      : rest_(http, "hyperstack", base, {{"api_key", key}}), image_(std::move(image)) {}

  std::string_view name() const override { return "hyperstack"; }
  std::string_view fuse() const override { return kNoFuse; }

  // Prices are given for one GPU of a model, so machines without a GPU have none here and are left out.
  std::vector<Offer> offers(const Wish&) override {
    std::map<std::string, double> prices;
    const json::Value book = rest_.get("/pricebook");
    for (const json::Value& entry : json::list(book)) prices[json::text(entry, "name")] = json::number(entry, "value");
    std::vector<Offer> offers;
    const json::Value answer = rest_.get("/core/flavors");
    for (const json::Value& group : json::list(answer, "data"))
      for (const json::Value& flavor : json::list(group, "flavors")) add_flavor(group, flavor, prices, offers);
    return offers;
  }

  // The environment and the key in it belong to this machine alone and go with it.
  Machine launch(const Intent& intent) override {
    const std::string image = image_.empty() ? newest_image(intent.offer.region) : image_;
    rest_.post("/core/environments", json::ValueMap{{"name", intent.id}, {"region", intent.offer.region}});
    rest_.post("/core/keypairs",
               json::ValueMap{{"name", intent.id}, {"environment_name", intent.id}, {"public_key", unusable_ssh_key()}});
    const json::Value port{std::int64_t{kServerPort}};
    const json::ValueMap rule{{"direction", "ingress"}, {"ethertype", "IPv4"},    {"protocol", "tcp"},
                              {"port_range_min", port}, {"port_range_max", port}, {"remote_ip_prefix", "0.0.0.0/0"}};
    const json::Value answer = rest_.post("/core/virtual-machines", json::ValueMap{{"name", intent.id},
                                                                                   {"environment_name", intent.id},
                                                                                   {"image_name", image},
                                                                                   {"flavor_name", intent.offer.id},
                                                                                   {"key_name", intent.id},
                                                                                   {"assign_floating_ip", true},
                                                                                   {"count", 1},
                                                                                   {"security_rules", json::ValueList{rule}},
                                                                                   {"user_data", cloud_init(intent)}});
    const std::string id = json::text(answer, "instances.0.id");
    if (id.empty()) throw ProviderError(Failure::kRetryLater, "hyperstack: create", "the answer names no machine", 0, true);
    return {.id = id, .name = intent.id};
  }

  std::optional<Machine> describe(const Intent& intent) override {
    const auto answer = rest_.get_if_there("/core/virtual-machines/" + intent.machine);
    if (!answer || ended(json::at(*answer, "instance"))) return std::nullopt;
    return machine(json::at(*answer, "instance"));
  }

  // Refused with 400 while the machine is being made: the controller asks again.
  void terminate(const Intent& intent) override { rest_.remove_if_there("/core/virtual-machines/" + intent.machine); }

  std::vector<Machine> list_owned(const std::string& owner) override {
    constexpr std::size_t kPage = 100;
    std::vector<Machine> machines;
    for (int page = 1, full = 1; full != 0; ++page) {
      const json::Value answer = rest_.get(fmt::format("/core/virtual-machines?page={}&pageSize={}", page, kPage));
      const auto& instances = json::list(answer, "instances");
      for (const json::Value& instance : instances)
        if (json::text(instance, "name").starts_with(name_prefix(owner)) && !ended(instance))
          machines.push_back(machine(instance));
      full = instances.size() == kPage;
    }
    return machines;
  }

  void cleanup(const Intent& intent) override {
    remove_named("/core/keypairs", "keypairs", intent.id);
    remove_named("/core/environments", "environments", intent.id);
  }

 private:
  void remove_named(const std::string& path, const char* member, const std::string& name) {
    constexpr std::size_t kPage = 100;
    for (int page = 1, full = 1; full != 0; ++page) {
      const json::Value answer = rest_.get(fmt::format("{}?page={}&pageSize={}", path, page, kPage));
      const auto& things = json::list(answer, member);
      for (const json::Value& thing : things)
        if (json::text(thing, "name") == name) rest_.remove_if_there(path + "/" + json::text(thing, "id"));
      full = things.size() == kPage;
    }
  }

  // Of the images with Docker, the one whose name has the newest CUDA: "Ubuntu Server 22.04 LTS R535 CUDA 12.2 with
  // Docker".
  std::string newest_image(const std::string& region) {
    const json::Value answer = rest_.get("/core/images?region=" + http::url_encode(region));
    std::string best;
    double newest = -1;
    for (const json::Value& group : json::list(answer, "images"))
      for (const json::Value& image : json::list(group, "images")) {
        const std::string name = json::text(image, "name");
        const std::size_t cuda = name.find("CUDA ");
        if (name.find("Docker") == std::string::npos || cuda == std::string::npos) continue;
        const double version = std::strtod(name.c_str() + cuda + 5, nullptr);
        if (version > newest) newest = version, best = name;
      }
    if (best.empty())
      throw ProviderError(Failure::kNoCapacity, "hyperstack: images", region + " has no image with CUDA and Docker");
    return best;
  }

  static void add_flavor(const json::Value& group, const json::Value& flavor, const std::map<std::string, double>& prices,
                         std::vector<Offer>& offers) {
    const std::string gpu = json::text(flavor, "gpu", json::text(group, "gpu"));
    const auto price = prices.find(gpu);
    Offer offer{.provider = "hyperstack", .id = json::text(flavor, "name"), .gpu = canonical_gpu(gpu), .price_source = "live"};
    offer.gpus = static_cast<int>(json::number(flavor, "gpu_count"));
    if (price == prices.end() || offer.gpus == 0) return;
    offer.cpus = static_cast<int>(json::number(flavor, "cpu"));
    offer.memory_gb = json::number(flavor, "ram");
    offer.region = json::text(flavor, "region_name", json::text(group, "region_name"));
    offer.price_usd_per_hour = price->second * offer.gpus;
    offer.available = json::truth(flavor, "stock_available");
    offers.push_back(std::move(offer));
  }

  static bool ended(const json::Value& instance) { return json::text(instance, "status") == "DELETED"; }

  static Machine machine(const json::Value& instance) {
    Machine machine{.id = json::text(instance, "id"),
                    .name = json::text(instance, "name"),
                    .address = json::text(instance, "floating_ip"),
                    .port = kServerPort,
                    .detail = json::text(instance, "status")};
    if (machine.detail == "ACTIVE") machine.state = MachineState::kRunning;
    for (const char* word : {"ERROR", "SHUTOFF", "HIBERNATED", "DELETING"})
      if (machine.detail == word) machine.state = MachineState::kEnding;
    return machine;
  }

  Rest rest_;
  std::string image_;
};

}   // namespace

// Set up by HYPERSTACK_API_KEY.
std::unique_ptr<Provider> make_hyperstack(const Surroundings& here) {
  const auto key = here.variable("HYPERSTACK_API_KEY");
  if (!key) return nullptr;
  return std::make_unique<Hyperstack>(here.http, *key,
                                      here.variable("KEDGE_HYPERSTACK_URL").value_or("https://infrahub-api.nexgencloud.com/v1"),
                                      here.variable("KEDGE_HYPERSTACK_IMAGE").value_or(""));
}

}   // namespace kedge::provisioning
