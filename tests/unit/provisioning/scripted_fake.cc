// The recorded shapes of the providers' answers.
#include "tests/unit/provisioning/scripted_fake.h"

#include <fmt/core.h>

#include <algorithm>

#include "provisioning/json.h"
#include "tests/unit/provisioning/fake_answers.h"

namespace kedge::provisioning {
namespace {

using namespace fakes;

Response runpod(FakeMachines& machines, const Request& request, std::int64_t now) {
  if (!authorized(request, "Bearer key")) return unauthorized();
  const auto show = [](const FakeMachines::Row& row) {
    return fmt::format(R"({{"id":"{}","name":"{}","desiredStatus":"{}","publicIp":"192.0.2.7","portMappings":{{"5334":40123}}}})",
                       row.id, row.name, row.alive ? "RUNNING" : "TERMINATED");
  };
  if (ends(request, "/graphql"))
    return ok(
        R"({"data":{"gpuTypes":[{"id":"NVIDIA L4","displayName":"L4","secure":{"minimumBidPrice":0.22,"uninterruptablePrice":0.43,)"
        R"("minVcpu":12,"minMemory":50,"stockStatus":"High"},"community":{"minimumBidPrice":0.2,"uninterruptablePrice":0.34,)"
        R"("minVcpu":8,"minMemory":40,"stockStatus":"Low"}},{"id":"NVIDIA A40","displayName":"A40","secure":null,"community":null}]}})");
  if (request.method == "POST") {
    const json::Value body = json::parse(request.body);
    const auto& versions = json::list(body, "allowedCudaVersions");
    if (json::text(body, "cloudType") != "COMMUNITY" || json::text(body, "allowedCudaVersions.0") != "13.0") return refused();
    // It knows none beyond 13.0 yet, and says so.
    if (versions.size() > 1)
      return {.status = 400,
              .body = R"({"error":"allowedCudaVersions: 13.1 is not one of the allowed values","status":400})"};
    const std::string id = machines.make(json::text(json::parse(request.body), "name"), now);
    return made(machines, id, fmt::format(R"({{"id":"{}","desiredStatus":"RUNNING","portMappings":null}})", id), "{}");
  }
  if (ends(request, "/pods")) return ok(joined(machines.shown(now), show));
  const std::string id = after(request, "/pods/");
  const auto* row = machines.find(id, now);
  if (request.method == "DELETE") return !row ? not_found() : machines.end(id, now) ? Response{.status = 204} : refused();
  return row ? ok(show(*row)) : not_found();
}

Response vastai(FakeMachines& machines, const Request& request, std::int64_t now) {
  if (!authorized(request, "Bearer key")) return unauthorized();
  const auto show = [](const FakeMachines::Row& row) {
    return fmt::format(
        R"({{"id":{},"label":"{}","actual_status":"running","public_ipaddr":"192.0.2.8 ","ports":{{"5334/tcp":[{{"HostIp":"0.0.0.0","HostPort":"41000"}}]}}}})",
        row.id, row.name);
  };
  if (ends(request, "/bundles/"))
    return ok(
        R"({"offers":[{"id":990,"gpu_name":"L4","num_gpus":1,"cuda_max_good":12.4,"geolocation":"Sweden, SE","dph_total":0.11,"min_bid":0.1},)"
        R"({"id":991,"cuda_max_good":13.0,"gpu_name":"L4","num_gpus":1,"cpu_cores_effective":8.0,"cpu_ram":32000,"geolocation":"Sweden, SE","dph_total":0.31,"min_bid":0.2}]})");
  if (request.url.find("/asks/990") != std::string::npos) return refused();   // its driver is too old
  if (request.url.find("/asks/") != std::string::npos) {
    const std::string id = machines.make(json::text(json::parse(request.body), "label"), now);
    return made(machines, id, fmt::format(R"({{"success":true,"new_contract":{}}})", id), R"({"success":true})");
  }
  if (ends(request, "/instances/")) return ok(R"({"instances":)" + joined(machines.shown(now), show) + "}");
  const std::string id = after(request, "/instances/");
  const auto* row = machines.find(id, now);
  if (request.method == "DELETE")
    return !row || !row->alive ? not_found() : machines.end(id, now) ? ok(R"({"success":true})") : refused();
  return ok(row && row->alive ? R"({"instances":)" + show(*row) + "}" : R"({"instances":null})");
}

Response lambda(FakeMachines& machines, const Request& request, std::int64_t now) {
  if (!authorized(request, "Basic a2V5Og==")) return unauthorized();
  const auto show = [](const FakeMachines::Row& row) {
    return fmt::format(R"({{"id":"{}","name":"{}","ip":"192.0.2.9","private_ip":"10.0.0.9","status":"{}"}})", row.id,
                       row.name, row.alive ? "active" : "terminated");
  };
  if (ends(request, "/instance-types"))
    return ok(
        R"x({"data":{"gpu_1x_l4":{"instance_type":{"name":"gpu_1x_l4","gpu_description":"L4 (24 GB PCIe)","price_cents_per_hour":75,)x"
        R"("specs":{"vcpus":30,"memory_gib":200,"gpus":1}},"regions_with_capacity_available":[{"name":"us-west-1"},{"name":"us-east-1"}]}}})");
  if (ends(request, "/ssh-keys")) return ok(request.method == "POST" ? R"({"data":{"name":"kedge"}})" : R"({"data":[]})");
  if (ends(request, "/firewall-rulesets") && request.method == "POST")
    return machines.side_name = json::text(json::parse(request.body), "name"), ++machines.side_objects,
           ok(R"({"data":{"id":"rules-1"}})");
  if (ends(request, "/firewall-rulesets"))
    return ok(machines.side_objects > 0 ? fmt::format(R"({{"data":[{{"id":"rules-1","name":"{}"}}]}})", machines.side_name)
                                        : R"({"data":[]})");
  if (request.url.find("/firewall-rulesets/") != std::string::npos)
    return machines.alive() > 0 ? refused() : (machines.side_objects = 0, ok("{}"));
  if (ends(request, "/launch")) {
    const json::Value body = json::parse(request.body);
    if (json::text(body, "firewall_rulesets.0.id") != "rules-1") return refused();   // the machine could not be reached
    const std::string id = machines.make(json::text(body, "name"), now);
    return ok(machines.partial ? R"({"data":{"instance_ids":[]}})" : fmt::format(R"({{"data":{{"instance_ids":["{}"]}}}})", id));
  }
  if (ends(request, "/terminate")) {
    const std::string id = json::text(json::parse(request.body), "instance_ids.0");
    return !machines.find(id, now) ? not_found()
           : machines.end(id, now) ? ok(R"({"data":{"terminated_instances":[]}})")
                                   : refused();
  }
  if (ends(request, "/instances")) return ok(R"({"data":)" + joined(machines.shown(now), show) + "}");
  const auto* row = machines.find(after(request, "/instances/"), now);
  return row ? ok(R"({"data":)" + show(*row) + "}") : not_found();
}

Response verda(FakeMachines& machines, const Request& request, std::int64_t now) {
  if (ends(request, "/oauth2/token")) return ok(R"({"access_token":"tok","expires_in":3600})");
  if (!authorized(request, "Bearer tok")) return unauthorized();
  const json::Value body = json::parse(request.body);
  const auto show = [](const FakeMachines::Row& row) {
    return fmt::format(R"({{"id":"{}","hostname":"{}","ip":"192.0.2.10","status":"{}","volume_ids":["vol-1"]}})", row.id,
                       row.name, row.alive ? "running" : "deleted");
  };
  if (ends(request, "/instance-types"))
    return ok(
        R"([{"instance_type":"1L4.8V","supported_os":["ubuntu-24.04-cuda-12.8-open-docker","ubuntu-24.04-cuda-13.0-open-docker","ubuntu-24.04-cuda-13.0-open"],"model":"L4","price_per_hour":"0.62","spot_price":"0.21","gpu":{"number_of_gpus":1},"cpu":{"number_of_cores":8},"memory":{"size_in_gigabytes":30}}])");
  if (ends(request, "/instance-availability")) return ok(R"([{"location_code":"FIN-01","availabilities":["1L4.8V"]}])");
  if (ends(request, "/ssh-keys")) return ok(R"([{"id":"key-1","name":"a"}])");
  if (ends(request, "/scripts") && request.method == "POST")
    return machines.side_name = json::text(body, "name"), ++machines.side_objects, ok("\"script-1\"");
  if (ends(request, "/scripts"))
    return ok(machines.side_objects > 0 ? fmt::format(R"([{{"id":"script-1","name":"{}"}}])", machines.side_name) : "[]");
  if (request.url.find("/scripts/") != std::string::npos) return machines.side_objects = 0, Response{.status = 204};
  if (ends(request, "/instances") && request.method == "POST") {
    if (json::text(body, "image") != "ubuntu-24.04-cuda-13.0-open-docker") return refused();
    const std::string id = machines.make(json::text(body, "hostname"), now);
    return made(machines, id, fmt::format(R"({{"id":"{}"}})", id), "{}");
  }
  if (ends(request, "/instances") && request.method == "PUT") {
    const std::string id = json::text(body, "id");
    return !machines.find(id, now) ? not_found() : machines.end(id, now) ? ok("{}") : refused();
  }
  if (ends(request, "/instances")) return ok(joined(machines.shown(now), show));
  const auto* row = machines.find(after(request, "/instances/"), now);
  return row ? ok(show(*row)) : not_found();
}

}   // namespace

std::string FakeMachines::make(const std::string& name, std::int64_t now) {
  rows.push_back({.id = fmt::format("{}", 7000 + rows.size()), .name = name, .created = now, .visible = now + lag_s});
  return rows.back().id;
}

bool FakeMachines::end(const std::string& id, std::int64_t now) {
  for (Row& row : rows) {
    if (row.id != id) continue;
    if (now < row.created + busy_s) return false;
    if (lies > 0) --lies;
    else row.alive = false;
  }
  return true;
}

const FakeMachines::Row* FakeMachines::find(const std::string& id, std::int64_t now) const {
  for (const Row& row : rows)
    if (row.id == id && now >= row.visible) return &row;
  return nullptr;
}

std::vector<FakeMachines::Row> FakeMachines::shown(std::int64_t now) const {
  std::vector<Row> found;
  std::ranges::copy_if(rows, std::back_inserter(found), [now](const Row& row) { return row.alive && now >= row.visible; });
  return found;
}

int FakeMachines::alive() const {
  return static_cast<int>(std::ranges::count(rows, true, &Row::alive));
}

http::Response ScriptedFake::send(const http::Request& request) {
  ++calls;
  clock_.sleep(std::chrono::milliseconds(100));
  const Fault now = calls == fault_at ? fault : Fault::kNone;
  if (now == Fault::kTooManyRequests)
    return {.status = 429, .body = R"({"error":"slow down"})", .headers = {{"retry-after", "3"}}};
  if (now == Fault::kServerError) return {.status = 500, .body = "oops"};
  http::Response response = script_(machines, request, clock_.unix_seconds());
  if (now == Fault::kErrorAfterSuccess) return {.status = 502, .body = "<html>Bad Gateway</html>"};
  if (now == Fault::kLostReply) throw ProviderError(Failure::kRetryLater, "fake", "timeout", 0, true);
  return response;
}

std::vector<FakeRow> fake_rows() {
  std::vector<FakeRow> rows = more_fake_rows();
  const std::vector<FakeRow> these{{"runpod", {{"RUNPOD_API_KEY", "key"}}, runpod},
                                   {"vastai", {{"VAST_API_KEY", "key"}}, vastai},
                                   {"lambda", {{"LAMBDA_API_KEY", "key"}}, lambda},
                                   {"verda", {{"VERDA_CLIENT_ID", "id"}, {"VERDA_CLIENT_SECRET", "secret"}}, verda}};
  rows.insert(rows.begin(), these.begin(), these.end());
  return rows;
}

}   // namespace kedge::provisioning
