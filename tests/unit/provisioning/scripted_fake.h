// A provider's API in a few lines: the shapes that were recorded, one machine, and faults by the number of the call.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "provisioning/errors.h"
#include "provisioning/http/client.h"
#include "tests/unit/provisioning/virtual_clock.h"

namespace kedge::provisioning {

enum class Fault { kNone, kLostReply, kTooManyRequests, kServerError, kErrorAfterSuccess };

// What all the fakes share: a machine that is made, shows late, runs, and ends at a call.
struct FakeMachines {
  struct Row {
    std::string id, name;
    std::int64_t created = 0, visible = 0;
    bool alive = true;
    bool on = true;   // where being there and running are two things
  };
  std::vector<Row> rows;
  int lies = 0;                 // so many ends are agreed to and not done
  std::int64_t lag_s = 0;       // lists show a machine so late
  std::int64_t busy_s = 0;      // so long after its making it cannot be ended
  bool id_only = false;         // the answer to a launch is the bare id
  bool partial = false;         // the answer to a launch names no machine
  int side_objects = 0;         // scripts and the like that are there
  std::string side_name;   // whose they are

  std::string make(const std::string& name, std::int64_t now);
  bool end(const std::string& id, std::int64_t now);   // false: refused while it is being made
  const Row* find(const std::string& id, std::int64_t now) const;
  std::vector<Row> shown(std::int64_t now) const;
  int alive() const;
};

// Answers one request. `body` is parsed JSON text where there is one.
using Script = std::function<http::Response(FakeMachines& machines, const http::Request& request, std::int64_t now)>;

class ScriptedFake final : public http::Client {
 public:
  ScriptedFake(Script script, VirtualClock& clock) : script_(std::move(script)), clock_(clock) {}
  http::Response send(const http::Request& request) override;

  FakeMachines machines;
  int fault_at = 0;             // number of the call, from 1; 0: never
  Fault fault = Fault::kNone;
  int calls = 0;

 private:
  Script script_;
  VirtualClock& clock_;
};

// Provider name, the environment that sets it up, and its script. One row for each provider behind HTTP; docker, ssh and local have real peers.
struct FakeRow {
  const char* provider;
  std::map<std::string, std::string> environment;
  Script script;
};
std::vector<FakeRow> fake_rows();
std::vector<FakeRow> more_fake_rows();  // those of scripted_fake_machines.cc

}  // namespace kedge::provisioning
