// What the commands about machines work with: state on disk, clock, HTTP, the providers that are set up, and the controller over them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/cli/commands.h"
#include "provisioning/controller.h"
#include "provisioning/http/client.h"
#include "provisioning/providers.h"

namespace kedge::cli {

class Rental {
 public:
  // Which providers: those to rent from (`provider`, or all that are offered by default; kInvalidValue when there is none), or every one that
  // is set up.
  enum class Reach { kRent, kEverything };
  Rental(Reach reach, const std::string& provider, bool json);

  provisioning::IntentStore store{provisioning::default_state_directory()};
  provisioning::SystemClock clock;
  provisioning::http::CurlClient curl;
  provisioning::http::RetryingClient http{curl, clock};
  std::vector<std::unique_ptr<provisioning::Provider>> providers;
  provisioning::Controller controller;
};

// Asks on the terminal; false (end it) without an answer within 20 s.
bool ask_to_keep(const provisioning::Intent& intent);

provisioning::UpOptions up_options(const Options& options);
// kInvalidValue when a cloud is to be rented from and no image is named: its machine would cost money and never answer.
void check_image(const provisioning::UpOptions& up);
std::string cost_json(const provisioning::Intent& intent, std::int64_t now);     // {"machine", "provider", "offer", "costUsd"}
std::string intent_json(const provisioning::Intent& intent, std::int64_t now, const std::string& fuse = {});   // without its secrets
std::string machine_line(const provisioning::Intent& intent);                     // "aws g6.xlarge (L4) us-east-1a at 0.805 USD/h"

}  // namespace kedge::cli
