# What the server offers, as in catalogue.h.
@0xebe86e213fe78ee5;
using Cxx = import "/capnp/c++.capnp";
using Json = import "annotations.capnp";
using V = import "value.capnp";
$Cxx.namespace("kedge::schema::wire");

struct ParamForm $Json.schema("ParamForm") {
  type @0 :Type $Json.required;
  minimum @1 :V.BoxedFloat64 $Json.optional;
  maximum @2 :V.BoxedFloat64 $Json.optional;
  exclusiveMinimum @3 :Bool $Json.optional;
  exclusiveMaximum @4 :Bool $Json.optional;
  choices @5 :List(Text) $Json.optional;
  items @6 :List(ParamForm) $Json.optional;
  fields @7 :List(ParamInfo) $Json.optional;

  enum Type {
    nothing @0 $Json.name("null");   # NULL is a macro in C++
    boolean @1;
    integer @2;
    number @3;
    string @4;
    object @5;
    array @6;
  }
}

struct ParamInfo $Json.schema("Param") {
  name @0 :Text $Json.required;
  doc @1 :Text;
  defaultValue @2 :V.Value;
  forms @3 :List(ParamForm);
}

struct EstimatorInfo $Json.document $Json.schema("Estimator") {
  name @0 :Text $Json.required;
  kind @1 :Text;
  family @2 :Text;
  doc @3 :Text;
  params @4 :List(ParamInfo);
  attributes @5 :List(Text);
  deviations @6 :List(Text);
  hostPart @7 :Text $Json.optional;
}

struct Catalogue $Json.document $Json.schema("Catalogue") {
  estimators @0 :List(EstimatorInfo) $Json.required;
}

struct DeviceEntry $Json.schema("Device") {
  id @0 :Text;
  name @1 :Text;
  driver @2 :Text;
  threads @3 :Int64;
  memoryBytes @4 :Int64;
  missing @5 :Text $Json.optional;
}

struct DeviceList $Json.document {
  devices @0 :List(DeviceEntry) $Json.required;
}

struct ServerInfo $Json.document $Json.schema("ServerInfo") {
  name @0 :Text = "kedge";
  version @1 :Text;
  devices @2 :List(DeviceEntry);
  builtinDatasets @3 :List(Text);
  scorers @4 :List(Text);
}
