// Vultr: virtual machines started by cloud-init.
// Virtual machines of Vultr.
#include "provisioning/providers.h"

#include <algorithm>
#include <cstdlib>

#include "crypto/random.h"
#include "provisioning/bootstrap.h"
#include "provisioning/rest.h"

namespace kedge::provisioning {
namespace {

constexpr double kHoursPerMonth =
    672;   // the shortest month that Vultr has billed by: where a plan has no hourly price, this is at most too dear

struct VultrSettings {
  std::string key, base;
  std::int64_t os_id = 2284;   // Ubuntu 24.04
  bool own_image = false;      // the user named the system, and answers for its driver
};

class Vultr final : public Provider {
 public:
  Vultr(http::Client& http, const VultrSettings& settings)
      : rest_(http, "vultr", settings.base, {{"Authorization", "Bearer " + settings.key}}),
        os_id_(settings.os_id),
        own_image_(settings.own_image) {}

  std::string_view name() const override { return "vultr"; }
  std::string_view fuse() const override { return kNoFuse; }

  std::vector<Offer> offers(const Wish& wish) override {
    std::vector<Offer> offers;
    add_plans("vcg", offers);
    if (wish.gpu.empty()) add_plans("vc2", offers);
    return offers;
  }

  Machine launch(const Intent& intent) override {
    const json::Value answer = rest_.post("/instances", json::ValueMap{{"region", intent.offer.region},
                                                                       {"plan", intent.offer.id},
                                                                       {"os_id", os_id_},
                                                                       {"label", intent.id},
                                                                       {"hostname", intent.id},
                                                                       {"backups", "disabled"},
                                                                       {"activation_email", false},
                                                                       {"user_data", crypto::base64(cloud_init(intent))}});
    const std::string id = json::text(answer, "instance.id");
    if (id.empty()) throw ProviderError(Failure::kRetryLater, "vultr: create", "the answer names no instance", 0, true);
    return {.id = id, .name = intent.id};
  }

  std::optional<Machine> describe(const Intent& intent) override {
    const auto answer = rest_.get_if_there("/instances/" + intent.machine);
    if (!answer) return std::nullopt;
    return machine(json::at(*answer, "instance"));
  }

  void terminate(const Intent& intent) override { rest_.remove_if_there("/instances/" + intent.machine); }

  std::vector<Machine> list_owned(const std::string& owner) override {
    std::vector<Machine> machines;
    std::string cursor;
    do {
      const json::Value answer =
          rest_.get("/instances?per_page=100" + (cursor.empty() ? "" : "&cursor=" + http::url_encode(cursor)));
      for (const json::Value& instance : json::list(answer, "instances"))
        if (json::text(instance, "label").starts_with(name_prefix(owner))) machines.push_back(machine(instance));
      cursor = json::text(answer, "meta.links.next");
    } while (!cursor.empty());
    return machines;
  }

 private:
  void add_plans(const std::string& type, std::vector<Offer>& offers) {
    std::string cursor;
    do {
      const json::Value answer =
          rest_.get("/plans?type=" + type + "&per_page=500" + (cursor.empty() ? "" : "&cursor=" + http::url_encode(cursor)));
      for (const json::Value& plan : json::list(answer, "plans")) add_plan(plan, offers);
      cursor = json::text(answer, "meta.links.next");
    } while (!cursor.empty());
  }

  // `locations` are the regions where the plan can be had now.
  void add_plan(const json::Value& plan, std::vector<Offer>& offers) const {
    std::string gpu = json::text(plan, "gpu_type");   // "NVIDIA_L40S"
    std::ranges::replace(gpu, '_', ' ');
    Offer offer{.provider = "vultr", .id = json::text(plan, "id"), .gpu = canonical_gpu(gpu), .price_source = "live"};
    offer.gpus = offer.gpu.empty() ? 0 : std::max(1, static_cast<int>(json::number(plan, "gpu_count", 1)));
    offer.cpus = static_cast<int>(json::number(plan, "vcpu_count"));
    offer.memory_gb = json::number(plan, "ram") / 1024;
    offer.price_usd_per_hour = json::number(plan, "hourly_cost", json::number(plan, "monthly_cost") / kHoursPerMonth);
    if (offer.price_usd_per_hour <= 0) return;   // without a price, no cap could be kept
    if (offer.gpus > 0 && !own_image_)
      offer.flaw = "a plain Ubuntu has no NVIDIA driver: KEDGE_VULTR_OS_ID names a system that has one";
    const auto& regions = json::list(plan, "locations");
    offer.available = !regions.empty();
    if (regions.empty()) offers.push_back(offer);   // sold out everywhere: shown, not tried
    for (const json::Value& region : regions) {
      offer.region = json::text(region, "");
      offers.push_back(offer);
    }
  }

  // While a machine is installed its power may be off; afterwards that means it has ended itself.
  static Machine machine(const json::Value& instance) {
    const std::string status = json::text(instance, "status"), power = json::text(instance, "power_status"),
                      ip = json::text(instance, "main_ip");
    Machine machine{.id = json::text(instance, "id"),
                    .name = json::text(instance, "label"),
                    .port = kServerPort,
                    .detail = status + ", " + power};
    machine.address = ip == "0.0.0.0" ? "" : ip;
    const bool stopped = status == "active" && power == "stopped" && json::text(instance, "server_status") == "ok";
    if (status == "suspended" || stopped) machine.state = MachineState::kEnding;
    else if (status == "active" && power == "running") machine.state = MachineState::kRunning;
    return machine;
  }

  Rest rest_;
  std::int64_t os_id_;
  bool own_image_;
};

}   // namespace

// Set up by VULTR_API_KEY.
std::unique_ptr<Provider> make_vultr(const Surroundings& here) {
  const auto key = here.variable("VULTR_API_KEY");
  if (!key) return nullptr;
  VultrSettings settings{.key = *key, .base = here.variable("KEDGE_VULTR_URL").value_or("https://api.vultr.com/v2")};
  if (const auto os = here.variable("KEDGE_VULTR_OS_ID")) {
    settings.os_id = std::atoll(os->c_str());
    settings.own_image = true;
  }
  return std::make_unique<Vultr>(here.http, settings);
}

}   // namespace kedge::provisioning
