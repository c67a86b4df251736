// The providers of machines. One row each.
#include "provisioning/providers.h"

#include <fmt/core.h>

#include <cstdlib>

namespace kedge::provisioning {

// Each in the file of its name in providers/.
ProviderFactory make_local, make_docker, make_ssh, make_aws, make_runpod, make_vastai, make_lambda, make_verda,
    make_gcp, make_hyperstack, make_vultr, make_tensordock, make_scaleway, make_digitalocean;

namespace {

constexpr ProviderRow kProviders[] = {
    {"local", "a process on this machine", "kedged in this program's folder, or KEDGE_KEDGED", false, make_local},
    {"docker", "a container on this machine", "KEDGE_DOCKER, or docker or podman with an engine that answers", false,
     make_docker, "", "examples/cluster/compose.yaml starts containers as one cluster"},
    {"ssh", "machines that you have", "KEDGE_SSH_HOSTS (user@host,...)", false, make_ssh,
     "each is another machine: name them as hosts of the cluster (docs/cluster.md)"},
    {"aws", "EC2 instances", "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE in ~/.aws/credentials", true,
     make_aws},
    {"runpod", "pods", "RUNPOD_API_KEY", true, make_runpod,
     "pods share no private network; its clusters are another product"},
    {"vastai", "machines of many hosts", "VAST_API_KEY", true, make_vastai,
     "its machines are of many hosts, which share no private network"},
    {"lambda", "GPU machines", "LAMBDA_API_KEY", true, make_lambda},
    {"verda", "GPU machines", "VERDA_CLIENT_ID and VERDA_CLIENT_SECRET", true, make_verda,
     "it names no private network of its machines"},
    {"gcp", "Compute Engine instances",
     "GOOGLE_APPLICATION_CREDENTIALS (a service account), or KEDGE_GCP_TOKEN and GOOGLE_CLOUD_PROJECT", true, make_gcp},
    {"hyperstack", "GPU machines", "HYPERSTACK_API_KEY", true, make_hyperstack,
     "each machine has an environment, and so a network, of its own"},
    {"vultr", "GPU and compute machines", "VULTR_API_KEY", true, make_vultr,
     "a private network must be made and attached, which is not done"},
    {"tensordock", "machines of many hosts", "TENSORDOCK_API_TOKEN", true, make_tensordock,
     "its machines are of many hosts, which share no private network"},
    {"scaleway", "GPU and compute instances", "SCW_SECRET_KEY and SCW_DEFAULT_PROJECT_ID", true, make_scaleway,
     "a private network must be made and attached, which is not done"},
    {"digitalocean", "droplets with GPUs and without", "DIGITALOCEAN_TOKEN", true, make_digitalocean, "",
     "its droplets have no firewall, so every stranger would reach MPI's ports"},
};

}  // namespace

std::span<const ProviderRow> provider_rows() {
  return kProviders;
}

std::string_view why_no_gang(std::string_view provider) {
  for (const ProviderRow& row : kProviders)
    if (row.name == provider) return row.no_gang;
  return {};
}

std::string_view why_no_cluster(std::string_view provider) {
  for (const ProviderRow& row : kProviders)
    if (row.name == provider) return *row.no_gang ? row.no_gang : row.no_cluster;
  return {};
}

void check_gang(const Wish& wish) {
  const std::string_view reason = wish.nodes > 1 ? why_no_gang(wish.provider) : std::string_view();
  if (!reason.empty())
    throw schema::Error(schema::ErrorCode::kInvalidValue,
                        fmt::format("{} rents no gangs of {} machines: {}", wish.provider, wish.nodes, reason),
                        "nodes");
  if (!wish.cluster) return;
  if (wish.nodes < 2)
    throw schema::Error(schema::ErrorCode::kInvalidValue, "a cluster has 2 machines or more: --nodes says how many",
                        "cluster");
  if (const std::string_view why = why_no_cluster(wish.provider); !why.empty())
    throw schema::Error(schema::ErrorCode::kInvalidValue, fmt::format("{} rents no clusters: {}", wish.provider, why),
                        "cluster");
}

std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

std::vector<std::unique_ptr<Provider>> make_providers(const Surroundings& here, const std::string& only) {
  std::vector<std::unique_ptr<Provider>> providers;
  std::vector<std::string_view> names;
  std::string looked;
  for (const ProviderRow& row : kProviders) {
    names.emplace_back(row.name);
    if (only.empty() ? !row.by_default : only != row.name) continue;
    if (auto provider = row.make(here))
      providers.push_back(std::move(provider));
    else
      looked += fmt::format("\n  {:<12}{}", row.name, row.needs);
  }
  if (!providers.empty()) return providers;
  if (!looked.empty()) throw schema::Error(schema::ErrorCode::kInvalidValue, "no credentials; looked at:" + looked, "provider");
  const auto near = schema::nearest_name(only, names);
  throw schema::Error(
      schema::ErrorCode::kInvalidValue,
      fmt::format("there is no provider '{}'{}", only, near.empty() ? "" : fmt::format("; did you mean {}?", near)), "provider");
}

std::vector<std::unique_ptr<Provider>> make_every_provider(const Surroundings& here) {
  std::vector<std::unique_ptr<Provider>> providers;
  for (const ProviderRow& row : kProviders)
    if (auto provider = row.make(here)) providers.push_back(std::move(provider));
  return providers;
}

}  // namespace kedge::provisioning
