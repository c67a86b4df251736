// Intents as JSON.
#include "provisioning/intent.h"

#include <fmt/core.h>

#include <array>

#include "provisioning/json.h"
#include "schemas/error.h"

namespace kedge::provisioning {
namespace {

using json::ValueMap;
constexpr std::array<std::string_view, 3> kStages{"launching", "running", "ending"};

ValueMap offer_value(const Offer& offer) {
  return {{"provider", offer.provider},
          {"id", offer.id},
          {"gpu", offer.gpu},
          {"gpus", offer.gpus},
          {"cpus", offer.cpus},
          {"region", offer.region},
          {"spot", offer.spot},
          {"priceUsdPerHour", offer.price_usd_per_hour},
          {"priceSource", offer.price_source}};
}

Offer offer_from(const json::Value& value) {
  Offer offer;
  offer.provider = json::text(value, "provider");
  offer.id = json::text(value, "id");
  offer.gpu = json::text(value, "gpu");
  offer.gpus = static_cast<int>(json::number(value, "gpus"));
  offer.cpus = static_cast<int>(json::number(value, "cpus"));
  offer.region = json::text(value, "region");
  offer.spot = json::truth(value, "spot");
  offer.price_usd_per_hour = json::number(value, "priceUsdPerHour");
  offer.price_source = json::text(value, "priceSource");
  return offer;
}

std::int64_t whole(const json::Value& value, std::string_view path) {
  return static_cast<std::int64_t>(json::number(value, path));
}

ValueMap cluster_value(const ClusterPart& cluster) {
  json::ValueList hosts;
  for (const std::string& host : cluster.hosts) hosts.emplace_back(host);
  return {{"key", cluster.key},
          {"ranks", cluster.ranks},
          {"device", cluster.device},
          {"patienceS", cluster.patience_s},
          {"hosts", hosts}};
}

ClusterPart cluster_from(const json::Value& value) {
  ClusterPart cluster{.key = json::text(value, "key"),
                      .ranks = static_cast<int>(json::number(value, "ranks", 1)),
                      .device = json::text(value, "device"),
                      .patience_s = whole(value, "patienceS"),
                      .hosts = {}};
  for (const json::Value& host : json::list(value, "hosts")) cluster.hosts.push_back(json::text(host, ""));
  return cluster;
}

Stage stage_from(const std::string& name) {
  for (std::size_t i = 0; i < kStages.size(); ++i)
    if (kStages[i] == name) return static_cast<Stage>(i);
  throw schema::Error(schema::ErrorCode::kMalformed, fmt::format("stage is '{}', which is none", name));
}

}   // namespace

std::string_view stage_name(Stage stage) {
  return kStages.at(static_cast<std::size_t>(stage));
}

std::string name_prefix(const std::string& owner) {
  return "kedge-" + owner + "-";
}

std::string Intent::url() const {
  if (address.empty() || is_agent()) return {};
  const bool v6 = address.find(':') != std::string::npos;
  return fmt::format("https://{}{}{}:{}", v6 ? "[" : "", address, v6 ? "]" : "", port);
}

std::string intent_to_json(const Intent& intent) {
  const ValueMap lease{{"idleS", intent.lease.idle_s}, {"lifeS", intent.lease.life_s}, {"renewed", intent.lease.renewed}};
  const ValueMap identity{{"certificate", intent.identity.certificate},
                          {"key", intent.identity.key},
                          {"pin", intent.identity.pin},
                          {"token", intent.identity.token}};
  ValueMap row{{"id", intent.id},          {"offer", offer_value(intent.offer)},
               {"image", intent.image},    {"stage", std::string(stage_name(intent.stage))},
               {"oneJob", intent.one_job}, {"gang", intent.gang},
               {"nodes", intent.nodes},    {"machine", intent.machine},
               {"seen", intent.seen},      {"address", intent.address},
               {"port", intent.port},      {"lease", lease},
               {"identity", identity},     {"created", intent.created},
               {"ended", intent.ended},    {"note", intent.note}};
  if (intent.is_clustered()) row.emplace_back("cluster", cluster_value(intent.cluster));
  return json::write(row);
}

Intent intent_from_json(const std::string& text) {
  const json::Value value = json::parse(text);
  Intent intent;
  intent.id = json::text(value, "id");
  intent.offer = offer_from(json::at(value, "offer"));
  if (intent.id.empty() || intent.offer.provider.empty())
    throw schema::Error(schema::ErrorCode::kMalformed, "no intent: it has no id or no provider");
  intent.image = json::text(value, "image");
  intent.stage = stage_from(json::text(value, "stage"));
  intent.one_job = json::truth(value, "oneJob");
  intent.gang = json::text(value, "gang");
  if (!intent.gang.empty()) intent.nodes = static_cast<int>(json::number(value, "nodes"));
  intent.cluster = cluster_from(json::at(value, "cluster"));
  intent.machine = json::text(value, "machine");
  intent.seen = json::truth(value, "seen");
  intent.address = json::text(value, "address");
  intent.port = static_cast<int>(json::number(value, "port"));
  intent.lease = {whole(value, "lease.idleS"), whole(value, "lease.lifeS"), whole(value, "lease.renewed")};
  intent.identity = {json::text(value, "identity.certificate"), json::text(value, "identity.key"),
                     json::text(value, "identity.pin"), json::text(value, "identity.token")};
  intent.created = whole(value, "created");
  intent.ended = whole(value, "ended");
  intent.note = json::text(value, "note");
  return intent;
}

double cost_so_far(const Intent& intent, std::int64_t now) {
  return intent.offer.price_usd_per_hour * static_cast<double>(std::max<std::int64_t>(0, now - intent.created)) / 3600;
}

double cost_at_most(const Intent& intent) {
  return intent.offer.price_usd_per_hour * static_cast<double>(intent.lease.life_s + kFuseSlack_s) / 3600;
}

}   // namespace kedge::provisioning
