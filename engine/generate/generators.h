// The list of generators: what each takes, how large its table is, and how it is filled.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/generate/rows.h"

namespace kedge::engine::generate {

// What one call makes.
struct Table {
  std::int64_t n_rows = 0, n_features = 0;
  std::int64_t n_classes = 0;   // of the target, which is 0, 1 ...; 0: it is a number
  std::uint32_t seed = 0;
  std::function<void(const Rows&, Draws&)> fill;
};

struct Generator {
  std::string name, doc;
  std::vector<schema::ParamInfo> params;
  std::function<Table(const schema::ValueMap&)> plan;   // checks the parameters; its errors have where = "params..."
};

Generator classification();
std::vector<Generator> regressions();
std::vector<Generator> shapes();   // blobs, moons, circles, curves

// What a generator may hold beside the table, in numbers: kedged makes it in its own memory.
inline constexpr std::int64_t kMostHeld = 10'000'000;

// n_samples and random_state, which all have. random_state: scikit-learn's default is a new seed each time, ours 0.
template <class P>
ParamSet<P>& add_common(ParamSet<P>& set) {
  return set.add("n_samples", &P::n_samples, at_least(1), "Rows.")
      .add("random_state", &P::random_state, between(0, 4294967295.0), "Seed of the random numbers.");
}

template <class P>
Generator made(std::string doc, const ParamSet<P>& set, Table (*plan)(const P&)) {
  return {set.owner(), std::move(doc), set.infos(), [&set, plan](const schema::ValueMap& params) {
            const P parsed = set.parse(params);
            Table table = plan(parsed);
            table.n_rows = parsed.n_samples;
            table.seed = static_cast<std::uint32_t>(parsed.random_state);
            return table;
          }};
}

}   // namespace kedge::engine::generate
