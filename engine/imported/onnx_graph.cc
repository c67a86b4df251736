// Reads ONNX's messages: see onnx_graph.h. Numbers of fields are those of onnx.proto.
#include "engine/imported/onnx_graph.h"

#include <algorithm>

#include "engine/imported/wire.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

// A message of two bytes becomes an object of some hundred: how many there may be.
constexpr std::size_t kMostNodes = 1 << 14, kMostAttributes = 1 << 16, kMostConstants = 1 << 14, kMostInputs = 1 << 16;

template <class V>
V& grown(std::vector<V>& list, std::size_t most, const Wire& wire, std::string_view what) {
  if (list.size() >= most) wire.fail(fmt::format("more than {} {}", most, what));
  return list.emplace_back();
}

std::int64_t size_of(const OnnxTensor& tensor, const Wire& wire) {
  std::int64_t size = 1;
  for (const std::int64_t dim : tensor.dims)
    if (dim < 0 || __builtin_mul_overflow(size, dim, &size)) wire.fail(fmt::format("a dimension is {}", dim));
  return size;
}

template <class V, class U>
void take_raw(std::string_view raw, const Wire& wire, std::vector<double>& numbers) {
  if (raw.size() % sizeof(V) != 0) wire.fail("raw_data has a part of a number");
  for (std::size_t at = 0; at < raw.size(); at += sizeof(V))
    numbers.push_back(static_cast<double>(Wire::fixed<V, U>(raw, at)));
}

void take_raw(OnnxType type, std::string_view raw, const Wire& wire, std::vector<double>& numbers) {
  if (type == OnnxType::kFloat) return take_raw<float, std::uint32_t>(raw, wire, numbers);
  if (type == OnnxType::kDouble) return take_raw<double, std::uint64_t>(raw, wire, numbers);
  if (type == OnnxType::kInt64) return take_raw<std::int64_t, std::uint64_t>(raw, wire, numbers);
  if (type == OnnxType::kInt32) return take_raw<std::int32_t, std::uint32_t>(raw, wire, numbers);
  wire.fail("raw_data of this type is not taken");
}

OnnxTensor read_tensor(Wire wire) {
  OnnxTensor tensor;
  std::string_view raw;
  std::vector<std::int64_t> integers;
  std::int64_t n_texts = 0;
  while (wire.next()) switch (wire.field()) {
      case 1:
        wire.integers(tensor.dims);
        break;
      case 2:
        tensor.type = static_cast<OnnxType>(wire.integer());
        break;
      case 4:
        wire.floats(tensor.numbers);
        break;
      case 5:
      case 7:
        wire.integers(integers);
        break;
      case 6:
        ++n_texts;
        break;
      case 8:
        tensor.name = wire.bytes();
        break;
      case 9:
        raw = wire.bytes();
        break;
      case 10:
        wire.doubles(tensor.numbers);
        break;
      case 13:
        throw Error(ErrorCode::kInvalidValue, wire.place() + ": data in other files is not taken");
      default:
        break;
    }
  tensor.numbers.insert(tensor.numbers.end(), integers.begin(), integers.end());
  if (!raw.empty()) take_raw(tensor.type, raw, wire, tensor.numbers);
  const std::int64_t size = size_of(tensor, wire);
  const std::int64_t held =
      tensor.type == OnnxType::kString ? n_texts : static_cast<std::int64_t>(tensor.numbers.size());
  if (size != held) wire.fail(fmt::format("a constant has {} values, its dimensions say {}", held, size));
  return tensor;
}

void read_attribute(Wire wire, OnnxAttribute& attribute) {
  while (wire.next()) switch (wire.field()) {
      case 1:
        attribute.name = wire.bytes();
        break;
      case 2:
        attribute.real = static_cast<double>(wire.real());
        break;
      case 3:
        attribute.integer = wire.integer();
        break;
      case 4:
        attribute.text = wire.bytes();
        break;
      case 5:
        attribute.reals = read_tensor(wire.message(wire.place())).numbers;
        break;
      case 7:
        wire.floats(attribute.reals);
        break;
      case 8:
        wire.integers(attribute.integers);
        break;
      case 9:
        attribute.texts.push_back(wire.bytes());
        break;
      default:
        break;
    }
}

void read_node(Wire wire, std::size_t number, std::size_t& n_attributes, OnnxNode& node) {
  std::vector<std::string_view> attributes;
  std::size_t n_names = 0;
  while (wire.next()) switch (wire.field()) {
      case 1:
      case 2:
        if (++n_names > kMostInputs) wire.fail(fmt::format("more than {} inputs and outputs", kMostInputs));
        (wire.field() == 1 ? node.inputs : node.outputs).push_back(wire.bytes());
        break;
      case 4:
        node.op = wire.bytes();
        break;
      case 5:
        attributes.push_back(wire.bytes());
        break;
      case 7:
        node.domain = wire.bytes();
        break;
      default:
        break;
    }
  n_attributes += attributes.size();
  if (n_attributes > kMostAttributes) wire.fail(fmt::format("more than {} attributes", kMostAttributes));
  node.place = fmt::format("ONNX model: node {} ({})", number, node.op.substr(0, 60));
  for (const std::string_view bytes : attributes) {
    OnnxAttribute& attribute = node.attributes.emplace_back();
    read_attribute(Wire(bytes, node.place), attribute);
    if (attribute.name.empty()) node.fail("an attribute has no name");
  }
}

