// Verda: virtual machines started by a script that is stored there first.
// Instances of Verda, with their volumes and start-up scripts.
#include "provisioning/providers.h"

#include <fmt/core.h>

#include <cstdlib>
#include <cstring>

#include "provisioning/bootstrap.h"
#include "provisioning/rest.h"

namespace kedge::provisioning {
namespace {

// The CUDA of an image's name ("ubuntu-24.04-cuda-13.0-open-docker"), which is that of its driver; -1 where it has no Docker or
// no CUDA.
double cuda_of(const std::string& image) {
  const std::size_t place = image.find("cuda-");
  if (place == std::string::npos || image.find("docker") == std::string::npos) return -1;
  return std::strtod(image.c_str() + place + std::strlen("cuda-"), nullptr);
}

class Verda final : public Provider {
 public:
  Verda(http::Client& http, std::string id, std::string secret, const std::string& base, std::string image)
      : rest_(http, "verda", base, {}), id_(std::move(id)), secret_(std::move(secret)), image_(std::move(image)) {}

  std::string_view name() const override { return "verda"; }
  std::string_view fuse() const override { return kNoFuse; }

  std::vector<Offer> offers(const Wish& wish) override {
    std::vector<Offer> offers;
    const json::Value types = call([&] { return rest_.get("/instance-types?currency=usd"); });
    for (const bool spot : {false, true}) {
      if (spot ? wish.market == Market::kOnDemand : wish.market == Market::kSpot) continue;
      const json::Value places =
          call([&] { return rest_.get(spot ? "/instance-availability?is_spot=true" : "/instance-availability?is_spot=false"); });
      for (const json::Value& place : json::list(places))
        for (const json::Value& name : json::list(place, "availabilities"))
          for (const json::Value& type : json::list(types))
            if (json::text(type, "instance_type") == json::text(name, ""))
              offers.push_back(offer_of(type, json::text(place, "location_code"), spot));
    }
    return offers;
  }

  Machine launch(const Intent& intent) override {
    const std::string image = image_.empty() ? newest_image(intent.offer) : image_;
    const json::Value keys = call([&] { return rest_.get("/ssh-keys"); });
    json::ValueList key_ids;
    if (const std::string key = json::text(keys, "0.id"); !key.empty()) key_ids.push_back(key);
    const json::Value script =
        call([&] { return rest_.post("/scripts", json::ValueMap{{"name", intent.id}, {"script", start_script(intent)}}); });
    const json::Value answer = call([&] {
      return rest_.post("/instances", json::ValueMap{{"instance_type", intent.offer.id},
                                                     {"image", image},
                                                     {"ssh_key_ids", key_ids},
                                                     {"location_code", intent.offer.region},
                                                     {"is_spot", intent.offer.spot},
                                                     {"hostname", intent.id},
                                                     {"description", intent.id},
                                                     {"startup_script_id", id_of(script)}});
    });
    if (id_of(answer).empty())
      throw ProviderError(Failure::kRetryLater, "verda: create", "the answer names no instance", 0, true);
    return {.id = id_of(answer), .name = intent.id};
  }

  std::optional<Machine> describe(const Intent& intent) override {
    const auto instance = get_if_there("/instances/" + intent.machine);
    if (!instance || ended(*instance)) return std::nullopt;
    return machine(*instance);
  }

  void terminate(const Intent& intent) override {
    const auto instance = get_if_there("/instances/" + intent.machine);
    if (!instance) return;
    const json::ValueMap end{{"id", intent.machine},
                             {"action", "delete"},
                             {"volume_ids", json::ValueList(json::list(*instance, "volume_ids"))},
                             {"delete_permanently", true}};
    if_there([&] { return call([&] { return rest_.put("/instances", end); }); });
  }

  std::vector<Machine> list_owned(const std::string& owner) override {
    const json::Value answer = call([&] { return rest_.get("/instances"); });
    std::vector<Machine> machines;
    for (const json::Value& instance : json::list(answer))
      if (json::text(instance, "hostname").starts_with(name_prefix(owner)) && !ended(instance))
        machines.push_back(machine(instance));
    return machines;
  }

  void cleanup(const Intent& intent) override {   // the script: the launch may have left several
    const json::Value scripts = call([&] { return rest_.get("/scripts"); });
    for (const json::Value& script : json::list(scripts))
      if (json::text(script, "name") == intent.id) call([&] { return rest_.remove("/scripts/" + json::text(script, "id")); });
  }

