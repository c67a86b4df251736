// AWS EC2 by its query API.
// Instances of EC2: RunInstances with our intent's id as ClientToken and tag; instance-initiated shutdown terminates.
#include "provisioning/providers.h"

#include <fmt/core.h>

#include <fstream>
#include <map>
#include <sstream>

#include "crypto/random.h"
#include "provisioning/bootstrap.h"
#include "provisioning/providers/aws_api.h"
#include "provisioning/providers/aws_types.h"
#include "provisioning/providers/list_prices.h"

namespace kedge::provisioning {
namespace {

// Security groups, which cost nothing and stay. The machines of clusters reach each other at any port.
constexpr const char *kGroup = "kedge", *kClusterGroup = "kedge-cluster";

struct AwsSettings {
  AwsKeys keys;
  std::vector<std::string> regions;
  std::string endpoint, image;
  ListPrices prices;
};

std::string zone_to_region(const std::string& zone) {   // us-east-1a -> us-east-1
  std::string region = zone;
  while (!region.empty() && !std::isdigit(static_cast<unsigned char>(region.back()))) region.pop_back();
  return region;
}

class Aws final : public Provider {
 public:
  Aws(const Surroundings& here, AwsSettings settings)
      : api_(here.http, here.clock, settings.keys, settings.endpoint), clock_(here.clock), settings_(std::move(settings)) {}

  std::string_view name() const override { return "aws"; }
  std::string_view fuse() const override { return "the machine shuts itself down, which terminates it"; }
  bool launch_repeatable() const override { return true; }

  std::vector<Offer> offers(const Wish& wish) override {
    std::vector<const AwsType*> types;
    for (const AwsType& type : aws_types())
      if (wish.gpu.empty() || canonical_gpu(wish.gpu) == type.gpu) types.push_back(&type);
    if (types.empty())   // nothing fits: the names alone, for "nearest"
      for (const AwsType& type : aws_types()) types.push_back(&type);
    std::vector<Offer> offers;
    for (const std::string& region : settings_.regions) {
      if (wish.market != Market::kSpot) add_on_demand(region, types, offers);
      if (wish.market != Market::kOnDemand) add_spot(region, types, offers);
    }
    return offers;
  }

  Machine launch(const Intent& intent) override {
    const std::string region = zone_to_region(intent.offer.region);
    Fields fields{{"ImageId", image(region, intent.offer.gpus > 0)},
                  {"InstanceType", intent.offer.id},
                  {"MinCount", "1"},
                  {"MaxCount", "1"},
                  {"ClientToken", intent.id},
                  {"SecurityGroupId.1", security_group(region, intent.is_clustered())},
                  {"Placement.AvailabilityZone", intent.offer.region},
                  {"InstanceInitiatedShutdownBehavior", "terminate"},
                  {"MetadataOptions.HttpTokens", "required"},
                  {"UserData", crypto::base64(cloud_init(intent))}};
    if (intent.offer.spot) {
      fields.emplace_back("InstanceMarketOptions.MarketType", "spot");
      fields.emplace_back("InstanceMarketOptions.SpotOptions.SpotInstanceType", "one-time");
    }
    int n = 0;
    for (const char* kind : {"instance", "volume"}) {
      const std::string tags = fmt::format("TagSpecification.{}.", ++n);
      fields.emplace_back(tags + "ResourceType", kind);
      add_tag(fields, tags, 1, "Name", intent.id);
      add_tag(fields, tags, 2, "kedge-owner", owner_of(intent.id));
    }
    const xml::Node answer = api_.ec2(region, "RunInstances", std::move(fields));
    const auto& made = answer.at("instancesSet").children;
    if (made.empty()) throw ProviderError(Failure::kNoCapacity, "aws: RunInstances", "it made no instance");
    return machine(made.front());
  }

  std::optional<Machine> describe(const Intent& intent) override {
    try {
      const xml::Node answer =
          api_.ec2(zone_to_region(intent.offer.region), "DescribeInstances", {{"InstanceId.1", intent.machine}});
      for (const xml::Node& instance : instances(answer))
        if (instance.value("instanceState/name") != "terminated") return machine(instance);
    } catch (const ProviderError& error) {
      if (error.words.find("InvalidInstanceID") == std::string::npos) throw;
    }
    return std::nullopt;
  }

