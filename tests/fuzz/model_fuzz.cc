// Loads any bytes as a stored model, with a checksum that fits, and asks it: only the checks of each part stand between.
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

#include "engine/backend/loader.h"
#include "engine/model/stored_model.h"

namespace {

using namespace kedge::engine;

constexpr std::size_t kLongest = 1 << 20;

Device& cpu() {
  static const std::unique_ptr<Device> device = open_device("cpu");
  return *device;
}

void ask(const Context& ctx, StoredModel& model, const std::string& output) {
  ModelRows rows{.n_rows = 2};
  for (const kedge::schema::ModelColumn& column : model.info().columns)
    rows.features.push_back({column.name, column.categories, column.kind == "category"});
  rows.values.assign(2 * rows.features.size(), 0.5);
  model.answer(ctx, rows, output);
}

// As a worker does for drift: each row of zeros, of missing cells and of a value in the middle of most bins.
void count(const StoredModel& model) {
  if (!model.profile()) return;
  ModelRows rows{.n_rows = 3};
  for (const kedge::schema::ModelColumn& column : model.info().columns)
    rows.features.push_back({column.name, column.categories, column.kind == "category"});
  for (const double value : {0.0, std::numeric_limits<double>::quiet_NaN(), 5.5})
    rows.values.insert(rows.values.end(), rows.features.size(), value);
  BinCounter(*model.profile(), model.info()).count(rows);
  model.profile()->described(model.info());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > kLongest) return 0;
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(kModelAlignment, padded_size(size))), &std::free);
  std::memcpy(memory.get(), data, size);
  const std::span<std::byte> bytes(memory.get(), size);
  seal_model(bytes);
  const Context ctx{.device = cpu()};
  try {
    const auto model = StoredModel::load(ctx, ModelFile(bytes));
    for (const std::string& output : model->info().outputs) ask(ctx, *model, output);
    count(*model);
  } catch (const kedge::schema::Error&) {   // refused, as it should be
  }
  return 0;
}