void read_dims(Wire shape, std::vector<std::int64_t>& dims) {
  while (shape.next()) {
    if (shape.field() != 1) continue;
    std::int64_t& dim = grown(dims, 8, shape, "dimensions") = -1;
    for (Wire wire = shape.message(shape.place()); wire.next();)
      if (wire.field() == 1) dim = wire.integer();
  }
}

// The name, and of a tensor type and shape.
void read_value_info(Wire wire, OnnxInput& input) {
  while (wire.next()) {
    if (wire.field() == 1) input.name = wire.bytes();
    if (wire.field() != 2) continue;
    for (Wire type = wire.message(wire.place()); type.next();) {
      if (type.field() != 1) continue;   // sequences and maps, of outputs
      for (Wire tensor = type.message(wire.place()); tensor.next();) {
        if (tensor.field() == 1) input.type = static_cast<OnnxType>(tensor.integer());
        if (tensor.field() == 2) read_dims(tensor.message(wire.place()), input.dims);
      }
    }
  }
}

void read_graph(Wire wire, OnnxGraph& graph) {
  std::size_t n_attributes = 0;
  while (wire.next()) switch (wire.field()) {
      case 1: {
        const std::size_t number = graph.nodes.size();
        OnnxNode& node = grown(graph.nodes, kMostNodes, wire, "nodes");
        read_node(wire.message(fmt::format("ONNX model: node {}", number)), number, n_attributes, node);
        break;
      }
      case 5: {
        OnnxTensor& constant = grown(graph.constants, kMostConstants, wire, "constants");
        constant = read_tensor(wire.message(fmt::format("ONNX model: constant {}", graph.constants.size() - 1)));
        break;
      }
      case 11:
        read_value_info(wire.message("ONNX model: graph.input"), grown(graph.inputs, kMostInputs, wire, "inputs"));
        break;
      case 12: {
        OnnxInput output;
        read_value_info(wire.message("ONNX model: graph.output"), output);
        grown(graph.outputs, kMostInputs, wire, "outputs") = output.name;
        break;
      }
      case 15:
        throw Error(ErrorCode::kInvalidValue, "ONNX model: sparse constants are not taken");
      default:
        break;
    }
  std::vector<std::string_view> names;
  for (const OnnxTensor& constant : graph.constants) names.push_back(constant.name);
  std::ranges::sort(names);
  std::erase_if(graph.inputs, [&](const OnnxInput& input) { return std::ranges::binary_search(names, input.name); });
}

}   // namespace

void OnnxNode::fail(const std::string& problem) const {
  throw Error(ErrorCode::kModelCorrupt, place + ": " + problem);
}
void OnnxNode::refuse(const std::string& problem) const {
  throw Error(ErrorCode::kInvalidValue, place + ": " + problem);
}
const OnnxAttribute* OnnxNode::find(std::string_view name) const {
  const auto found = std::ranges::find(attributes, name, &OnnxAttribute::name);
  return found == attributes.end() ? nullptr : &*found;
}
std::int64_t OnnxNode::integer(std::string_view name, std::int64_t otherwise) const {
  const OnnxAttribute* const found = find(name);
  return found ? found->integer : otherwise;
}
double OnnxNode::real(std::string_view name, double otherwise) const {
  const OnnxAttribute* const found = find(name);
  return found ? found->real : otherwise;
}
std::string_view OnnxNode::text(std::string_view name, std::string_view otherwise) const {
  const OnnxAttribute* const found = find(name);
  return found ? found->text : otherwise;
}
const std::vector<double>& OnnxNode::reals(std::string_view name) const {
  static const std::vector<double> kNone;
  const OnnxAttribute* found = find(name);
  if (!found) found = find(std::string(name) + "_as_tensor");
  return found ? found->reals : kNone;
}
const std::vector<std::int64_t>& OnnxNode::integers(std::string_view name) const {
  static const std::vector<std::int64_t> kNone;
  const OnnxAttribute* const found = find(name);
  return found ? found->integers : kNone;
}
const std::vector<std::string_view>& OnnxNode::texts(std::string_view name) const {
  static const std::vector<std::string_view> kNone;
  const OnnxAttribute* const found = find(name);
  return found ? found->texts : kNone;
}
std::string_view OnnxNode::input(std::size_t i) const {
  if (i >= inputs.size()) fail(fmt::format("it has {} inputs, must have {}", inputs.size(), i + 1));
  return inputs[i];
}
std::string_view OnnxNode::output(std::size_t i) const {
  return i < outputs.size() ? outputs[i] : std::string_view();
}

bool is_onnx(std::string_view file) {
  constexpr std::string_view kNext = "\x12\x1a\x22\x28\x32\x3a\x42\x72";   // keys of fields 2 to 8 and 14
  return file.size() > 3 && file[0] == '\x08' && file[1] > 0 && file[1] < 32 &&
         kNext.find(file[2]) != std::string_view::npos;
}

OnnxGraph read_onnx(std::string_view file) {
  OnnxGraph graph;
  bool has_graph = false;
  Wire wire(file, "ONNX model");
  while (wire.next()) switch (wire.field()) {
      case 2:
        graph.producer = wire.bytes();
        break;
      case 7:
        if (has_graph) wire.fail("a second graph");
        has_graph = true, read_graph(wire.message("ONNX model: graph"), graph);
        break;
      case 25:
        throw Error(ErrorCode::kInvalidValue, "ONNX model: functions are not taken");
      default:
        break;
    }
  if (!has_graph) wire.fail("it has no graph");
  return graph;
}

}   // namespace kedge::engine
