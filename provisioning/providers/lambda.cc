// Lambda Cloud: virtual machines started by cloud-init.
// Instances of Lambda Cloud.
#include "provisioning/providers.h"

#include "crypto/random.h"
#include "provisioning/bootstrap.h"
#include "provisioning/rest.h"

namespace kedge::provisioning {
namespace {

class Lambda final : public Provider {
 public:
  Lambda(http::Client& http, const std::string& key, const std::string& base)
      : rest_(http, "lambda", base, {{"Authorization", "Basic " + crypto::base64(key + ":")}}) {}

  std::string_view name() const override { return "lambda"; }
  std::string_view fuse() const override { return kNoFuse; }

  std::vector<Offer> offers(const Wish&) override {
    std::vector<Offer> offers;
    const json::Value answer = rest_.get("/instance-types");
    for (const auto& [name, entry] : json::map(answer, "data")) {
      const std::string description = json::text(entry, "instance_type.gpu_description");   // "A10 (24 GB PCIe)"
      Offer offer{.provider = "lambda", .id = name, .gpu = canonical_gpu(description.substr(0, description.find('(')))};
      offer.gpus = static_cast<int>(json::number(entry, "instance_type.specs.gpus"));
      offer.cpus = static_cast<int>(json::number(entry, "instance_type.specs.vcpus"));
      offer.memory_gb = json::number(entry, "instance_type.specs.memory_gib");
      offer.price_usd_per_hour = json::number(entry, "instance_type.price_cents_per_hour") / 100;
      offer.price_source = "live";
      const auto& regions = json::list(entry, "regions_with_capacity_available");
      offer.available = !regions.empty();
      if (regions.empty()) offers.push_back(offer);   // sold out everywhere: shown, not tried
      for (const json::Value& region : regions) {
        offer.region = json::text(region, "name");
        offers.push_back(offer);
      }
    }
    return offers;
  }

  Machine launch(const Intent& intent) override {
    json::ValueMap wanted{{"region_name", intent.offer.region},
                          {"instance_type_name", intent.offer.id},
                          {"ssh_key_names", json::ValueList{ssh_key()}},
                          {"name", intent.id},
                          {"user_data", cloud_init(intent)}};
    if (const std::string rules = open_port(intent); !rules.empty())
      wanted.emplace_back("firewall_rulesets", json::ValueList{json::ValueMap{{"id", rules}}});
    const json::Value answer = rest_.post("/instance-operations/launch", wanted);
    const std::string id = json::text(answer, "data.instance_ids.0");
    if (id.empty()) throw ProviderError(Failure::kRetryLater, "lambda: launch", "the answer names no instance", 0, true);
    return {.id = id, .name = intent.id};
  }

  std::optional<Machine> describe(const Intent& intent) override {
    const auto answer = rest_.get_if_there("/instances/" + intent.machine);
    if (!answer || ended(json::at(*answer, "data"))) return std::nullopt;
    return machine(json::at(*answer, "data"));
  }

  void terminate(const Intent& intent) override {
    const json::ValueMap which{{"instance_ids", json::ValueList{intent.machine}}};
    if_there([&] { return rest_.post("/instance-operations/terminate", which); });
  }

  std::vector<Machine> list_owned(const std::string& owner) override {
    const json::Value answer = rest_.get("/instances");
    std::vector<Machine> machines;
    for (const json::Value& instance : json::list(answer, "data"))
      if (json::text(instance, "name").starts_with(name_prefix(owner)) && !ended(instance)) machines.push_back(machine(instance));
    return machines;
  }

  void cleanup(const Intent& intent) override {   // the rules: a repeated launch may have left several
    const json::Value answer = rest_.get("/firewall-rulesets");
    for (const json::Value& rules : json::list(answer, "data"))
      if (json::text(rules, "name") == intent.id) rest_.remove_if_there("/firewall-rulesets/" + json::text(rules, "id"));
  }

 private:
  // Lambda lets nothing in but SSH, except in one region, which has no firewall and refuses rules. Those of this machine go with
  // it.
  std::string open_port(const Intent& intent) {
    constexpr const char* kOpenRegion = "us-south-1";
    if (intent.offer.region == kOpenRegion) return {};
    const json::Value port{std::int64_t{kServerPort}};
    const json::ValueMap rule{{"protocol", "tcp"},
                              {"port_range", json::ValueList{port, port}},
                              {"source_network", "0.0.0.0/0"},
                              {"description", "Kedge: TLS and a token"}};
    const json::Value answer =
        rest_.post("/firewall-rulesets",
                   json::ValueMap{{"name", intent.id}, {"region", intent.offer.region}, {"rules", json::ValueList{rule}}});
    return json::text(answer, "data.id");
  }

  // A launch must name a key. We never use it: any of the account's does, or one whose private half is thrown away.
  std::string ssh_key() {
    const json::Value keys = rest_.get("/ssh-keys");
    if (std::string name = json::text(keys, "data.0.name"); !name.empty()) return name;
    rest_.post("/ssh-keys", json::ValueMap{{"name", "kedge"}});
    return "kedge";
  }

  static bool ended(const json::Value& instance) { return json::text(instance, "status") == "terminated"; }

  static Machine machine(const json::Value& instance) {
    Machine machine{.id = json::text(instance, "id"),
                    .name = json::text(instance, "name"),
                    .address = json::text(instance, "ip"),
                    .port = kServerPort,
                    .private_address = json::text(instance, "private_ip"),
                    .detail = json::text(instance, "status")};
    if (machine.detail == "active") machine.state = MachineState::kRunning;
    else if (machine.detail != "booting") machine.state = MachineState::kEnding;
    return machine;
  }

  Rest rest_;
};

}   // namespace

// Set up by LAMBDA_API_KEY.
std::unique_ptr<Provider> make_lambda(const Surroundings& here) {
  const auto key = here.variable("LAMBDA_API_KEY");
  if (!key) return nullptr;
  return std::make_unique<Lambda>(here.http, *key, here.variable("KEDGE_LAMBDA_URL").value_or("https://cloud.lambda.ai/api/v1"));
}

}   // namespace kedge::provisioning
