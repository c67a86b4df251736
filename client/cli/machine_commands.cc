// up, down, machines, offers: renting machines and giving them back.
#include "client/cli/machine_commands.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "client/cli/phase_display.h"
#include "client/cli/rental.h"
#include "client/cli/target.h"
#include "client/cli/text_table.h"
#include "provisioning/interrupt.h"
#include "provisioning/json.h"

namespace kedge::cli {
namespace {

using namespace provisioning;

json::Value offer_value(const Offer& offer, const std::string& reason) {
  json::ValueMap value{{"provider", offer.provider}, {"offer", offer.id},   {"gpu", offer.gpu},
                       {"gpus", offer.gpus},         {"cpus", offer.cpus},  {"region", offer.region},
                       {"spot", offer.spot},         {"priceUsdPerHour", offer.price_usd_per_hour}, {"priceSource", offer.price_source}};
  if (!reason.empty()) value.emplace_back("refused", reason);
  return value;
}

void print_offers(const Selection& selection, bool json, bool refused) {
  using Fit = TextTable::Fit;
  TextTable table({{.title = "provider"}, {.title = "offer", .fit = Fit::kCut}, {.title = "gpu", .fit = Fit::kCut}, {.title = "region", .fit = Fit::kCut},
                   {.title = "market"}, {"USD/h", TextTable::Align::kRight}, {.title = "price from", .fit = Fit::kWrap}});
  const auto print = [&](const Offer& offer, const std::string& reason) {
    if (json) return fmt::print("{}\n", json::write(offer_value(offer, reason)));
    const std::string gpu = offer.gpus > 1 ? fmt::format("{}x{}", offer.gpus, offer.gpu) : offer.gpu;
    table.row({offer.provider, offer.id, gpu.empty() ? "-" : gpu, offer.region, offer.spot ? "spot" : "on-demand",
               fmt::format("{:.3f}", offer.price_usd_per_hour), reason.empty() ? offer.price_source : reason});
  };
  for (const Offer& offer : selection.order) print(offer, {});
  if (refused)
    for (const auto& [offer, reason] : selection.refused) print(offer, reason);
  if (!json) fmt::print("{}", table.text(page_of(STDOUT_FILENO)));
}

// The catalogue and what is chosen from it; no call that changes anything.
int show_selection(const Options& options, bool refused) {
  Rental rental(Rental::Reach::kRent, options.rent.provider, options.json);
  const UpOptions wanted = up_options(options);
  const Catalogue catalogue = rental.controller.offers(wanted.wish);
  for (const std::string& problem : catalogue.problems) fmt::print(stderr, "{}\n", problem);
  const Selection selection = select(wanted.wish, catalogue.offers);
  print_offers(selection, options.json, refused);
  if (selection.order.empty()) fmt::print(stderr, "{}\n", selection.advice);
  return selection.order.empty() ? kFailed : kSucceeded;
}

// One from another state directory as well, when its whole name is given.
Intent chosen_machine(Rental& rental, const std::string& name) {
  const IntentStore& store = rental.store;
  const std::string id = name.empty() ? current_machine_name() : name;
  if (id.empty()) throw schema::Error(schema::ErrorCode::kNotFound, "there is no current machine; `kedge machines` lists what is rented");
  const auto listing = store.list();
  std::vector<std::string_view> names;
  for (const Intent& intent : listing.intents) {
    if (intent.id == id || intent.id.ends_with("-" + id)) return intent;
    names.emplace_back(intent.id);
  }
  if (const auto claimed = rental.controller.claim(id)) return *claimed;
  const auto near = schema::nearest_name(id, names);
  throw schema::Error(schema::ErrorCode::kNotFound,
                      fmt::format("no machine '{}'{}", id, near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

bool end_one(Rental& rental, const Intent& intent, bool json) {
  const double begin = rental.clock.steady_seconds();
  const bool gone = rental.controller.end(intent, "kedge down");
  if (json) {
    fmt::print("{}\n", json::write(json::ValueMap{{"id", intent.id}, {"gone", gone}, {"seconds", rental.clock.steady_seconds() - begin},
                                                  {"costUsd", cost_so_far(intent, rental.clock.unix_seconds())}}));
    return gone;
  }
  fmt::print(stderr, "{}: {} after {:.1f} s; {:.2f} USD\n", intent.id,
             gone ? "ended" : "told to end, not ended yet: `kedge machines gc` continues",
             rental.clock.steady_seconds() - begin, cost_so_far(intent, rental.clock.unix_seconds()));
  return gone;
}

void print_others(const Swept& swept) {
  for (const std::string& line : swept.others)
    fmt::print(stderr, "left     {}: rented from elsewhere (another state directory, or a copy of this machine); `kedge down` with its name ends it\n", line);
}

void print_swept(const Swept& swept, bool json) {
  const auto print = [json](const char* what, const std::vector<std::string>& lines, std::FILE* to) {
    for (const std::string& line : lines)
      json ? fmt::print("{}\n", json::write(json::ValueMap{{what, line}})) : fmt::print(to, "{:<9}{}\n", what, line);
  };
  print("ended", swept.ended, stdout);
  print("pending", swept.pending, stdout);
  print("problem", swept.problems, stderr);
  if (json) return print("left", swept.others, stdout);
  print_others(swept);
  if (swept.ended.empty() && swept.pending.empty() && swept.problems.empty()) fmt::print("nothing to end\n");
}

TextTable machines_table() {
  using Fit = TextTable::Fit;
  return TextTable({{.title = "  machine"}, {.title = "stage"}, {.title = "state", .fit = Fit::kWrap}, {"cost", TextTable::Align::kRight},
                    {"left", TextTable::Align::kRight}, {.title = "offer", .fit = Fit::kWrap}, {.title = "address"}});
}

void add_row(TextTable& table, const MachineRow& row, const std::string& current, std::int64_t now) {
  const Intent& intent = row.intent;
  const std::string state = !row.problem.empty() ? "unknown" : row.machine ? row.machine->detail : "gone";
  const std::int64_t left = std::max<std::int64_t>(0, intent.created + intent.lease.life_s - now);
  table.row({(intent.id == current ? "* " : "  ") + intent.id, std::string(stage_name(intent.stage)), state,
             fmt::format("{:.2f} USD", cost_so_far(intent, now)), fmt::format("{} min", left / 60), machine_line(intent), intent.url()});
  if (!row.problem.empty()) fmt::print(stderr, "{}: {}\n", intent.id, row.problem);
}

int up_gang(const Options& options) {
  const InterruptGuard guard;
  const UpOptions wanted = up_options(options);
  Rental rental(Rental::Reach::kRent, options.rent.provider, options.json);
  check_image(wanted);
  const GangResult gang = rental.controller.up_gang(wanted);
  use_machine(gang.members[0].intent.id);
  const std::int64_t now = rental.clock.unix_seconds();
  double most = 0;
  for (const UpResult& member : gang.members) {
    most += cost_at_most(member.intent);
    if (options.json) fmt::print("{}\n", intent_json(member.intent, now, member.fuse));
    else if (!member.intent.is_agent()) fmt::print("{}\n", member.intent.url());
  }
  const std::string hidden = hidden_by_environment("this machine");
  if (!hidden.empty()) fmt::print(stderr, "warning: {}\n", hidden);
  if (options.json) return kSucceeded;
  const Intent& first = gang.members[0].intent;
  if (first.is_clustered())
    fmt::print(stderr, "{} ranks on {} machines run the jobs whose device is cluster\n",
               first.cluster.ranks * first.nodes, first.nodes);
  fmt::print(stderr,
             "{} machines, at most {:.2f} USD together. The first is the current one; `kedge down` ends them all.\n",
             gang.members.size(), most);
  return kSucceeded;
}

bool end_gang(Rental& rental, const Intent& intent, bool json) {
  std::vector<std::string> ids;
  for (const Intent& other : rental.store.list().intents)
    if (other.gang == intent.gang) ids.push_back(other.id);
  rental.controller.end_gang(intent.gang, "kedge down");
  bool all = true;
  for (const std::string& id : ids) {
    const bool gone = !rental.store.find(id);
    all = all && gone;
    if (json) fmt::print("{}\n", json::write(json::ValueMap{{"id", id}, {"gone", gone}, {"gang", intent.gang}}));
    else
      fmt::print(stderr, "{}: {}\n", id, gone ? "ended" : "told to end, not ended yet: `kedge machines gc` continues");
  }
  return all;
}

}  // namespace

int offers(const Options& options) { return show_selection(options, false); }

int up(const Options& options) {
  if (options.rent.dry_run) return show_selection(options, true);
  if (options.rent.nodes > 1 || options.rent.cluster) return up_gang(options);
  const InterruptGuard guard;
  Rental rental(Rental::Reach::kRent, options.rent.provider, options.json);
  const UpOptions wanted = up_options(options);
  check_image(wanted);
  const UpResult result = rental.controller.up(wanted);
  const std::string before = current_kept_server();
  use_machine(result.intent.id);
  const Page page = page_of(STDERR_FILENO);
  const auto say = [&](const Line& line) { fmt::print(stderr, "{}", paragraph(page, line, 2)); };
  if (!before.empty()) say(line_of(fmt::format("'{}' is no longer the current server; `kedge use {}` goes back to it", before, before)));
  const std::string hidden = hidden_by_environment("this machine");
  if (!hidden.empty()) say(line_of("warning: " + hidden, Style::kWarning));
  if (const auto warning = gpu_warning(result)) say(*warning);
  if (options.json) {
    fmt::print("{}\n", intent_json(result.intent, rental.clock.unix_seconds(), result.fuse));
    return kSucceeded;
  }
  for (const Line& line : ready_lines(result, machine_line(result.intent), hidden.empty())) say(line);
  fmt::print("{}\n", result.intent.url());
  return kSucceeded;
}

int down(const Options& options) {
  const InterruptGuard guard;
  Rental rental(Rental::Reach::kEverything, {}, options.json);
  if (!options.rent.all) {
    const Intent chosen = chosen_machine(rental, options.argument);
    const bool gone =
        chosen.gang.empty() ? end_one(rental, chosen, options.json) : end_gang(rental, chosen, options.json);
    return gone ? kSucceeded : kFailed;
  }
  bool all = true;
  for (const Intent& intent : rental.store.list().intents) {
    try {
      all = end_one(rental, intent, options.json) && all;
    } catch (const ProviderError& error) {
      fmt::print(stderr, "{}: {}\n", intent.id, error.what());
      all = false;
    }
  }
  const Swept swept = rental.controller.sweep();   // what has no record is ours as well
  for (const std::string& line : swept.ended) fmt::print(stderr, "ended {}\n", line);
  for (const std::string& line : swept.problems) fmt::print(stderr, "{}\n", line);
  print_others(swept);
  return all && swept.pending.empty() && swept.problems.empty() ? kSucceeded : kFailed;
}

int machines(const Options& options) {
  Rental rental(Rental::Reach::kEverything, {}, options.json);
  if (options.argument == "gc") {
    const Swept swept = rental.controller.sweep();
    print_swept(swept, options.json);
    return swept.pending.empty() && swept.problems.empty() ? kSucceeded : kFailed;
  }
  if (!options.argument.empty())
    throw schema::Error(schema::ErrorCode::kInvalidValue, fmt::format("machines: '{}' is no action; the only one is gc", options.argument));
  const std::int64_t now = rental.clock.unix_seconds();
  const std::string current = current_machine_name();
  for (const std::string& file : rental.store.list().damaged)
    fmt::print(stderr, "{} was damaged and is set aside; `kedge machines gc` finds its machine by name and ends it\n", file);
  TextTable table = machines_table();
  for (const MachineRow& row : rental.controller.machines()) {
    if (options.json) fmt::print("{}\n", intent_json(row.intent, now));
    else add_row(table, row, current, now);
  }
  if (!options.json) fmt::print("{}paid in the last 30 days for machines that are gone: {:.2f} USD\n", table.text(page_of(STDOUT_FILENO)), rental.store.spent_since(now - 30 * 24 * 3600));
  return kSucceeded;
}

}  // namespace kedge::cli
