# A stored model, as in model.h.
@0xc1f5bd1b6d1c6f0d;
using Cxx = import "/capnp/c++.capnp";
using Json = import "annotations.capnp";
using Dataset = import "dataset.capnp";
using Job = import "job.capnp";
using V = import "value.capnp";
$Cxx.namespace("kedge::schema::wire");

struct ModelColumn {
  name @0 :Text;
  kind @1 :Text = "number";
  categories @2 :List(Text) $Json.optional;
  type @3 :Text $Json.optional;
  source @4 :Text $Json.optional;
}

struct ModelInfo $Json.document $Json.schema("ModelInfo") {
  id @0 :Text $Json.optional;
  created @1 :Text $Json.optional;
  job @2 :Text $Json.optional;
  bytes @3 :Int64;
  sha256 @4 :Text $Json.optional $Json.pattern("^[0-9a-f]{64}$");
  # Of the file; it is checked before each use.

  dataset @5 :Dataset.DatasetRef $Json.required;
  pipeline @6 :List(Job.Step);
  outputs @7 :List(Text);
  columns @8 :List(ModelColumn);
  target @9 :Text $Json.optional;
  classes @10 :List(Text);
  dtype @11 :Text = "float64";
  scale @12 :Float64 = 1;
  nSamples @13 :Int64;
  seed @14 :Int64;
  dataDigest @15 :Text $Json.optional;
  version @16 :Text;
  device @17 :Text;
  naValues @18 :List(Text) $Json.optional;
  targets @19 :List(Dataset.TargetColumn) $Json.optional;
  # Of a model with several outputs, in their order; target and classes are then empty.
}

struct ModelPage $Json.document {
  models @0 :List(ModelInfo) $Json.required;
  nextPageToken @1 :Text $Json.optional;
}

# What a model keeps of the rows that it was fitted on, and what kedged counts of those that it is asked about. Bins of a
# column: of numbers one more than edges, a number is in the first whose edge is not below it; of categories one for each,
# then one for all others; then, for either, one for missing cells.

struct ProfileColumn {
  edges @0 :List(Float64);
  categories @1 :List(Text);
  shares @2 :List(Float64);
}

struct ModelProfile $Json.document {
  rows @0 :Int64;
  columns @1 :List(ProfileColumn);
}

struct DriftCounts $Json.document {
  since @0 :Text;
  rows @1 :Int64;
  counts @2 :List(Int64);
  profile @3 :ModelProfile $Json.optional;
}

struct DriftColumn {
  name @0 :Text;
  kind @1 :Text = "number" $Json.choices(["number", "category", "text"]);
  psi @2 :V.BoxedFloat64 $Json.optional;
  # Population stability index; absent below 100 rows.

  trainedMissing @3 :Float64;
  # Share of missing cells in the rows that the model was fitted on.

  seenMissing @4 :Float64;
  # The same of the rows that it was asked about.

  edges @5 :List(Float64) $Json.optional;
  # Of numbers: a bin up to and with each, and one for what is above the last.

  categories @6 :List(Text) $Json.optional;
  # Of categories: a bin for each, and one for all others.

  trained @7 :List(Float64);
  # Shares of the bins in the rows that the model was fitted on. With trainedMissing they add up to 1.

  seen @8 :List(Float64);
  # The same of the rows that it was asked about.
}

struct ModelDrift $Json.document $Json.schema("ModelDrift") {
  # How the rows that a model was asked about differ from those that it was fitted on.

  model @0 :Text $Json.required;
  # The stored model's id.

  since @1 :Text $Json.optional;
  # When its rows began to be counted; absent: it was not asked yet.

  rows @2 :Int64;
  # That it was asked about since then.

  trainedRows @3 :Int64;
  # Of the data set that were counted when it was fitted.

  psi @4 :V.BoxedFloat64 $Json.optional;
  # The largest of a column.

  columns @5 :List(DriftColumn);
  # In the model's order.

  note @6 :Text $Json.optional;
  # Why there are no columns.
}
