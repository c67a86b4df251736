// What a new machine gets: the settings of its server, and the cloud-init text that starts it. No SSH, no key of an
// account.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "provisioning/intent.h"

namespace kedge::provisioning {

constexpr int kServerPort = 5334;  // inside the machine
constexpr int kAgentPort = 5335;   // of `kedge host-agent`, where kedged looks for it

using Settings = std::vector<std::pair<std::string, std::string>>;

// Environment of the server: where it listens, certificate and key, the token's hash, its lease. `listen`: ADDRESS:PORT.
Settings server_settings(const Intent& intent, const std::string& listen);

// Environment of `kedge host` on a machine of a cluster that has no server: `kedge host-agent` runs there.
Settings agent_settings(const Intent& intent);

// #cloud-config for a machine with a Debian or Ubuntu system: runs the image, and powers the machine off when the server has
// ended, or at the latest when its life and some slack are over. `machine_end`: the shell line that ends the machine.
std::string cloud_init(const Intent& intent, const std::string& machine_end = "shutdown -h now");

// The script inside cloud_init(), for providers that take a script and for tests.
std::string start_script(const Intent& intent, const std::string& machine_end = "shutdown -h now");

// 'text' quoted for a POSIX shell.
std::string shell_quote(const std::string& text);

}  // namespace kedge::provisioning
