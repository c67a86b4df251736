# A stored model, as in model.h.
@0xc1f5bd1b6d1c6f0d;
using Cxx = import "/capnp/c++.capnp";
using Json = import "annotations.capnp";
using Dataset = import "dataset.capnp";
using Job = import "job.capnp";
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
