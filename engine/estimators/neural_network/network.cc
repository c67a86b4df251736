// Forward and backward passes: a product for each dense layer, and the stages that follow it.
#include "engine/estimators/neural_network/network.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using Kind = Layer::Kind;

// As torch's.
constexpr double kEpsilon = 1e-5, kMomentum = 0.1;

constexpr std::int64_t kMostCells = std::int64_t{1} << 31;   // of codes, in one batch

bool is_norm(const Layer& layer) {
  return layer.kind == Kind::kBatchNorm || layer.kind == Kind::kLayerNorm;
}

template <class V>
MatrixView<V> columns_of(MatrixView<V> A, std::int64_t first, std::int64_t count) {
  return {A.data + first, A.rows, count, A.stride};
}

}   // namespace

std::int64_t NetworkShape::weights_at(std::int64_t layer) const {
  std::int64_t at = 0;
  for (std::int64_t l = 0; l < layer; ++l) at += inputs(l) * neurons(l);
  return at;
}

std::int64_t NetworkShape::intercepts_at(std::int64_t layer) const {
  std::int64_t at = n_weights();
  for (std::int64_t l = 0; l < layer; ++l) at += neurons(l);
  return at;
}

std::int64_t NetworkShape::embeddings_at() const {
  std::int64_t at = intercepts_at(n_layers());
  for (std::size_t l = 0; l < after.size(); ++l)
    at += 2 * units[l + 1] * static_cast<std::int64_t>(std::ranges::count_if(after[l], is_norm));
  return at;
}

std::int64_t NetworkShape::n_parameters() const {
  std::int64_t at = embeddings_at();
  for (const Embedding& embedding : embeddings) at += embedding.n_parameters();
  return at;
}

std::int64_t NetworkShape::n_moving() const {
  std::int64_t count = 0;
  for (std::size_t l = 0; l < after.size(); ++l)
    count += 2 * units[l + 1] * static_cast<std::int64_t>(std::ranges::count(after[l], Kind::kBatchNorm, &Layer::kind));
  return count;
}

void NetworkShape::take(const std::vector<Layer>& layers, std::int64_t columns) {
  n_columns = columns;
  std::set<std::int64_t> embedded;   // columns that there are
  std::int64_t width = 0;
  for (const Layer& layer : layers) {
    if (layer.kind != Kind::kEmbedding) continue;
    embeddings.push_back(layer.embedding), width += layer.embedding.width();
    for (const std::int64_t column : layer.embedding.columns)
      if (column < columns) embedded.insert(column);
  }
  units = {columns - static_cast<std::int64_t>(embedded.size()) + width};
  for (const Layer& layer : layers) {
    if (layer.kind == Kind::kEmbedding) continue;
    if (layer.kind == Kind::kDense) units.push_back(layer.units), after.emplace_back();
    else after.back().push_back(layer);
  }
}

std::vector<std::int32_t> NetworkShape::plain_columns() const {
  std::vector<bool> is_embedded(static_cast<std::size_t>(n_columns));
  for (const Embedding& embedding : embeddings)
    for (const std::int64_t column : embedding.columns) is_embedded[static_cast<std::size_t>(column)] = true;
  std::vector<std::int32_t> plain;
  for (std::size_t c = 0; c < is_embedded.size(); ++c)
    if (!is_embedded[c]) plain.push_back(static_cast<std::int32_t>(c));
  return plain;
}

std::optional<std::int64_t> NetworkShape::find_missing_column() const {
  for (const Embedding& embedding : embeddings) {
    const std::int64_t last = std::ranges::max(embedding.columns);
    if (last >= n_columns) return last;
  }
  return std::nullopt;
}

template <class V>
Network<V>::Network(const Context& ctx, NetworkShape shape, const std::vector<V>& parameters, std::int64_t most_rows,
                    bool is_trained)
    : ctx_(ctx),
      shape_(std::move(shape)),
      is_trained_(is_trained),
      parameters_(ctx.memory(), std::span<const V>(parameters)),
      gradient_(ctx.memory(), is_trained ? parameters_.size() : 0),
      unused_(ctx.memory(), *std::ranges::max_element(shape_.units)),
      moving_(ctx.memory(), shape_.n_moving()) {
  std::int64_t at = shape_.intercepts_at(shape_.n_layers()), moving_at = 0;
  if (!shape_.embeddings.empty()) add_embeddings(most_rows);
  for (std::int64_t l = 0; l < shape_.n_layers(); ++l) {
    values_.emplace_back(ctx.memory(), most_rows, shape_.neurons(l));
    if (is_trained && l + 1 < shape_.n_layers()) slopes_.emplace_back(ctx.memory(), most_rows, shape_.neurons(l));
    if (l + 1 < shape_.n_layers()) add_stages(l, most_rows, at, moving_at);
  }
}

