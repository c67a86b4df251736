// The recorded shapes of providers of plain virtual machines.
#include "provisioning/json.h"
#include "tests/unit/provisioning/fake_answers.h"

namespace kedge::provisioning {
namespace {

using namespace fakes;

bool has_header(const Request& request, const char* name, const char* value) {
  return std::ranges::any_of(request.headers, [&](const auto& header) { return header.first == name && header.second == value; });
}

Response gone_or_refused(FakeMachines& machines, const std::string& id, std::int64_t now) {
  const auto* row = machines.find(id, now);
  return !row || !row->alive ? not_found() : machines.end(id, now) ? Response{.status = 204} : refused();
}

Response vultr(FakeMachines& machines, const Request& request, std::int64_t now) {
  if (!authorized(request, "Bearer key")) return unauthorized();
  const auto show = [](const FakeMachines::Row& row) {
    return fmt::format(
        R"({{"id":"{}","label":"{}","main_ip":"192.0.2.11","status":"active","power_status":"running","server_status":"ok"}})",
        row.id, row.name);
  };
  if (ends(request, "/plans"))
    return ok(
        R"({"plans":[{"id":"vcg-l4-8c-30g","vcpu_count":8,"ram":30720,"monthly_cost":490,"hourly_cost":0.671,"type":"vcg","gpu_vram_gb":24,)"
        R"("gpu_type":"NVIDIA_L4","locations":["ewr","ams"]}],"meta":{"total":1,"links":{"next":"","prev":""}}})");
  if (ends(request, "/instances") && request.method == "POST") {
    const json::Value body = json::parse(request.body);
    if (json::text(body, "os_id") != "4711") return refused();
    const std::string id = machines.make(json::text(body, "label"), now);
    return made(machines, id, fmt::format(R"({{"instance":{{"id":"{}","main_ip":"0.0.0.0","status":"pending"}}}})", id), "{}");
  }
  if (ends(request, "/instances"))
    return ok(R"({"instances":)" + joined(machines.shown(now), show) + R"(,"meta":{"links":{"next":""}}})");
  const std::string id = after(request, "/instances/");
  if (request.method == "DELETE") return gone_or_refused(machines, id, now);
  const auto* row = machines.find(id, now);
  return row && row->alive ? ok(R"({"instance":)" + show(*row) + "}") : not_found();
}

// Droplets with a GPU are in a list of their own.
Response digitalocean(FakeMachines& machines, const Request& request, std::int64_t now) {
  if (!authorized(request, "Bearer key")) return unauthorized();
  const auto show = [](const FakeMachines::Row& row) {
    return fmt::format(
        R"({{"id":{},"name":"{}","status":"active","networks":{{"v4":[{{"ip_address":"10.116.0.2","type":"private"}},{{"ip_address":"192.0.2.13","type":"public"}}]}}}})",
        row.id, row.name);
  };
  if (ends(request, "/sizes")) {
    if (request.url.find("page=1") != std::string::npos)
      return ok(
          R"({"sizes":[{"slug":"gpu-mi300x1-192gb","memory":245760,"vcpus":20,"price_hourly":0.5,"regions":["tor1"],"available":true,)"
          R"("gpu_info":{"count":1,"model":"amd_mi300x","vram":{"amount":192,"unit":"gib"}}}],)"
          R"("links":{"pages":{"next":"https://api.digitalocean.com/v2/sizes?page=2"}},"meta":{"total":2}})");
    return ok(
        R"({"sizes":[{"slug":"gpu-l4x1-24gb","memory":32768,"vcpus":8,"price_hourly":0.76,"regions":["tor1","nyc2"],"available":true,)"
        R"("gpu_info":{"count":1,"model":"nvidia_l4","vram":{"amount":24,"unit":"gib"}}}],"links":{},"meta":{"total":2}})");
  }
  if (ends(request, "/droplets") && request.method == "POST") {
    const json::Value body = json::parse(request.body);
    if (json::text(body, "image") != "gpu-h100x1-base") return refused();
    const std::string id = machines.make(json::text(body, "name"), now);
    return made(machines, id, fmt::format(R"({{"droplet":{{"id":{},"status":"new","networks":{{"v4":[]}}}}}})", id),
                "{}");
  }
  if (ends(request, "/droplets")) {
    const bool of_gpus = request.url.find("type=gpus") != std::string::npos;
    return ok(R"({"droplets":)" + (of_gpus ? joined(machines.shown(now), show) : "[]") + R"(,"links":{}})");
  }
  const std::string id = after(request, "/droplets/");
  if (request.method == "DELETE") return gone_or_refused(machines, id, now);
  const auto* row = machines.find(id, now);
  return row && row->alive ? ok(R"({"droplet":)" + show(*row) + "}") : not_found();
}

// The side object is the block volume, which has the machine's name once it was given it and stays when the server is deleted.
Response scaleway(FakeMachines& machines, const Request& request, std::int64_t now) {
  if (!has_header(request, "X-Auth-Token", "key")) return unauthorized();
  const json::Value body = json::parse(request.body);
  const auto show = [](const FakeMachines::Row& row) {
    return fmt::format(
        R"({{"id":"{}","name":"{}","state":"{}","public_ip":{{"address":"192.0.2.12"}},"volumes":{{"0":{{"id":"vol-1","volume_type":"sbs_volume"}}}}}})",
        row.id, row.name, row.on ? "running" : "stopped");
  };
  if (ends(request, "/products/servers"))
    return ok(
        R"({"servers":{"L4-1-24G":{"hourly_price":0.75,"gpu":1,"ncpus":8,"ram":51539607552,"gpu_info":{"gpu_name":"L4"}}}})");
  if (ends(request, "/availability")) return ok(R"({"servers":{"L4-1-24G":{"availability":"available"}}})");
  if (ends(request, "/local-images")) return ok(R"({"local_images":[{"id":"image-1"}]})");
  if (request.url.find("/block/") != std::string::npos) {
    if (request.method == "PATCH") return machines.side_name = json::text(body, "name"), ok("{}");
    if (request.method == "DELETE")
      return machines.alive() > 0 ? Response{.status = 412, .body = R"({"type":"precondition_failed"})"}
                                  : (machines.side_objects = 0, Response{.status = 204});
    return ok(machines.side_objects > 0 ? fmt::format(R"({{"volumes":[{{"id":"vol-1","name":"{}"}}]}})", machines.side_name)
                                        : R"({"volumes":[]})");
  }
  if (ends(request, "/servers") && request.method == "POST") {
    const std::string id = machines.make(json::text(body, "name"), now);
    machines.rows.back().on = false, ++machines.side_objects, machines.side_name = "Ubuntu";
    return made(machines, id, R"({"server":)" + show(machines.rows.back()) + "}", "{}");
  }
  if (ends(request, "/servers")) return ok(R"({"servers":)" + joined(machines.shown(now), show) + "}");
  const std::string id = after(request, "/servers/");
  for (auto& row : machines.rows) {
    if (row.id != id || !row.alive) continue;
    if (ends(request, "/cloud-init")) return Response{.status = 204};
    if (ends(request, "/action") && json::text(body, "action") == "poweron") return row.on = true, ok("{}");
    if (ends(request, "/action")) return row.on ? (machines.end(id, now) ? ok("{}") : refused()) : refused();
    if (request.method == "DELETE") return row.on ? refused() : machines.end(id, now) ? Response{.status = 204} : refused();
    return now >= row.visible ? ok(R"({"server":)" + show(row) + "}") : not_found();
  }
  return not_found();
}

// The side object is the environment of the machine.
Response hyperstack(FakeMachines& machines, const Request& request, std::int64_t now) {
  if (!has_header(request, "api_key", "key")) return unauthorized();
  const json::Value body = json::parse(request.body);
  const auto show = [](const FakeMachines::Row& row) {
    return fmt::format(R"({{"id":{},"name":"{}","status":"ACTIVE","floating_ip":"192.0.2.13"}})", row.id, row.name);
  };
  if (ends(request, "/pricebook")) return ok(R"([{"name":"L4","value":"0.55"},{"name":"A100","value":1.35}])");
  if (ends(request, "/flavors"))
    return ok(
        R"({"status":true,"data":[{"gpu":"L4","region_name":"CANADA-1","flavors":[{"name":"n3-L4x1","cpu":8,"ram":29,"gpu":"L4","gpu_count":1,)"
        R"("region_name":"CANADA-1","stock_available":true}]}]})");
  if (ends(request, "/images"))
    return ok(
        R"({"images":[{"images":[{"name":"Ubuntu Server 22.04 LTS R535 CUDA 12.2 with Docker"},{"name":"Ubuntu Server 24.04 LTS R580 CUDA 13.0 with Docker"}]}]})");
  if (ends(request, "/keypairs")) return ok(request.method == "POST" ? R"({"keypair":{"id":5}})" : R"({"keypairs":[]})");
  if (ends(request, "/environments") && request.method == "POST")
    return machines.side_name = json::text(body, "name"), ++machines.side_objects, ok(R"({"environment":{"id":31}})");
  if (ends(request, "/environments"))
    return ok(machines.side_objects > 0 ? fmt::format(R"({{"environments":[{{"id":31,"name":"{}"}}]}})", machines.side_name)
                                        : R"({"environments":[]})");
  if (request.url.find("/environments/") != std::string::npos)
    return machines.alive() > 0 ? refused() : (machines.side_objects = 0, ok(R"({"status":true})"));
  if (ends(request, "/virtual-machines") && request.method == "POST") {
    if (json::text(body, "image_name").find("CUDA 13.0") == std::string::npos) return refused();
    const std::string id = machines.make(json::text(body, "name"), now);
    return made(machines, id, fmt::format(R"({{"status":true,"instances":[{{"id":{}}}]}})", id),
                R"({"status":true,"instances":[]})");
  }
  if (ends(request, "/virtual-machines")) return ok(R"({"instances":)" + joined(machines.shown(now), show) + "}");
  const std::string id = after(request, "/virtual-machines/");
  if (request.method == "DELETE") return gone_or_refused(machines, id, now);
  const auto* row = machines.find(id, now);
  return row && row->alive ? ok(R"({"instance":)" + show(*row) + "}") : not_found();
}

Response tensordock(FakeMachines& machines, const Request& request, std::int64_t now) {
  if (!authorized(request, "Bearer key")) return unauthorized();
  const auto show = [](const FakeMachines::Row& row) {
    return fmt::format(R"({{"type":"VM","id":"{}","attributes":{{"name":"{}","status":"running"}}}})", row.id, row.name);
  };
  if (ends(request, "/locations"))
    return ok(
        R"({"data":{"locations":[{"id":"loc-1","city":"Austin","country":"United States","gpus":[{"v0Name":"l4-pcie-24gb","displayName":"NVIDIA L4 PCIe 24GB",)"
        R"("max_count":8,"price_per_hr":0.4,"resources":{"max_vcpus":32,"max_ram_gb":128,"max_storage_gb":2000},"pricing":{"per_vcpu_hr":0.003,)"
        R"("per_gb_ram_hr":0.002,"per_gb_storage_hr":0.00005},"network_features":{"dedicated_ip_available":true,"port_forwarding_available":true}}]}]}})");
  if (ends(request, "/instances") && request.method == "POST") {
    const std::string id = machines.make(json::text(json::parse(request.body), "data.attributes.name"), now);
    return made(machines, id, fmt::format(R"({{"data":{{"type":"virtualmachine","id":"{}","status":"running"}}}})", id),
                R"({"data":{}})");
  }
  if (ends(request, "/instances")) return ok(R"({"data":{"instances":)" + joined(machines.shown(now), show) + "}}");
  const std::string id = after(request, "/instances/");
  if (request.method == "DELETE") return gone_or_refused(machines, id, now);
  const auto* row = machines.find(id, now);
  if (!row || !row->alive) return not_found();
  return ok(
      fmt::format(R"({{"type":"instance","id":"{}","name":"{}","status":"running","ipAddress":"192.0.2.14","portForwards":[]}})",
                  id, row->name));
}

// A name is taken while its machine is there: a second insert is answered by 409.
Response gcp(FakeMachines& machines, const Request& request, std::int64_t now) {
  if (!authorized(request, "Bearer key")) return unauthorized();
  const auto show = [](const FakeMachines::Row& row) {
    return fmt::format(
        R"({{"id":"{}","name":"{}","status":"RUNNING","networkInterfaces":[{{"networkIP":"10.0.0.15","accessConfigs":[{{"natIP":"192.0.2.15"}}]}}]}})",
        row.id, row.name);
  };
  if (ends(request, "/acceleratorTypes")) return ok(R"({"items":[{"name":"nvidia-l4"}]})");
  if (request.url.find("/global/firewalls") != std::string::npos)
    return request.method == "POST" ? ok(R"({"status":"DONE"})") : not_found();
  if (ends(request, "/wait")) return ok(R"({"name":"op-1","status":"DONE"})");
  if (request.url.find("/aggregated/instances") != std::string::npos)
    return ok(R"({"items":{"zones/us-central1-a":{"instances":)" + joined(machines.shown(now), show) +
              R"(},"zones/us-east1-b":{"warning":{}}}})");
  if (ends(request, "/instances")) {
    const std::string name = json::text(json::parse(request.body), "name");
    for (const auto& row : machines.rows)
      if (row.name == name && row.alive) return Response{.status = 409, .body = R"({"error":{"message":"already exists"}})"};
    machines.make(name, now);
    return ok(R"({"name":"op-1","status":"RUNNING"})");
  }
  if (ends(request, "/serialPort")) return ok(R"({"contents":""})");
  const std::string name = after(request, "/instances/");
  for (const auto& row : machines.rows)
    if (row.name == name && row.alive && now >= row.visible)
      return request.method != "DELETE" ? ok(show(row)) : machines.end(row.id, now) ? ok(R"({"status":"RUNNING"})") : refused();
  return not_found();
}

}   // namespace

std::vector<FakeRow> more_fake_rows() {
  return {{"gcp", {{"KEDGE_GCP_TOKEN", "key"}, {"GOOGLE_CLOUD_PROJECT", "project"}}, gcp},
          {"hyperstack", {{"HYPERSTACK_API_KEY", "key"}}, hyperstack},
          {"vultr", {{"VULTR_API_KEY", "key"}, {"KEDGE_VULTR_OS_ID", "4711"}}, vultr},
          {"digitalocean", {{"DIGITALOCEAN_TOKEN", "key"}}, digitalocean},
          {"tensordock", {{"TENSORDOCK_API_TOKEN", "key"}}, tensordock},
          {"scaleway",
           {{"SCW_SECRET_KEY", "key"}, {"SCW_DEFAULT_PROJECT_ID", "project"}, {"KEDGE_SCALEWAY_ZONES", "fr-par-2"}},
           scaleway}};
}

}   // namespace kedge::provisioning