  void terminate(const Intent& intent) override {
    try {
      api_.ec2(zone_to_region(intent.offer.region), "TerminateInstances", {{"InstanceId.1", intent.machine}});
    } catch (const ProviderError& error) {
      if (error.words.find("InvalidInstanceID.NotFound") == std::string::npos) throw;
    }
  }

  std::vector<Machine> list_owned(const std::string& owner) override {
    std::vector<Machine> machines;
    for (const std::string& region : settings_.regions) {
      std::string token;
      do {
        Fields fields{{"Filter.1.Name", "tag:kedge-owner"}, {"Filter.1.Value.1", owner}};
        if (!token.empty()) fields.emplace_back("NextToken", token);
        const xml::Node answer = api_.ec2(region, "DescribeInstances", std::move(fields));
        for (const xml::Node& instance : instances(answer))
          if (instance.value("instanceState/name") != "terminated") machines.push_back(machine(instance));
        token = answer.value("nextToken");
      } while (!token.empty());
    }
    return machines;
  }

  // The root volume goes with its instance; one that stayed nevertheless is found by its tag.
  void cleanup(const Intent& intent) override {
    const std::string region = zone_to_region(intent.offer.region);
    if (region.empty()) return;
    const xml::Node answer = api_.ec2(region, "DescribeVolumes",
                                      {{"Filter.1.Name", "tag:Name"},
                                       {"Filter.1.Value.1", intent.id},
                                       {"Filter.2.Name", "status"},
                                       {"Filter.2.Value.1", "available"}});
    for (const xml::Node& volume : answer.at("volumeSet").children)
      api_.ec2(region, "DeleteVolume", {{"VolumeId", volume.value("volumeId")}});
  }

  std::string log(const Intent& intent) override {
    const xml::Node answer = api_.ec2(zone_to_region(intent.offer.region), "GetConsoleOutput", {{"InstanceId", intent.machine}});
    std::string encoded;
    for (const char c : answer.value("output"))
      if (!std::isspace(static_cast<unsigned char>(c))) encoded += c;
    return end_of_log(crypto::base64_decoded(encoded));
  }

 private:
  static std::string owner_of(const std::string& id) {   // kedge-OWNER-RANDOM
    const std::size_t start = id.find('-') + 1;
    return id.substr(start, id.rfind('-') - start);
  }

  static void add_tag(Fields& fields, const std::string& prefix, int n, const char* key, const std::string& value) {
    fields.emplace_back(fmt::format("{}Tag.{}.Key", prefix, n), key);
    fields.emplace_back(fmt::format("{}Tag.{}.Value", prefix, n), value);
  }

  static std::vector<xml::Node> instances(const xml::Node& answer) {
    std::vector<xml::Node> found;
    for (const xml::Node& reservation : answer.at("reservationSet").children)
      for (const xml::Node& instance : reservation.at("instancesSet").children) found.push_back(instance);
    return found;
  }

  static Machine machine(const xml::Node& instance) {
    Machine machine{.id = instance.value("instanceId"), .detail = instance.value("instanceState/name")};
    for (const xml::Node& tag : instance.at("tagSet").children)
      if (tag.value("key") == "Name") machine.name = tag.value("value");
    if (machine.detail == "running") machine.state = MachineState::kRunning;
    else if (machine.detail != "pending" && !machine.detail.empty()) machine.state = MachineState::kEnding;
    machine.region = instance.value("placement/availabilityZone");
    machine.address = instance.value("ipAddress");
    machine.private_address = instance.value("privateIpAddress");
    machine.port = kServerPort;
    return machine;
  }

  std::map<std::string, std::vector<std::string>> zones(const std::string& region, const std::vector<const AwsType*>& types) {
    Fields fields{{"LocationType", "availability-zone"}, {"Filter.1.Name", "instance-type"}};
    int n = 0;
    for (const AwsType* type : types) fields.emplace_back(fmt::format("Filter.1.Value.{}", ++n), type->name);
    std::map<std::string, std::vector<std::string>> zones;
    const xml::Node answer = api_.ec2(region, "DescribeInstanceTypeOfferings", std::move(fields));
    for (const xml::Node& item : answer.at("instanceTypeOfferingSet").children)
      zones[item.value("instanceType")].push_back(item.value("location"));
    return zones;
  }