template <class V>
void Network<V>::add_embeddings(std::int64_t most_rows) {
  const std::vector<std::int32_t> plain = shape_.plain_columns();
  plain_ = Array<std::int32_t>(ctx_.memory(), std::span<const std::int32_t>(plain));
  for (const Embedding& embedding : shape_.embeddings) {
    const auto count = static_cast<std::int64_t>(embedding.columns.size());
    require(!is_trained_ || most_rows < kMostCells / count, schema::ErrorCode::kInvalidValue,
            "layers: an embedding of {} columns takes batches of less than {} rows, has {}", count, kMostCells / count,
            most_rows);
    const std::vector<std::int32_t> columns(embedding.columns.begin(), embedding.columns.end());
    embedded_.emplace_back(ctx_.memory(), std::span<const std::int32_t>(columns));
  }
  input_ = Matrix<V>(ctx_.memory(), most_rows, shape_.units.front());
  if (is_trained_) input_slopes_ = Matrix<V>(ctx_.memory(), most_rows, shape_.units.front() - plain_.size());
}

template <class V>
void Network<V>::add_stages(std::int64_t layer, std::int64_t most_rows, std::int64_t& at, std::int64_t& moving_at) {
  const std::int64_t width = shape_.neurons(layer);
  std::vector<Stage>& own = stages_.emplace_back();
  std::vector<Layer> layers{{.kind = Kind::kActivation, .activation = shape_.hidden}};
  if (!shape_.after.empty()) layers = shape_.after[static_cast<std::size_t>(layer)];
  for (const Layer& next : layers) {
    Stage stage{.layer = next};
    const bool is_activation = next.kind == Kind::kActivation;
    stage.is_fused = own.empty() && is_activation && !slopes_by_input(next.activation);
    stage.stream = static_cast<std::uint64_t>(layer) << 8 | own.size();
    if (!stage.is_fused) stage.values = Matrix<V>(ctx_.memory(), most_rows, width);
    if (is_norm(next)) {
      stage.at = at, at += 2 * width;
      stage.spread = Array<double>(ctx_.memory(), std::max(most_rows, width));
      if (is_trained_) stage.kept = Matrix<V>(ctx_.memory(), most_rows, width);
      if (next.kind == Kind::kBatchNorm) stage.moving_at = moving_at, moving_at += 2 * width;
    } else if (is_activation && slopes_by_input(next.activation) && is_trained_) {
      stage.kept = Matrix<V>(ctx_.memory(), most_rows, width);
    }
    own.push_back(std::move(stage));
  }
}

template <class V>
void Network<V>::set_moving(const std::vector<double>& moving) {
  if (!moving.empty()) ctx_.memory().to_device(moving_.data(), moving.data(), moving.size() * sizeof(double));
}

template <class V>
VectorView<const V> Network<V>::bias(std::int64_t layer) const {
  return parameters_.view().slice(shape_.intercepts_at(layer), shape_.neurons(layer));
}

template <class V>
MatrixView<const V> Network<V>::weights(std::int64_t layer) const {
  return {parameters_.data() + shape_.weights_at(layer), shape_.inputs(layer), shape_.neurons(layer)};
}

template <class V>
MatrixView<V> Network<V>::layer(std::vector<Matrix<V>>& of, std::int64_t layer, std::int64_t rows) {
  return of[static_cast<std::size_t>(layer)].view().row_range(0, rows);
}

template <class V>
MatrixView<V> Network<V>::values_of(std::int64_t l, std::int64_t rows) {
  std::vector<Stage>& own = stages_[static_cast<std::size_t>(l)];   // of a hidden layer
  if (own.empty() || own.back().is_fused) return layer(values_, l, rows);
  return own.back().values.view().row_range(0, rows);
}

