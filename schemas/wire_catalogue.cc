// The catalogue, devices and server information to and from Cap'n Proto.
#include "schemas/wire.h"

namespace kedge::schema {

static void store(const ParamInfo& param, wire::ParamInfo::Builder builder);
static void load(ParamInfo& param, wire::ParamInfo::Reader reader);

static void store(const ParamForm& form, wire::ParamForm::Builder builder) {
  builder.setType(static_cast<wire::ParamForm::Type>(form.type));
  if (form.minimum) builder.initMinimum().setValue(*form.minimum);
  if (form.maximum) builder.initMaximum().setValue(*form.maximum);
  builder.setExclusiveMinimum(form.exclusiveMinimum);
  builder.setExclusiveMaximum(form.exclusiveMaximum);
  if (!form.choices.empty()) store(form.choices, builder.initChoices(form.choices.size()));
  if (!form.items.empty()) store_list(form.items, builder.initItems(form.items.size()));
  if (!form.fields.empty()) store_list(form.fields, builder.initFields(form.fields.size()));
}

static void load(ParamForm& form, wire::ParamForm::Reader reader) {
  form.type = static_cast<ParamForm::Type>(reader.getType());
  if (reader.hasMinimum()) form.minimum = reader.getMinimum().getValue();
  if (reader.hasMaximum()) form.maximum = reader.getMaximum().getValue();
  form.exclusiveMinimum = reader.getExclusiveMinimum();
  form.exclusiveMaximum = reader.getExclusiveMaximum();
  load(form.choices, reader.getChoices());
  load_list(form.items, reader.getItems());
  load_list(form.fields, reader.getFields());
}

static void store(const ParamInfo& param, wire::ParamInfo::Builder builder) {
  builder.setName(Utf8(param.name));
  builder.setDoc(Utf8(param.doc));
  store(param.defaultValue, builder.initDefaultValue());
  store_list(param.forms, builder.initForms(param.forms.size()));
}

static void load(ParamInfo& param, wire::ParamInfo::Reader reader) {
  param.name = text(reader.getName());
  param.doc = text(reader.getDoc());
  load(param.defaultValue, reader.getDefaultValue());
  load_list(param.forms, reader.getForms());
}

void store(const EstimatorInfo& info, wire::EstimatorInfo::Builder builder) {
  builder.setName(Utf8(info.name));
  builder.setKind(Utf8(info.kind));
  builder.setFamily(Utf8(info.family));
  builder.setDoc(Utf8(info.doc));
  store_list(info.params, builder.initParams(info.params.size()));
  store(info.attributes, builder.initAttributes(info.attributes.size()));
  store(info.deviations, builder.initDeviations(info.deviations.size()));
}

void load(EstimatorInfo& info, wire::EstimatorInfo::Reader reader) {
  info.name = text(reader.getName());
  info.kind = text(reader.getKind());
  info.family = text(reader.getFamily());
  info.doc = text(reader.getDoc());
  load_list(info.params, reader.getParams());
  load(info.attributes, reader.getAttributes());
  load(info.deviations, reader.getDeviations());
}

void store(const Catalogue& catalogue, wire::Catalogue::Builder builder) {
  store_list(catalogue.estimators, builder.initEstimators(catalogue.estimators.size()));
}

void load(Catalogue& catalogue, wire::Catalogue::Reader reader) {
  load_list(catalogue.estimators, reader.getEstimators());
}

void store(const DeviceEntry& device, wire::DeviceEntry::Builder builder) {
  builder.setId(Utf8(device.id));
  builder.setName(Utf8(device.name));
  builder.setDriver(Utf8(device.driver));
  builder.setThreads(device.threads);
  builder.setMemoryBytes(device.memoryBytes);
  if (!device.missing.empty()) builder.setMissing(Utf8(device.missing));
}

void load(DeviceEntry& device, wire::DeviceEntry::Reader reader) {
  device = {.id = text(reader.getId()),
            .name = text(reader.getName()),
            .driver = text(reader.getDriver()),
            .threads = reader.getThreads(),
            .memoryBytes = reader.getMemoryBytes(),
            .missing = text(reader.getMissing())};
}

void store(const DeviceList& list, wire::DeviceList::Builder builder) {
  store_list(list.devices, builder.initDevices(list.devices.size()));
}

void load(DeviceList& list, wire::DeviceList::Reader reader) {
  load_list(list.devices, reader.getDevices());
}

void store(const ServerInfo& info, wire::ServerInfo::Builder builder) {
  builder.setName(Utf8(info.name));
  builder.setVersion(Utf8(info.version));
  store_list(info.devices, builder.initDevices(info.devices.size()));
  store(info.builtinDatasets, builder.initBuiltinDatasets(info.builtinDatasets.size()));
  store(info.scorers, builder.initScorers(info.scorers.size()));
}

void load(ServerInfo& info, wire::ServerInfo::Reader reader) {
  info.name = text(reader.getName());
  info.version = text(reader.getVersion());
  load_list(info.devices, reader.getDevices());
  load(info.builtinDatasets, reader.getBuiltinDatasets());
  load(info.scorers, reader.getScorers());
}

}  // namespace kedge::schema
