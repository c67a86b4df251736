// Settings and start-up text for new machines.
#include "provisioning/bootstrap.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "crypto/digest.h"

namespace kedge::provisioning {
namespace {

std::string indented(const std::string& text, const std::string& by) {
  std::string out = by;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += by;
  }
  return out;
}

// For machines with GPUs: some install their driver at the first boot, some have Docker without NVIDIA's toolkit for it.
constexpr const char* kPrepareGpus = R"(for try in $(seq 30); do
  nvidia-smi >/dev/null 2>&1 && break
  [ "$try" != 30 ] || echo "kedge: no NVIDIA driver answers on this machine"
  sleep 10
done
nvidia=https://nvidia.github.io/libnvidia-container key=/usr/share/keyrings/nvidia-container-toolkit.asc
command -v nvidia-ctk >/dev/null || for try in 1 2 3 4 5; do
  curl -fsSL "$nvidia/gpgkey" | tee "$key" >/dev/null
  echo "deb [signed-by=$key] $nvidia/stable/deb/$(dpkg --print-architecture) /" | tee /etc/apt/sources.list.d/nvidia-container-toolkit.list >/dev/null
  apt-get update -qq && apt-get install -y -qq nvidia-container-toolkit && nvidia-ctk runtime configure --runtime=docker &&
    systemctl restart docker && break
  sleep 10
done
)";

// Ranks that have the GPUs share their memory with no other worker.
void add_cluster(const Intent& intent, Settings& settings) {
  const ClusterPart& cluster = intent.cluster;
  settings.emplace_back("KEDGE_CLUSTER_RANKS", std::to_string(cluster.ranks * intent.nodes));
  settings.emplace_back("KEDGE_CLUSTER_HOSTS", fmt::format("{}", fmt::join(cluster.hosts, ",")));
  settings.emplace_back("KEDGE_CLUSTER_DEVICE", cluster.device);
  if (cluster.device == "cuda") settings.emplace_back("KEDGE_DEVICES", "cpu");
}

// The network of the agents' addresses, where MPI finds the interface that it is to use: a machine has others, such as
// Docker's bridge, 172.17.0.1 on all of them. 10.0.0.0/8 or at most 16 bits, since the head's address is not known yet.
// Empty: they are no addresses of IPv4, or have no network in common.
std::string network_of(const std::vector<std::string>& hosts) {
  std::uint32_t network = 0;
  int bits = 0;
  for (std::size_t i = 1; i < hosts.size(); ++i) {
    in_addr address{};
    if (::inet_pton(AF_INET, hosts[i].substr(0, hosts[i].find(':')).c_str(), &address) != 1) return {};
    const std::uint32_t own = ntohl(address.s_addr);
    if (i == 1) {
      network = own;
      bits = own >> 24 == 10 ? 8 : 16;
    }
    while (bits > 0 && own >> (32 - bits) != network >> (32 - bits)) --bits;
  }
  if (bits == 0 || network == 0) return {};
  const in_addr first{.s_addr = htonl(network >> (32 - bits) << (32 - bits))};
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &first, text.data(), text.size());
  return fmt::format("{}/{}", text.data(), bits);
}

// Of a machine that starts its part of the cluster in a container with the machine's network.
void add_container(const Intent& intent, Settings& settings) {
  settings.emplace_back("KEDGE_HOST_KEY", intent.cluster.key);
  const std::string network = network_of(intent.cluster.hosts);
  if (network.empty()) return;
  for (const char* part : {"btl", "oob"})
    settings.emplace_back(fmt::format("OMPI_MCA_{}_tcp_if_include", part), network);
}

// MPI takes any port, and ranks keep the copies of data sets in /var/tmp, which need the room of a disk.
constexpr const char* kClusterOptions = "--network host --shm-size 1g -v kedge-copies:/var/tmp ";

}   // namespace

Settings server_settings(const Intent& intent, const std::string& listen) {
  Settings settings{{"KEDGE_LISTEN", listen},
                    {"KEDGE_TLS_CERT", intent.identity.certificate},
                    {"KEDGE_TLS_KEY", intent.identity.key},
                    {"KEDGE_TOKEN_SHA256", crypto::sha256_hex(intent.identity.token)},
                    {"KEDGE_IDLE_END", std::to_string(intent.lease.idle_s)},
                    {"KEDGE_LIFE_END", std::to_string(intent.lease.life_s)},
                    {"KEDGE_PRICE_PER_HOUR", fmt::format("{}", intent.offer.price_usd_per_hour * intent.nodes)},
                    {"KEDGE_MACHINE", intent.id}};
  if (intent.is_clustered()) add_cluster(intent, settings);
  return settings;
}

Settings agent_settings(const Intent& intent) {
  return {{"KEDGE_HOST_AGENT", fmt::format("0.0.0.0:{}", kAgentPort)},
          {"KEDGE_AGENT_IDLE_END", std::to_string(intent.cluster.patience_s)},
          {"KEDGE_AGENT_LIFE_END", std::to_string(intent.lease.life_s)},
          {"KEDGE_MACHINE", intent.id}};
}

std::string shell_quote(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The fuse is set before anything that can fail. It counts from now, so the machine's clock may be wrong.
std::string start_script(const Intent& intent, const std::string& machine_end) {
  std::string exports, names;
  Settings settings =
      intent.is_agent() ? agent_settings(intent) : server_settings(intent, fmt::format("0.0.0.0:{}", kServerPort));
  if (intent.is_clustered()) add_container(intent, settings);
  for (const auto& [name, value] : settings) {
    exports += fmt::format("export {}={}\n", name, shell_quote(value));
    names += " -e " + name;
  }
  const bool gpus = intent.offer.gpus > 0;
  const std::string network =
      intent.is_clustered() ? kClusterOptions : fmt::format("-p {}:{} ", kServerPort, kServerPort);
  return fmt::format(R"(#!/bin/sh
# Starts {id} and ends the machine with it.
umask 077
end_machine() {{ {end}; }}
( sleep {fuse}; end_machine ) &
{exports}if ! command -v docker >/dev/null; then
  for try in 1 2 3 4 5; do
    apt-get update -qq && apt-get install -y -qq docker.io && break
    sleep 10
  done
fi
{prepare}for try in 1 2 3 4 5; do
  docker image inspect {image} >/dev/null 2>&1 || docker pull {image} && break
  sleep 10
done
docker run --rm --name kedge --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
  {gpus}{network}-v kedge-data:/data{names} {image}
echo "kedge: the server has ended with $?"
end_machine
)",
                     fmt::arg("id", intent.id), fmt::arg("end", machine_end),
                     fmt::arg("fuse", intent.lease.life_s + kFuseSlack_s), fmt::arg("exports", exports),
                     fmt::arg("image", shell_quote(intent.image)), fmt::arg("prepare", gpus ? kPrepareGpus : ""),
                     fmt::arg("gpus", gpus ? "--gpus all " : ""), fmt::arg("network", network),
                     fmt::arg("names", names));
}

std::string cloud_init(const Intent& intent, const std::string& machine_end) {
  return "#cloud-config\nwrite_files:\n- path: /root/kedge-start\n  permissions: '0700'\n  content: |\n" +
         indented(start_script(intent, machine_end), "    ") +
         "\nruncmd:\n- [sh, -c, 'nohup /root/kedge-start >/var/log/kedge-start.log 2>&1 &']\n";
}

}   // namespace kedge::provisioning
