// Stored models to and from Cap'n Proto.
#include "schemas/wire.h"

namespace kedge::schema {

static void store(const ModelColumn& column, wire::ModelColumn::Builder builder) {
  builder.setName(Utf8(column.name));
  builder.setKind(Utf8(column.kind));
  if (!column.categories.empty()) store(column.categories, builder.initCategories(column.categories.size()));
  if (!column.type.empty()) builder.setType(Utf8(column.type));
  if (!column.source.empty()) builder.setSource(Utf8(column.source));
}

static void load(ModelColumn& column, wire::ModelColumn::Reader reader) {
  column = {.name = text(reader.getName()), .kind = text(reader.getKind())};
  load(column.categories, reader.getCategories());
  column.type = text(reader.getType());
  column.source = text(reader.getSource());
}

void store(const ModelInfo& model, wire::ModelInfo::Builder builder) {
  if (!model.id.empty()) builder.setId(Utf8(model.id));
  if (!model.created.empty()) builder.setCreated(Utf8(model.created));
  if (!model.job.empty()) builder.setJob(Utf8(model.job));
  builder.setBytes(model.bytes);
  if (!model.sha256.empty()) builder.setSha256(Utf8(model.sha256));
  store(model.dataset, builder.initDataset());
  store_list(model.pipeline, builder.initPipeline(model.pipeline.size()));
  store(model.outputs, builder.initOutputs(model.outputs.size()));
  store_list(model.columns, builder.initColumns(model.columns.size()));
  if (!model.target.empty()) builder.setTarget(Utf8(model.target));
  store(model.classes, builder.initClasses(model.classes.size()));
  builder.setDtype(Utf8(model.dtype));
  builder.setScale(model.scale);
  builder.setNSamples(model.nSamples);
  builder.setSeed(model.seed);
  if (!model.dataDigest.empty()) builder.setDataDigest(Utf8(model.dataDigest));
  builder.setVersion(Utf8(model.version));
  builder.setDevice(Utf8(model.device));
  if (!model.naValues.empty()) store(model.naValues, builder.initNaValues(model.naValues.size()));
}

void load(ModelInfo& model, wire::ModelInfo::Reader reader) {
  model.id = text(reader.getId());
  model.created = text(reader.getCreated());
  model.job = text(reader.getJob());
  model.bytes = reader.getBytes();
  model.sha256 = text(reader.getSha256());
  load(model.dataset, reader.getDataset());
  load_list(model.pipeline, reader.getPipeline());
  load(model.outputs, reader.getOutputs());
  load_list(model.columns, reader.getColumns());
  model.target = text(reader.getTarget());
  load(model.classes, reader.getClasses());
  model.dtype = text(reader.getDtype());
  model.scale = reader.getScale();
  model.nSamples = reader.getNSamples();
  model.seed = reader.getSeed();
  model.dataDigest = text(reader.getDataDigest());
  model.version = text(reader.getVersion());
  model.device = text(reader.getDevice());
  load(model.naValues, reader.getNaValues());
}

void store(const ModelPage& page, wire::ModelPage::Builder builder) {
  store_list(page.models, builder.initModels(page.models.size()));
  if (!page.nextPageToken.empty()) builder.setNextPageToken(Utf8(page.nextPageToken));
}

void load(ModelPage& page, wire::ModelPage::Reader reader) {
  load_list(page.models, reader.getModels());
  page.nextPageToken = text(reader.getNextPageToken());
}

}  // namespace kedge::schema
