// Data set references and selections to and from Cap'n Proto.
#include "schemas/wire.h"

namespace kedge::schema {
namespace {

struct SourceStorer {
  wire::DatasetRef::Builder builder;

  void operator()(const OpenmlRef& ref) {
    auto openml = builder.initOpenml();
    if (!ref.name.empty()) openml.setName(Utf8(ref.name));
    openml.setVersion(ref.version);
    openml.setId(ref.id);
  }
  void operator()(const UrlRef& ref) {
    auto url = builder.initUrl();
    url.setUrl(Utf8(ref.url));
    url.setFormat(Utf8(ref.format));
    if (!ref.sha256.empty()) url.setSha256(Utf8(ref.sha256));
    if (!ref.target.empty()) url.setTarget(Utf8(ref.target));
  }
  void operator()(const BuiltinRef& ref) { builder.initBuiltin().setName(Utf8(ref.name)); }
  void operator()(const StoredRef& ref) { builder.initStored().setName(Utf8(ref.name)); }
  void operator()(const InlineRef& ref) {
    auto csv = builder.initInline();
    csv.setCsv(Utf8(ref.csv));
    if (!ref.target.empty()) csv.setTarget(Utf8(ref.target));
    csv.setBytes(ref.bytes);
    if (!ref.sha256.empty()) csv.setSha256(Utf8(ref.sha256));
  }
};

OpenmlRef load_openml(wire::OpenmlRef::Reader reader) {
  return {.name = text(reader.getName()), .version = reader.getVersion(), .id = reader.getId()};
}

UrlRef load_url(wire::UrlRef::Reader reader) {
  return {.url = text(reader.getUrl()),
          .format = text(reader.getFormat()),
          .sha256 = text(reader.getSha256()),
          .target = text(reader.getTarget())};
}

void store_types(const std::vector<std::pair<std::string, std::string>>& types, capnp::List<wire::NamedText>::Builder builder) {
  unsigned i = 0;
  for (const auto& [column, type] : types) {
    auto entry = builder[i++];
    entry.setName(Utf8(column));
    entry.setValue(Utf8(type));
  }
}

InlineRef load_inline(wire::InlineRef::Reader reader) {
  return {.csv = text(reader.getCsv()), .target = text(reader.getTarget()), .bytes = reader.getBytes(), .sha256 = text(reader.getSha256())};
}

}  // namespace

void store(const DatasetRef& ref, wire::DatasetRef::Builder builder) {
  std::visit(SourceStorer{builder}, ref.source);
}

void load(DatasetRef& ref, wire::DatasetRef::Reader reader) {
  switch (reader.which()) {
    case wire::DatasetRef::OPENML:
      ref.source = load_openml(reader.getOpenml());
      break;
    case wire::DatasetRef::URL:
      ref.source = load_url(reader.getUrl());
      break;
    case wire::DatasetRef::BUILTIN:
      ref.source = BuiltinRef{text(reader.getBuiltin().getName())};
      break;
    case wire::DatasetRef::INLINE:
      ref.source = load_inline(reader.getInline());
      break;
    case wire::DatasetRef::STORED:
      ref.source = StoredRef{text(reader.getStored().getName())};
      break;
  }
}

void store(const Select& select, wire::Select::Builder builder) {
  if (select.rows) builder.initRows().setValue(*select.rows);
  if (!select.columns.empty()) store(select.columns, builder.initColumns(select.columns.size()));
  if (select.target) builder.setTarget(Utf8(*select.target));
  if (select.dtype) builder.setDtype(Utf8(*select.dtype));
  if (select.scale) builder.initScale().setValue(*select.scale);
  if (select.weights) builder.setWeights(Utf8(*select.weights));
  if (select.groups) builder.setGroups(Utf8(*select.groups));
  if (!select.naValues.empty()) store(select.naValues, builder.initNaValues(select.naValues.size()));
  builder.setKeepDefaultNa(select.keepDefaultNa);
  if (!select.types.empty()) store_types(select.types, builder.initTypes(select.types.size()));
}

void load(Select& select, wire::Select::Reader reader) {
  if (reader.hasRows()) select.rows = reader.getRows().getValue();
  load(select.columns, reader.getColumns());
  if (reader.hasTarget()) select.target = text(reader.getTarget());
  if (reader.hasDtype()) select.dtype = text(reader.getDtype());
  if (reader.hasScale()) select.scale = reader.getScale().getValue();
  if (reader.hasWeights()) select.weights = text(reader.getWeights());
  if (reader.hasGroups()) select.groups = text(reader.getGroups());
  load(select.naValues, reader.getNaValues());
  select.keepDefaultNa = reader.getKeepDefaultNa();
  for (const auto& type : reader.getTypes()) select.types.emplace_back(text(type.getName()), text(type.getValue()));
}

void store(const PreviewRequest& request, wire::PreviewRequest::Builder builder) {
  store(request.dataset, builder.initDataset());
  if (request.select != Select{}) store(request.select, builder.initSelect());
}

void load(PreviewRequest& request, wire::PreviewRequest::Reader reader) {
  load(request.dataset, reader.getDataset());
  if (reader.hasSelect()) load(request.select, reader.getSelect());
}

static void store(const PreviewColumn& column, wire::PreviewColumn::Builder builder) {
  builder.setName(Utf8(column.name));
  builder.setType(Utf8(column.type));
  builder.setRole(Utf8(column.role));
  builder.setMissing(column.missing);
  builder.setDistinct(column.distinct);
  builder.setMoreDistinct(column.moreDistinct);
  if (!column.hint.empty()) builder.setHint(Utf8(column.hint));
}

static void load(PreviewColumn& column, wire::PreviewColumn::Reader reader) {
  column = {.name = text(reader.getName()),
            .type = text(reader.getType()),
            .role = text(reader.getRole()),
            .missing = reader.getMissing(),
            .distinct = reader.getDistinct(),
            .moreDistinct = reader.getMoreDistinct(),
            .hint = text(reader.getHint())};
}

void store(const DatasetPreview& preview, wire::DatasetPreview::Builder builder) {
  builder.setName(Utf8(preview.name));
  builder.setRows(preview.rows);
  builder.setNColumns(preview.nColumns);
  builder.setCountedRows(preview.countedRows);
  if (!preview.target.empty()) builder.setTarget(Utf8(preview.target));
  store_list(preview.columns, builder.initColumns(preview.columns.size()));
  store_list(preview.firstRows, builder.initFirstRows(preview.firstRows.size()));
  store(preview.notes, builder.initNotes(preview.notes.size()));
}

void load(DatasetPreview& preview, wire::DatasetPreview::Reader reader) {
  preview.name = text(reader.getName());
  preview.rows = reader.getRows();
  preview.nColumns = reader.getNColumns();
  preview.countedRows = reader.getCountedRows();
  preview.target = text(reader.getTarget());
  load_list(preview.columns, reader.getColumns());
  load_list(preview.firstRows, reader.getFirstRows());
  load(preview.notes, reader.getNotes());
}

}  // namespace kedge::schema