template <class V>
MatrixView<V> Network<V>::run_stage(Stage& stage, std::int64_t l, MatrixView<V> from, const Step* step) {
  NetworkOps<V>& ops = *ctx_.ops<V>().network;
  if (stage.is_fused) {
    ops.activate(stage.layer.activation, bias(l), from);
    return from;
  }
  const auto bytes = static_cast<std::size_t>(from.size()) * sizeof(V);
  const MatrixView<V> to = stage.values.view().row_range(0, from.rows);
  ctx_.memory().copy(to.data, from.data, bytes);
  const bool keeps = step && stage.kept.rows() > 0;
  switch (stage.layer.kind) {
    case Kind::kActivation:
      if (keeps) ctx_.memory().copy(stage.kept.data(), from.data, bytes);
      ops.activate(stage.layer.activation, {}, to);
      break;
    case Kind::kDropout:
      if (step) drop(stage, *step, to);
      break;
    case Kind::kBatchNorm:
    case Kind::kLayerNorm: {
      const VectorView<const V> scale = std::as_const(parameters_).view().slice(stage.at, to.cols);
      const VectorView<const V> shift = std::as_const(parameters_).view().slice(stage.at + to.cols, to.cols);
      const bool is_batch = stage.layer.kind == Kind::kBatchNorm;
      const VectorView<double> moving =
          is_batch ? moving_.view().slice(stage.moving_at, 2 * to.cols) : VectorView<double>();
      if (is_batch && !step) {
        ops.normalize_as_seen(kEpsilon, scale, shift, moving, to);
        break;
      }
      const MatrixView<V> kept = keeps ? stage.kept.view().row_range(0, to.rows) : MatrixView<V>();
      ops.normalize(is_batch ? NormOver::kBatch : NormOver::kRow, kEpsilon, scale, shift, to, kept, stage.spread.view(),
                    kMomentum, moving);
      break;
    }
    case Kind::kDense:
    case Kind::kEmbedding:
      break;
  }
  return to;
}

template <class V>
MatrixView<V> Network<V>::table(Array<V>& of, std::size_t embedding) {
  std::int64_t at = shape_.embeddings_at();
  for (std::size_t e = 0; e < embedding; ++e) at += shape_.embeddings[e].n_parameters();
  return {of.data() + at, shape_.embeddings[embedding].input_dim, shape_.embeddings[embedding].output_dim};
}

template <class V>
void Network<V>::require_codes(const char* owner, MatrixView<const V> X) {
  for (std::size_t e = 0; e < embedded_.size(); ++e) {
    const std::int64_t n_codes = shape_.embeddings[e].input_dim;
    const auto cell = ctx_.ops<V>().network->find_no_code(X, std::as_const(embedded_[e]).view(), n_codes);
    if (!cell) continue;
    V value = 0;
    ctx_.memory().to_host(&value, X.data + (cell->row * X.stride + cell->col), sizeof(V));
    throw schema::Error(schema::ErrorCode::kBadData,
                        fmt::format("{}: column {} has {}, must be an integer from 0 to {}, a code of its embedding",
                                    owner, cell->col, value, n_codes - 1));
  }
}

// The table itself where nothing is embedded.
template <class V>
MatrixView<const V> Network<V>::read_input(MatrixView<const V> X) {
  if (embedded_.empty()) return X;
  const MatrixView<V> to = input_.view().row_range(0, X.rows);
  std::int64_t at = plain_.size();
  if (at > 0) ctx_.ops<V>().categories->take_columns(X, {}, std::as_const(plain_).view(), columns_of(to, 0, at));
  for (std::size_t e = 0; e < embedded_.size(); at += shape_.embeddings[e].width(), ++e)
    ctx_.ops<V>().network->embed(X, std::as_const(embedded_[e]).view(), table(parameters_, e),
                                 columns_of(to, at, shape_.embeddings[e].width()));
  return to;
}

// `slopes` are by the first dense layer's neurons.
template <class V>
void Network<V>::return_to_embeddings(MatrixView<const V> X, MatrixView<const V> slopes, double slope_scale) {
  if (embedded_.empty()) return;
  const MatrixView<V> D = input_slopes_.view().row_range(0, X.rows);
  const MatrixView<const V> read = weights(0).row_range(plain_.size(), D.cols);   // by vectors alone
  ctx_.ops<V>().linear->gemm(Transpose::kNo, Transpose::kYes, V{1}, slopes, read, V{0}, D);
  std::int64_t at = 0;
  for (std::size_t e = 0; e < embedded_.size(); at += shape_.embeddings[e].width(), ++e)
    ctx_.ops<V>().network->embed_backward(X, std::as_const(embedded_[e]).view(), slope_scale,
                                          columns_of(D, at, shape_.embeddings[e].width()), table(gradient_, e));
}