  static Offer offer_of(const AwsType& type, const std::string& zone) {
    return {.provider = "aws",
            .id = type.name,
            .gpu = type.gpu,
            .gpus = type.gpus,
            .cpus = type.cpus,
            .memory_gb = type.memory_gb,
            .region = zone};
  }

  void add_on_demand(const std::string& region, const std::vector<const AwsType*>& types, std::vector<Offer>& offers) {
    const auto where = zones(region, types);
    for (const AwsType* type : types) {
      if (!where.contains(type->name)) continue;
      const auto [price, source] = on_demand_price(region, *type);
      if (price <= 0) continue;   // without a price, no cap could be kept
      for (const std::string& zone : where.at(type->name)) {
        Offer offer = offer_of(*type, zone);
        offer.price_usd_per_hour = price;
        offer.price_source = source;
        offers.push_back(std::move(offer));
      }
    }
  }

  // What the user knows; otherwise from the price service; where that does not answer, from our list, which holds for
  // one region.
  std::pair<double, std::string> on_demand_price(const std::string& region, const AwsType& type) {
    if (const Price own = settings_.prices.of(type.name, 0, ""); own.usd_per_hour > 0) return {own.usd_per_hour, own.source};
    if (prices_answer_) {
      try {
        if (const double price = live_price(region, type); price > 0) return {price, "live"};
      } catch (const ProviderError&) {
        prices_answer_ = false;
      }
    }
    if (region == "us-east-1") return {type.list_price, kAwsListSource};
    return {0, {}};
  }

  double live_price(const std::string& region, const AwsType& type) {
    json::ValueList filters;
    for (const auto& [field, value] : Fields{{"instanceType", type.name},
                                             {"regionCode", region},
                                             {"operatingSystem", "Linux"},
                                             {"tenancy", "Shared"},
                                             {"preInstalledSw", "NA"},
                                             {"capacitystatus", "Used"}})
      filters.push_back(json::ValueMap{{"Type", "TERM_MATCH"}, {"Field", field}, {"Value", value}});
    const json::Value answer =
        api_.call("pricing", "us-east-1", "api.pricing.us-east-1.amazonaws.com", "AWSPriceListService.GetProducts",
                  json::ValueMap{{"ServiceCode", "AmazonEC2"}, {"Filters", filters}, {"MaxResults", 1}});
    const json::Value product = json::parse(json::text(answer, "PriceList.0"));
    for (const auto& [term, content] : json::map(product, "terms.OnDemand"))
      for (const auto& [dimension, price] : json::map(content, "priceDimensions")) return json::number(price, "pricePerUnit.USD");
    return 0;
  }

  void add_spot(const std::string& region, const std::vector<const AwsType*>& types, std::vector<Offer>& offers) {
    std::string now = amz_date(clock_.unix_seconds());   // 20260131T235959Z -> 2026-01-31T23:59:59Z
    now = fmt::format("{}-{}-{}T{}:{}:{}Z", now.substr(0, 4), now.substr(4, 2), now.substr(6, 2), now.substr(9, 2),
                      now.substr(11, 2), now.substr(13, 2));
    Fields fields{{"ProductDescription.1", "Linux/UNIX"}, {"StartTime", now}};
    std::map<std::string, const AwsType*> by_name;
    for (const AwsType* type : types) {
      by_name[type->name] = type;
      fields.emplace_back(fmt::format("InstanceType.{}", by_name.size()), type->name);
    }
    const xml::Node answer = api_.ec2(region, "DescribeSpotPriceHistory", std::move(fields));
    for (const xml::Node& item : answer.at("spotPriceHistorySet").children) {
      const auto type = by_name.find(item.value("instanceType"));
      const double price = std::strtod(item.value("spotPrice").c_str(), nullptr);
      if (type == by_name.end() || price <= 0) continue;
      Offer offer = offer_of(*type->second, item.value("availabilityZone"));
      offer.spot = true;
      offer.price_usd_per_hour = price;
      offer.price_source = "live";
      offers.push_back(std::move(offer));
    }
  }

  std::string image(const std::string& region, bool gpu) {
    if (!settings_.image.empty()) return settings_.image;
    const char* name = gpu ? "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
                           : "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id";
    const json::Value answer = api_.call("ssm", region, fmt::format("ssm.{}.amazonaws.com", region), "AmazonSSM.GetParameter",
                                         json::ValueMap{{"Name", name}});
    return json::text(answer, "Parameter.Value");
  }

