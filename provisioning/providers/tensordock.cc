// TensorDock: virtual machines of many hosts, started by cloud-init.
// Virtual machines of TensorDock.
#include "provisioning/providers.h"

#include <fmt/core.h>

#include <algorithm>

#include "crypto/random.h"
#include "provisioning/bootstrap.h"
#include "provisioning/rest.h"
#include "provisioning/ssh_key.h"

namespace kedge::provisioning {
namespace {

// What is rented in addition to the GPUs; each part has its price. 100 GB are the smallest size.
constexpr int kCpusPerGpu = 4, kMemoryPerGpu_gb = 16, kDisk_gb = 100;

class TensorDock final : public Provider {
 public:
  TensorDock(http::Client& http, const std::string& token, const std::string& base, std::string image)
      : rest_(http, "tensordock", base, {{"Authorization", "Bearer " + token}}), image_(std::move(image)) {}

  std::string_view name() const override { return "tensordock"; }
  std::string_view fuse() const override { return kNoFuse; }

  std::vector<Offer> offers(const Wish& wish) override {
    std::vector<Offer> offers;
    const json::Value answer = rest_.get("/api/v2/locations");
    for (const json::Value& location : json::list(answer, "data.locations"))
      for (const json::Value& gpu : json::list(location, "gpus"))
        offers.push_back(offer_of(location, gpu, std::max(1, wish.gpus)));
    return offers;
  }

  Machine launch(const Intent& intent) override {
    const Offer& offer = intent.offer;
    const json::ValueMap resources{{"vcpu_count", kCpusPerGpu * offer.gpus},
                                   {"ram_gb", kMemoryPerGpu_gb * offer.gpus},
                                   {"storage_gb", kDisk_gb},
                                   {"gpus", json::ValueMap{{offer.id, json::ValueMap{{"count", offer.gpus}}}}}};
    // As one line for the shell: no part of the script can be misread on its way.
    const std::string start =
        "echo " + crypto::base64(start_script(intent)) +
        " | base64 -d >/root/kedge-start; chmod 700 /root/kedge-start; nohup /root/kedge-start >/var/log/kedge-start.log 2>&1 &";
    const json::ValueMap attributes{{"name", intent.id},
                                    {"type", "virtualmachine"},
                                    {"image", image_},
                                    {"resources", resources},
                                    {"location_id", offer.region.substr(offer.region.rfind('/') + 1)},
                                    {"useDedicatedIp", true},
                                    {"ssh_key", unusable_ssh_key()},
                                    {"cloud_init", json::ValueMap{{"runcmd", json::ValueList{start}}}}};
    const json::Value answer = rest_.post(
        "/api/v2/instances", json::ValueMap{{"data", json::ValueMap{{"type", "virtualmachine"}, {"attributes", attributes}}}});
    const std::string id = json::text(answer, "data.id");
    if (id.empty())
      throw ProviderError(Failure::kRetryLater, "tensordock: create", "the answer names no instance: " + json::write(answer), 0,
                          true);
    return {.id = id, .name = intent.id};
  }

  std::optional<Machine> describe(const Intent& intent) override {
    const auto answer = rest_.get_if_there("/api/v2/instances/" + intent.machine);
    if (!answer) return std::nullopt;
    const json::Value& instance = json::at(*answer, "data").is_null() ? *answer : json::at(*answer, "data");
    if (field(instance, "status") == "deleted") return std::nullopt;
    return machine(instance);
  }

  void terminate(const Intent& intent) override { rest_.remove_if_there("/api/v2/instances/" + intent.machine); }

  // Both places are documented for the list.
  std::vector<Machine> list_owned(const std::string& owner) override {
    const json::Value answer = rest_.get("/api/v2/instances");
    std::vector<Machine> machines;
    for (const char* place : {"data.instances", "data.attributes.instances"})
      for (const json::Value& instance : json::list(answer, place))
        if (field(instance, "name").starts_with(name_prefix(owner)) && field(instance, "status") != "deleted")
          machines.push_back(machine(instance));
    return machines;
  }

 private:
  // Next to the id or among the attributes: the answers differ from each other.
  static std::string field(const json::Value& instance, const std::string& name) {
    return json::text(instance, "attributes." + name, json::text(instance, name));
  }

  // A location is known by its id, which people cannot read: "United States/Austin/loc-1".
  static Offer offer_of(const json::Value& location, const json::Value& gpu, int count) {
    Offer offer{.provider = "tensordock",
                .id = json::text(gpu, "v0Name"),
                .gpu = canonical_gpu(json::text(gpu, "displayName")),
                .gpus = count,
                .cpus = kCpusPerGpu * count,
                .memory_gb = 1.0 * kMemoryPerGpu_gb * count};
    offer.region =
        fmt::format("{}/{}/{}", json::text(location, "country"), json::text(location, "city"), json::text(location, "id"));
    offer.price_usd_per_hour = count * json::number(gpu, "price_per_hr") + offer.cpus * json::number(gpu, "pricing.per_vcpu_hr") +
                               offer.memory_gb * json::number(gpu, "pricing.per_gb_ram_hr") +
                               kDisk_gb * json::number(gpu, "pricing.per_gb_storage_hr");
    offer.price_source = "live";
    offer.available = json::number(gpu, "max_count") >= count && json::number(gpu, "resources.max_vcpus") >= offer.cpus &&
                      json::number(gpu, "resources.max_ram_gb") >= offer.memory_gb &&
                      json::number(gpu, "resources.max_storage_gb") >= kDisk_gb &&
                      json::truth(gpu, "network_features.dedicated_ip_available");
    return offer;
  }

  static Machine machine(const json::Value& instance) {
    Machine machine{.id = json::text(instance, "id"),
                    .name = field(instance, "name"),
                    .address = field(instance, "ipAddress"),
                    .port = kServerPort,
                    .detail = field(instance, "status")};
    if (machine.detail == "running") machine.state = MachineState::kRunning;
    for (const char* word : {"stopping", "stopped", "stopped_disassociated", "deleting", "error"})
      if (machine.detail == word) machine.state = MachineState::kEnding;
    return machine;
  }

  Rest rest_;
  std::string image_;
};

}   // namespace

// Set up by TENSORDOCK_API_TOKEN.
std::unique_ptr<Provider> make_tensordock(const Surroundings& here) {
  const auto token = here.variable("TENSORDOCK_API_TOKEN");
  if (!token) return nullptr;
  return std::make_unique<TensorDock>(here.http, *token,
                                      here.variable("KEDGE_TENSORDOCK_URL").value_or("https://dashboard.tensordock.com"),
                                      here.variable("KEDGE_TENSORDOCK_IMAGE").value_or("ubuntu2404_ml_everything"));
}

}   // namespace kedge::provisioning
