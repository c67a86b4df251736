// Fits whose sums over rows are dealt: see dealt_sums.h.
#include "engine/estimators/dealt_sums.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/comm/dealt_blocks.h"
#include "engine/comm/limb_meeting.h"

namespace kedge::engine {
namespace {

// What these read of all rows in every iteration, or once, are sums and ranges that engine/backend/cuda divides. Others
// may use the same operations, but most of their fit would be each rank's own.
constexpr std::array<std::string_view, 17> kOnGpus{
    "StandardScaler", "MinMaxScaler",    "MaxAbsScaler", "PCA",         "TruncatedSVD",       "LinearRegression",
    "Ridge",          "RidgeClassifier", "Lasso",        "ElasticNet",  "LogisticRegression", "KMeans",
    "GaussianNB",     "MultinomialNB",   "ComplementNB", "BernoulliNB", "CategoricalNB"};

// The ranks that the calling thread has when it is asked: within a rank's share there are none.
class MeetingOfRanks final : public RowMeeting {
 public:
  RankSeat seat() const override {
    const Ranks* const ranks = ranks_of_row_sums();
    return ranks ? RankSeat{ranks->rank(), ranks->size()} : RankSeat{};
  }
  void add(std::span<std::int64_t> largest, std::span<std::int64_t> limbs, const std::function<void()>& make,
           const std::function<void()>& cut) override {
    Ranks& ranks = *ranks_of_row_sums();
    meet_for_largest(ranks, largest, make);
    meet_for_limbs(ranks, largest, limbs, cut);
  }
  std::vector<std::byte> gather(const std::function<std::vector<std::byte>()>& own) override {
    return ranks_of_row_sums()->share(own).bytes;
  }
};

}   // namespace

bool deals_row_sums(const CatalogueEntry& entry, const Device& device) {
  if (!deals_row_sums(entry.dealt)) return false;
  return device.traits().uses_host_memory ||
         (row_sums_device(device) && std::ranges::find(kOnGpus, entry.info.name) != kOnGpus.end());
}

DealtSumsScope::DealtSumsScope(Device& device, bool are_dealt)
    : sums_(are_dealt),
      meeting_(std::make_unique<MeetingOfRanks>()),
      device_(are_dealt ? row_sums_device(device) : nullptr) {
  if (device_) before_ = device_->meet_by(meeting_.get());
}

DealtSumsScope::~DealtSumsScope() {
  if (device_) device_->meet_by(before_);
}

Ranks* ranks_of_rows_on(const Device& device, std::int64_t n) {
  const RowSumsDevice* const other = device.traits().uses_host_memory ? nullptr : row_sums_device(device);
  const bool are_dealt = device.traits().uses_host_memory ? n >= kLeastDealtRows : other && other->asks_for(n);
  return are_dealt ? ranks_of_row_sums() : nullptr;
}

}   // namespace kedge::engine