 private:
  // Which images a machine takes stands with its type; a driver for less than CUDA 13 would leave its GPU idle.
  std::string newest_image(const Offer& offer) {
    if (offer.gpus == 0) return "ubuntu-24.04";   // the start script installs Docker
    std::string best;
    const json::Value types = call([&] { return rest_.get("/instance-types?currency=usd"); });
    for (const json::Value& type : json::list(types))
      if (json::text(type, "instance_type") == offer.id) newest_of(json::list(type, "supported_os"), "", best);
    if (best.empty()) {
      const json::Value images = call([&] { return rest_.get("/images"); });
      newest_of(json::list(images), "image_type", best);
    }
    if (cuda_of(best) >= kLeastCuda) return best;
    throw ProviderError(Failure::kNoCapacity, "verda: images",
                        fmt::format("none for {} has Docker and CUDA {:.1f}; the newest is {}", offer.id, kLeastCuda,
                                    best.empty() ? "none" : best));
  }

  static void newest_of(const json::ValueList& images, std::string_view name, std::string& best) {
    for (const json::Value& image : images)
      if (const std::string text = json::text(image, name); cuda_of(text) > cuda_of(best)) best = text;
  }

  std::optional<json::Value> get_if_there(const std::string& path) {
    return if_there([&] { return call([&] { return rest_.get(path); }); });
  }

  // With a fresh access token where the old one has expired.
  template <class Call>
  json::Value call(Call call) {
    if (!signed_in_) sign_in();
    try {
      return call();
    } catch (const ProviderError& error) {
      if (error.status != 401) throw;
    }
    sign_in();
    return call();
  }

  void sign_in() {
    const json::Value answer = rest_.post(
        "/oauth2/token", json::ValueMap{{"grant_type", "client_credentials"}, {"client_id", id_}, {"client_secret", secret_}});
    rest_.set_header("Authorization", "Bearer " + json::text(answer, "access_token"));
    signed_in_ = true;
  }

  // Answers are an object with an id, or the bare id.
  static std::string id_of(const json::Value& answer) { return json::text(answer, "id", json::text(answer, "")); }

  static bool ended(const json::Value& instance) {
    const std::string status = json::text(instance, "status");
    return status == "deleted" || status == "discontinued";
  }

  static Offer offer_of(const json::Value& type, const std::string& place, bool spot) {
    Offer offer{.provider = "verda",
                .id = json::text(type, "instance_type"),
                .gpu = canonical_gpu(json::text(type, "model", json::text(type, "gpu.description"))),
                .region = place,
                .spot = spot,
                .price_source = "live"};
    offer.gpus = static_cast<int>(json::number(type, "gpu.number_of_gpus"));
    offer.cpus = static_cast<int>(json::number(type, "cpu.number_of_cores"));
    offer.memory_gb = json::number(type, "memory.size_in_gigabytes");
    offer.price_usd_per_hour = json::number(type, spot ? "spot_price" : "price_per_hour");
    if (offer.gpus == 0) offer.gpu.clear();
    return offer;
  }

  static Machine machine(const json::Value& instance) {
    Machine machine{.id = json::text(instance, "id"),
                    .name = json::text(instance, "hostname"),
                    .address = json::text(instance, "ip"),
                    .port = kServerPort,
                    .detail = json::text(instance, "status")};
    if (machine.detail == "running") machine.state = MachineState::kRunning;
    else if (machine.detail == "error" || machine.detail == "offline" || machine.detail == "deleting")
      machine.state = MachineState::kEnding;
    return machine;
  }

  Rest rest_;
  std::string id_, secret_, image_;
  bool signed_in_ = false;
};

}   // namespace

// Set up by VERDA_CLIENT_ID and VERDA_CLIENT_SECRET.
std::unique_ptr<Provider> make_verda(const Surroundings& here) {
  const auto id = here.variable("VERDA_CLIENT_ID"), secret = here.variable("VERDA_CLIENT_SECRET");
  if (!id || !secret) return nullptr;
  return std::make_unique<Verda>(here.http, *id, *secret, here.variable("KEDGE_VERDA_URL").value_or("https://api.verda.com/v1"),
                                 here.variable("KEDGE_VERDA_IMAGE").value_or(""));
}

}   // namespace kedge::provisioning
