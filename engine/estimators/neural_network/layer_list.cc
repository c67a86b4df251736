// Reads layers and schedules from their texts, a name and numbers or words in brackets, and embeddings from objects.
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

constexpr std::int64_t kMostUnits = std::int64_t{1} << 24;   // codes up to this are exact in float32, too

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

// An integer from `low` to `high`; otherwise `fail` names it.
template <class Fail>
std::int64_t read_integer(const schema::Value* value, const char* name, std::int64_t low, std::int64_t high,
                          const Fail& fail) {
  const auto* const number = value ? std::get_if<std::int64_t>(&value->data) : nullptr;
  if (!number || *number < low || *number > high)
    fail(std::string(name) + " is " + (value ? schema::to_string(*value) : "missing") + ", must be an integer from " +
         std::to_string(low) + " to " + std::to_string(high));
  return *number;
}

// {"embedding": {"columns": [0, 2], "input_dim": 100, "output_dim": 8}}
template <class Fail>
Embedding read_embedding(const schema::ValueMap& entry, const Fail& fail) {
  const auto* const inside = entry.size() == 1 && entry.front().first == "embedding"
                                 ? std::get_if<schema::ValueMap>(&entry.front().second.data)
                                 : nullptr;
  if (!inside) fail("an object must be {\"embedding\": {\"columns\", \"input_dim\", \"output_dim\"}}");
  for (const auto& [name, unused] : *inside)
    if (name != "columns" && name != "input_dim" && name != "output_dim")
      fail("an embedding has no '" + name + "'; it has columns, input_dim and output_dim");
  Embedding embedding;
  const schema::Value* const columns = find_value(*inside, "columns");
  const auto* const list = columns ? std::get_if<schema::ValueList>(&columns->data) : nullptr;
  if (!list || list->empty()) fail("columns must be a list of at least one position");
  for (const schema::Value& column : *list) {
    embedding.columns.push_back(read_integer(&column, "a column", 0, kMostUnits, fail));
    if (std::ranges::count(embedding.columns, embedding.columns.back()) > 1)
      fail("column " + std::to_string(embedding.columns.back()) + " is there twice");
  }
  embedding.input_dim = read_integer(find_value(*inside, "input_dim"), "input_dim", 1, kMostUnits, fail);
  embedding.output_dim = read_integer(find_value(*inside, "output_dim"), "output_dim", 1, kMostUnits, fail);
  return embedding;
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

schema::ParamForm embedding_form() {
  const Bounds most = between(1, static_cast<double>(kMostUnits));
  const schema::Value none = nullptr;
  return object_form({{"embedding",
                       "Learned vectors in place of codes.",
                       none,
                       {object_form({{"columns", "Positions of the columns.", none, {array_form()}},
                                     {"input_dim", "Codes are 0 to input_dim - 1.", none, {integer_form(most)}},
                                     {"output_dim", "Numbers of a vector.", none, {integer_form(most)}}})}}});
}

std::vector<Layer> read_layers(const std::string& owner, const schema::Value& entries) {
  std::vector<Layer> layers;
  const auto* const list = std::get_if<schema::ValueList>(&entries.data);
  if (!list) return layers;
  bool is_begun = false;   // behind the embeddings
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto fail = [&](const std::string& problem) {
      refuse_param(owner, "layers", entries, "layer " + std::to_string(i + 1) + ": " + problem);
    };
    if (const auto* const object = std::get_if<schema::ValueMap>(&(*list)[i].data)) {
      if (is_begun) fail("an embedding must come before all other layers");
      layers.push_back({.kind = Layer::Kind::kEmbedding, .embedding = read_embedding(*object, fail)});
      continue;
    }
    const auto* const text = std::get_if<std::string>(&(*list)[i].data);
    const auto call = text ? read_call(*text) : std::nullopt;
    if (!call) fail("must be a name, or a name with values in brackets, such as dense(64, relu), or an embedding");
    const std::size_t first = layers.size();
    read_layer(*call, layers, fail);
    if (!is_begun && layers[first].kind != Layer::Kind::kDense) fail("the first layer must be dense");
    is_begun = true;
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