template <class V>
MatrixView<V> Network<V>::forward(MatrixView<const V> X, const Step* step) {
  const Backend<V>& ops = ctx_.ops<V>();
  MatrixView<const V> from = read_input(X);
  for (std::int64_t l = 0; l < shape_.n_layers(); ++l) {
    MatrixView<V> to = layer(values_, l, X.rows);
    ops.linear->gemm(Transpose::kNo, Transpose::kNo, V{1}, from, weights(l), V{0}, to);
    if (l + 1 == shape_.n_layers()) break;
    std::vector<Stage>& own = stages_[static_cast<std::size_t>(l)];
    if (own.empty() || !own.front().is_fused) ops.network->activate(Activation::kIdentity, bias(l), to);
    for (Stage& stage : own) to = run_stage(stage, l, to, step);
    from = to;
  }
  return layer(values_, shape_.n_layers() - 1, X.rows);
}

template <class V>
void Network<V>::drop(const Stage& stage, const Step& step, MatrixView<V> Z) {
  NetworkOps<V>& ops = *ctx_.ops<V>().network;
  if (step.queue) batch_ops(ops)->drop_in_batch(*step.queue, stage.layer.rate, step.seed, stage.stream, Z);
  else ops.drop(stage.layer.rate, step.seed, dropout_stream(step.number, stage.stream), Z);
}

template <class V>
void Network<V>::return_stage(Stage& stage, double slope_scale, MatrixView<V> slopes, const Step* step) {
  NetworkOps<V>& ops = *ctx_.ops<V>().network;
  const std::int64_t k = slopes.cols;
  if (stage.layer.kind == Kind::kActivation) {
    const Matrix<V>& read = slopes_by_input(stage.layer.activation) ? stage.kept : stage.values;
    ops.backward(stage.layer.activation, read.view().row_range(0, slopes.rows), slope_scale, slopes,
                 unused_.view().slice(0, k));
  } else if (stage.layer.kind == Kind::kDropout) {
    if (step) drop(stage, *step, slopes);
  } else {
    const NormOver over = stage.layer.kind == Kind::kBatchNorm ? NormOver::kBatch : NormOver::kRow;
    ops.normalize_backward(over, std::as_const(parameters_).view().slice(stage.at, k),
                           std::as_const(stage.kept).view().row_range(0, slopes.rows),
                           std::as_const(stage.spread).view(), slope_scale, slopes, part(gradient_, stage.at, k),
                           part(gradient_, stage.at + k, k));
  }
}

template <class V>
void Network<V>::backward(MatrixView<const V> X, OutputLoss loss, const Goals<V>& goals, double loss_scale,
                          double slope_scale, VectorView<double> sums, const Step* step) {
  const Backend<V>& ops = ctx_.ops<V>();
  const std::int64_t last = shape_.n_layers() - 1;
  MatrixView<V> slopes = layer(values_, last, X.rows);
  ops.network->output(loss, bias(last), goals, loss_scale, slopes, sums);
  for (std::int64_t l = last; l >= 0; --l) {
    Activation own = Activation::kIdentity;   // what the intercepts' pass takes with it
    if (l < last) {
      std::vector<Stage>& stages = stages_[static_cast<std::size_t>(l)];
      for (std::size_t s = stages.size(); s-- > 0;) {
        if (stages[s].is_fused) own = stages[s].layer.activation;
        else return_stage(stages[s], slope_scale, slopes, step);
      }
    }
    const MatrixView<const V> values =
        own == Activation::kIdentity ? MatrixView<const V>() : MatrixView<const V>(layer(values_, l, X.rows));
    ops.network->backward(own, values, slope_scale, slopes,
                          gradient_.view().slice(shape_.intercepts_at(l), shape_.neurons(l)));
    const MatrixView<const V> below = l == 0 ? input_of(X) : MatrixView<const V>(values_of(l - 1, X.rows));
    const MatrixView<V> into(gradient_.data() + shape_.weights_at(l), shape_.inputs(l), shape_.neurons(l));
    ops.linear->gemm(Transpose::kYes, Transpose::kNo, static_cast<V>(slope_scale), below, slopes, V{0}, into);
    if (l == 0) return return_to_embeddings(X, slopes, slope_scale);
    const MatrixView<V> next = layer(slopes_, l - 1, X.rows);
    ops.linear->gemm(Transpose::kNo, Transpose::kYes, V{1}, slopes, weights(l), V{0}, next);
    slopes = next;
  }
}

template class Network<float>;
template class Network<double>;

}   // namespace kedge::engine
