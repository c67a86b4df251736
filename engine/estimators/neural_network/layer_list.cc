// Reads layers and schedules from their texts: a name, and numbers or words in brackets.
#include "engine/estimators/neural_network/layer_list.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <string_view>
#include <utility>

#include "engine/core/params.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kMostUnits = std::int64_t{1} << 24;

constexpr std::pair<std::string_view, Activation> kActivations[] = {{"identity", Activation::kIdentity},
                                                                    {"logistic", Activation::kLogistic},
                                                                    {"tanh", Activation::kTanh},
                                                                    {"relu", Activation::kRelu},
                                                                    {"elu", Activation::kElu},
                                                                    {"gelu", Activation::kGelu},
                                                                    {"leaky_relu", Activation::kLeakyRelu},
                                                                    {"silu", Activation::kSilu}};

// A text's name and what is in its brackets.
struct Call {
  std::string name;
  std::vector<std::string> words;
};

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  return first == std::string_view::npos ? std::string() : std::string(text.substr(first, last - first + 1));
}

// Nothing where brackets do not match.
std::optional<Call> read_call(std::string_view text) {
  const std::string all = trimmed(text);
  const auto open = all.find('(');
  if (open == std::string::npos)
    return all.find_first_of("),") == std::string::npos ? std::optional(Call{all, {}}) : std::nullopt;
  if (all.back() != ')' || all.find('(', open + 1) != std::string::npos || all.find(')') + 1 != all.size())
    return std::nullopt;
  Call call{trimmed(std::string_view(all).substr(0, open)), {}};
  std::string_view inside = std::string_view(all).substr(open + 1, all.size() - open - 2);
  for (bool more = !trimmed(inside).empty(); more;) {
    const auto comma = inside.find(',');
    call.words.push_back(trimmed(inside.substr(0, comma)));
    more = comma != std::string_view::npos;
    if (more) inside.remove_prefix(comma + 1);
  }
  return call;
}

std::optional<double> read_number(const std::string& word) {
  char* end = nullptr;
  const double number = std::strtod(word.c_str(), &end);
  return word.empty() || *end != '\0' || !std::isfinite(number) ? std::nullopt : std::optional(number);
}

std::optional<Activation> find_activation(std::string_view name) {
  const auto* const found = std::ranges::find(kActivations, name, &std::pair<std::string_view, Activation>::first);
  return found == std::end(kActivations) ? std::nullopt : std::optional(found->second);
}

std::string activation_names() {
  std::string names;
  for (const auto& [name, unused] : kActivations) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

// Reads one text of the list; `fail` ends with what is wrong with it.
template <class Fail>
void read_layer(const Call& call, std::vector<Layer>& layers, const Fail& fail) {
  const auto n_words = call.words.size();
  const auto number = [&](std::size_t i) { return i < n_words ? read_number(call.words[i]) : std::nullopt; };
  if (call.name == "dense") {
    const auto units = number(0);
    if (!units || *units != std::floor(*units) || *units < 1 || *units > static_cast<double>(kMostUnits))
      fail("units must be an integer from 1 to " + std::to_string(kMostUnits));
    if (n_words > 2) fail("dense takes units and an activation");
    layers.push_back({.kind = Layer::Kind::kDense, .units = static_cast<std::int64_t>(*units)});
    if (n_words == 1) return;
    const auto activation = find_activation(call.words[1]);
    if (!activation) fail("the activation is '" + call.words[1] + "', must be one of " + activation_names());
    layers.push_back({.kind = Layer::Kind::kActivation, .activation = *activation});
  } else if (call.name == "dropout") {
    const auto rate = number(0);
    if (n_words != 1 || !rate || *rate < 0 || *rate >= 1) fail("the rate must be a number of at least 0 and below 1");
    layers.push_back({.kind = Layer::Kind::kDropout, .rate = *rate});
  } else if (call.name == "batch_norm" || call.name == "layer_norm") {
    if (n_words != 0) fail(call.name + " takes nothing");
    layers.push_back({.kind = call.name == "batch_norm" ? Layer::Kind::kBatchNorm : Layer::Kind::kLayerNorm});
  } else if (const auto activation = find_activation(call.name)) {
    if (n_words != 0) fail(call.name + " takes nothing");
    layers.push_back({.kind = Layer::Kind::kActivation, .activation = *activation});
  } else {
    fail("'" + call.name + "' is no layer; there are dense, dropout, batch_norm, layer_norm, " + activation_names());
  }
}

}   // namespace

