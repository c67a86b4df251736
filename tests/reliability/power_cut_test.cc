// K4: the power fails at every write of a run of 200 jobs; the store opens, and everything that was acknowledged is there.
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <set>

#include "server/store/store.h"
#include "tests/support/jobs_service.h"
#include "tests/support/power_cut_vfs.h"

namespace kedge::server {
namespace {

using schema::JobState;
using tests::CutDisk;
using tests::PowerCutVfs;

// KEDGE_LONG=1: every write; otherwise every so many, from an offset that the seed gives.
constexpr int kJobs = 200;
constexpr std::size_t kStep = 23;
constexpr std::uint32_t kSeed = 1;

// What was acknowledged to the caller, and after how many operations of the disk.
struct Told {
  std::size_t when;
  std::string job;
  bool has_ended;
};

std::string name_of(int job) {
  return "job_" + std::to_string(1000 + job);
}
std::string model_of(const std::string& job) { return "mdl" + job.substr(3); }
std::string bytes_of(const std::string& job) { return std::string(3000, job.back()); }   // of a small model, whose file comes later

class Run {
 public:
  explicit Run(PowerCutVfs& disk) : disk_(disk), store_(dir_.path(), [](const std::string&) {}) {
    for (int job = 0; job < kJobs; ++job) one(name_of(job), 10 + job);
    store_.close();
  }
  const std::vector<Told>& told() const { return told_; }

 private:
  void one(const std::string& id, std::int64_t lease) {
    write([&](StoreWriter& w) {
      w.insert({.job = {.id = id, .spec = tests::job_spec("Succeed"), .created = "t0"}, .idempotency_key = id, .digest = id});
    });
    told_.push_back({disk_.count(), id, false});
    write([&](StoreWriter& w) {
      w.change({.job = id, .state = JobState::kRunning, .time = "t1", .new_lease = lease, .starts_attempt = true});
      w.append(id, lease, "t2", schema::LogEvent{"info", std::string(300, 'x')});
    });
    write([&](StoreWriter& w) {
      w.change({.job = id,
                .state = JobState::kSucceeded,
                .time = "t3",
                .held_lease = lease,
                .result = schema::Result{.nSamples = lease},
                .model = NewModel{.info = {.id = model_of(id)}, .bytes = bytes_of(id)}});
    });
    told_.push_back({disk_.count(), id, true});
  }
  void write(std::function<void(StoreWriter&)> apply) {
    std::promise<void> done;
    store_.enqueue({.apply = std::move(apply), .committed = [&] { done.set_value(); }});
    done.get_future().get();
  }

  PowerCutVfs& disk_;
  tests::TempDir dir_;
  Store store_;
  std::vector<Told> told_;
};

// Broken promises after a cut before operation `cut`; empty: none.
std::string look_at(const std::filesystem::path& folder, std::size_t cut, const std::vector<Told>& told) try {
  Store store(folder, [](const std::string&) {});
  for (const Told& t : told) {
    if (t.when > cut) break;
    const std::optional<schema::Job> job = store.find(t.job);
    if (!job) return t.job + " was acknowledged and is lost";
    if (t.has_ended && (job->state != JobState::kSucceeded || !job->result)) return t.job + " had ended and has not";
    if (t.has_ended && (!store.find_model(model_of(t.job)) || store.model_bytes(model_of(t.job)) != bytes_of(t.job)))
      return t.job + " had left a model and has not";
  }
  for (const schema::Job& job : store.list({}, 500, {}).jobs) {
    std::int64_t seq = 0;
    int results = 0;
    for (const schema::Event& event : store.events(job.id, 0, 100)) {
      if (event.id != ++seq) return job.id + " has a gap in its events";
      results += std::holds_alternative<schema::ResultEvent>(event.body);
    }
    if (results != (job.state == JobState::kSucceeded)) return job.id + " has " + std::to_string(results) + " results";
  }
  return {};
} catch (const schema::Error& error) {
  return error.message;
}

// Cuts the power again and again; returns the first broken promise.
std::string cut_everywhere(bool obey_sync, std::size_t step, std::size_t& cuts) {
  std::vector<PowerCutVfs::Operation> operations;
  std::vector<Told> told;
  {
    PowerCutVfs disk("power-cut", obey_sync);
    const Run run(disk);
    operations = disk.operations(), told = run.told();
  }
  CutDisk disk(kSeed);
  for (std::size_t n = 0; n < operations.size(); ++n) {
    if (n % step == 0) {
      const tests::TempDir folder;
      CutDisk(disk).write_to(folder.path());
      ++cuts;
      if (std::string broken = look_at(folder.path(), n, told); !broken.empty())
        return "cut before operation " + std::to_string(n) + ": " + broken;
    }
    disk.apply(operations[n]);
  }
  return {};
}

TEST(PowerCut, LosesNothingThatWasAcknowledged) {
  std::size_t cuts = 0;
  EXPECT_EQ(cut_everywhere(/*obey_sync=*/true, std::getenv("KEDGE_LONG") ? 1 : kStep, cuts), "");
  EXPECT_GT(cuts, 50u);
  RecordProperty("cuts", static_cast<int>(cuts));
  std::printf("%zu cuts\n", cuts);
}

TEST(PowerCut, TheControlWithoutSyncsIsNoticed) {
  std::size_t cuts = 0;
  EXPECT_NE(cut_everywhere(/*obey_sync=*/false, kStep, cuts), "");
}

}  // namespace
}  // namespace kedge::server
