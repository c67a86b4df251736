// EC2 as it behaves on a bad day: replies that get lost, lists that lag, ends that do not happen. Seeded, in virtual time.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "provisioning/http/client.h"
#include "tests/unit/provisioning/virtual_clock.h"

namespace kedge::provisioning {

struct FakeInstance {
  std::string id, token, owner, zone;
  std::int64_t created = 0, visible = 0;  // from then on lists show it
  std::int64_t ends = 0;                  // shutting down until then; 0: alive
  int lies = 0;                           // so many calls to terminate say yes and do nothing
};

struct Faults {
  double lost_reply = 0, server_error = 0, throttle = 0, no_capacity = 0, partial = 0, lie = 0;
  std::int64_t lag_s = 0;  // at most
};

class FakeEc2 final : public http::Client {
 public:
  FakeEc2(VirtualClock& clock, unsigned seed) : clock_(clock), random_(seed) {}
  http::Response send(const http::Request& request) override;

  Faults faults;
  bool honours_token = true;
  std::int64_t clock_error_s = 0;      // its clock minus ours; beyond 15 minutes it refuses
  std::function<void()> step = [] {};  // before and after each call
  std::vector<FakeInstance> instances;
  int changing_calls = 0;  // of those that are not Describe or Get

  bool alive(const FakeInstance& instance) const { return instance.ends == 0; }
  bool exists(const FakeInstance& instance) const { return instance.ends == 0 || clock_.unix_seconds() < instance.ends; }

 private:
  using Fields = std::map<std::string, std::string>;
  http::Response answer(const std::string& action, const Fields& fields);
  http::Response run(const Fields& fields);
  http::Response list(const Fields& fields);
  http::Response terminate(const Fields& fields);
  std::string shown(const FakeInstance& instance);
  bool chance(double probability) { return std::uniform_real_distribution<>(0, 1)(random_) < probability; }
  std::int64_t draw(std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(0, most)(random_); }

  VirtualClock& clock_;
  std::mt19937 random_;
};

}  // namespace kedge::provisioning