std::vector<Layer> read_layers(const std::string& owner, const schema::Value& texts) {
  std::vector<Layer> layers;
  const auto* const list = std::get_if<schema::ValueList>(&texts.data);
  if (!list) return layers;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto* const text = std::get_if<std::string>(&(*list)[i].data);
    const auto fail = [&](const std::string& problem) {
      refuse_param(owner, "layers", texts, "layer " + std::to_string(i + 1) + ": " + problem);
    };
    const auto call = text ? read_call(*text) : std::nullopt;
    if (!call) fail("must be a name, or a name with values in brackets, such as dense(64, relu)");
    read_layer(*call, layers, fail);
    if (layers.front().kind != Layer::Kind::kDense) fail("the first layer must be dense");
  }
  return layers;
}

double RateSchedule::factor_in(std::int64_t epoch) const {
  const auto t = static_cast<double>(epoch);
  const auto cosine = [&](double part) { return (1 + std::cos(std::numbers::pi * part)) / 2; };
  switch (kind) {
    case Kind::kStep:
      return std::pow(factor, std::floor(t / epochs));
    case Kind::kExponential:
      return std::pow(factor, t);
    case Kind::kCosine:
      return cosine(std::min(t, epochs) / epochs);
    case Kind::kWarmRestarts:
      return cosine(std::fmod(t, epochs) / epochs);
    case Kind::kWarmup:
      return std::min(1.0, (t + 1) / epochs);
    case Kind::kNone:
      break;
  }
  return 1;
}

RateSchedule read_schedule(const std::string& owner, const std::optional<std::string>& text) {
  if (!text) return {};
  const auto fail = [&](const std::string& problem) { refuse_param(owner, "lr_schedule", *text, problem); };
  const auto call = read_call(*text);
  using Kind = RateSchedule::Kind;
  constexpr std::pair<std::string_view, Kind> kKinds[] = {{"step", Kind::kStep},
                                                          {"exponential", Kind::kExponential},
                                                          {"cosine", Kind::kCosine},
                                                          {"warm_restarts", Kind::kWarmRestarts},
                                                          {"warmup", Kind::kWarmup}};
  const auto* const kind =
      call ? std::ranges::find(kKinds, call->name, &std::pair<std::string_view, Kind>::first) : std::end(kKinds);
  if (kind == std::end(kKinds))
    fail("must be step(epochs, factor), exponential(factor), cosine(epochs), warm_restarts(epochs) or warmup(epochs)");
  std::vector<double> numbers;
  for (const std::string& word : call->words) numbers.push_back(read_number(word).value_or(-1));
  const bool has_epochs = kind->second != Kind::kExponential, has_factor = kind->second <= Kind::kExponential;
  if (numbers.size() != (has_epochs ? 1u : 0u) + (has_factor ? 1u : 0u))
    fail(call->name + " takes " +
         (has_epochs && has_factor ? "epochs and a factor"
          : has_epochs             ? "epochs"
                                   : "a factor"));
  RateSchedule schedule{.kind = kind->second};
  if (has_epochs) schedule.epochs = numbers.front();
  if (has_factor) schedule.factor = numbers.back();
  if (schedule.epochs < 1 || schedule.epochs != std::floor(schedule.epochs))
    fail("epochs must be an integer of at least 1");
  if (!(schedule.factor > 0 && schedule.factor <= 1)) fail("the factor must be above 0 and at most 1");
  return schedule;
}

}   // namespace kedge::engine
