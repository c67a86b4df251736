// Settings and start-up text for new machines.
#include "provisioning/bootstrap.h"

#include <fmt/core.h>

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

}   // namespace

Settings server_settings(const Intent& intent, const std::string& listen) {
  return {{"KEDGE_LISTEN", listen},
          {"KEDGE_TLS_CERT", intent.identity.certificate},
          {"KEDGE_TLS_KEY", intent.identity.key},
          {"KEDGE_TOKEN_SHA256", crypto::sha256_hex(intent.identity.token)},
          {"KEDGE_IDLE_END", std::to_string(intent.lease.idle_s)},
          {"KEDGE_LIFE_END", std::to_string(intent.lease.life_s)},
          {"KEDGE_PRICE_PER_HOUR", fmt::format("{}", intent.offer.price_usd_per_hour * intent.nodes)},
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
  for (const auto& [name, value] : server_settings(intent, fmt::format("0.0.0.0:{}", kServerPort))) {
    exports += fmt::format("export {}={}\n", name, shell_quote(value));
    names += " -e " + name;
  }
  const bool gpus = intent.offer.gpus > 0;
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
  {gpus}-p {port}:{port} -v kedge-data:/data{names} {image}
echo "kedge: the server has ended with $?"
end_machine
)",
                     fmt::arg("id", intent.id), fmt::arg("end", machine_end),
                     fmt::arg("fuse", intent.lease.life_s + kFuseSlack_s), fmt::arg("exports", exports),
                     fmt::arg("image", shell_quote(intent.image)), fmt::arg("prepare", gpus ? kPrepareGpus : ""),
                     fmt::arg("gpus", gpus ? "--gpus all " : ""), fmt::arg("port", kServerPort), fmt::arg("names", names));
}

std::string cloud_init(const Intent& intent, const std::string& machine_end) {
  return "#cloud-config\nwrite_files:\n- path: /root/kedge-start\n  permissions: '0700'\n  content: |\n" +
         indented(start_script(intent, machine_end), "    ") +
         "\nruncmd:\n- [sh, -c, 'nohup /root/kedge-start >/var/log/kedge-start.log 2>&1 &']\n";
}

}   // namespace kedge::provisioning
