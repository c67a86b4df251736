// The settings of the device "cluster", of which some are right or wrong only together.
#pragma once

#include <string>

#include "server/config.h"

namespace kedge::server {

// Each takes the text of one setting. Errors: kInvalidValue, "is 'TEXT', must be ...".
void set_cluster_launcher(Config& config, const std::string& text);
void set_cluster_device(Config& config, const std::string& text);
void set_cluster_command(Config& config, const std::string& text);
void set_cluster_key(Config& config, const std::string& text);

// What one setting alone cannot say, when all are known. Errors: kInvalidValue, and kNotFound for a key that cannot be
// read; `where` is the setting.
void check_cluster(const Config& config);

}   // namespace kedge::server