  std::string security_group(const std::string& region, bool of_clusters) {
    const char* const name = of_clusters ? kClusterGroup : kGroup;
    const Fields wanted{{"Filter.1.Name", "group-name"}, {"Filter.1.Value.1", name}};
    for (int look = 0; look < 2; ++look) {
      const xml::Node found = api_.ec2(region, "DescribeSecurityGroups", wanted);
      if (const auto& groups = found.at("securityGroupInfo").children; !groups.empty()) return groups.front().value("groupId");
      try {
        const xml::Node made = api_.ec2(region, "CreateSecurityGroup",
                                        {{"GroupName", name}, {"GroupDescription", "Kedge servers: TLS and a token"}});
        const std::string id = made.value("groupId"), port = std::to_string(kServerPort);
        api_.ec2(region, "AuthorizeSecurityGroupIngress",
                 {{"GroupId", id},
                  {"IpPermissions.1.IpProtocol", "tcp"},
                  {"IpPermissions.1.FromPort", port},
                  {"IpPermissions.1.ToPort", port},
                  {"IpPermissions.1.IpRanges.1.CidrIp", "0.0.0.0/0"}});
        if (of_clusters)
          api_.ec2(region, "AuthorizeSecurityGroupIngress",
                   {{"GroupId", id}, {"IpPermissions.1.IpProtocol", "-1"}, {"IpPermissions.1.Groups.1.GroupId", id}});
        return id;
      } catch (const ProviderError& error) {   // another process was quicker: look again
        if (error.words.find("Duplicate") == std::string::npos) throw;
      }
    }
    throw ProviderError(Failure::kRetryLater, "aws: security group", "made, but not listed yet");
  }

  AwsApi api_;
  Clock& clock_;
  AwsSettings settings_;
  bool prices_answer_ = true;
};

// key = value lines of one [section] of an INI file.
std::map<std::string, std::string> ini_section(const std::string& path, const std::string& section) {
  std::map<std::string, std::string> values;
  std::ifstream file(path);
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    const auto trimmed = [](std::string text) {
      text.erase(0, text.find_first_not_of(" \t\r"));
      text.erase(text.find_last_not_of(" \t\r") + 1);
      return text;
    };
    line = trimmed(line);
    if (line.starts_with('[')) inside = line == "[" + section + "]";
    const std::size_t equals = line.find('=');
    if (inside && equals != std::string::npos) values[trimmed(line.substr(0, equals))] = trimmed(line.substr(equals + 1));
  }
  return values;
}

}   // namespace

// Set up by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (AWS_SESSION_TOKEN), or by the profile AWS_PROFILE of
// AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials). KEDGE_AWS_REGIONS, or AWS_REGION, AWS_DEFAULT_REGION, us-east-1;
// AWS_ENDPOINT_URL; KEDGE_AWS_AMI in place of the newest public image.
std::unique_ptr<Provider> make_aws(const Surroundings& here) {
  const auto variable = [&](const char* name, std::string otherwise = {}) {
    return here.variable(name).value_or(std::move(otherwise));
  };
  AwsSettings settings;
  settings.keys = {variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"), variable("AWS_SESSION_TOKEN")};
  if (settings.keys.access.empty() || settings.keys.secret.empty()) {
    auto section = ini_section(variable("AWS_SHARED_CREDENTIALS_FILE", variable("HOME") + "/.aws/credentials"),
                               variable("AWS_PROFILE", "default"));
    settings.keys = {section["aws_access_key_id"], section["aws_secret_access_key"], section["aws_session_token"]};
  }
  if (settings.keys.access.empty() || settings.keys.secret.empty()) return nullptr;
  std::istringstream regions(variable("KEDGE_AWS_REGIONS", variable("AWS_REGION", variable("AWS_DEFAULT_REGION", "us-east-1"))));
  for (std::string region; std::getline(regions, region, ',');) settings.regions.push_back(region);
  settings.endpoint = variable("AWS_ENDPOINT_URL");
  settings.image = variable("KEDGE_AWS_AMI");
  settings.prices = ListPrices(variable("KEDGE_AWS_PRICES"));
  return std::make_unique<Aws>(here, std::move(settings));
}

}   // namespace kedge::provisioning
