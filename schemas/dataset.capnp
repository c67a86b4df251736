# Where a data set comes from, and which part of it a job wants, as in dataset.h.
@0xa7e6aab00e27d37e;
using Cxx = import "/capnp/c++.capnp";
using Json = import "annotations.capnp";
using V = import "value.capnp";
$Cxx.namespace("kedge::schema::wire");

struct OpenmlRef {
  name @0 :Text $Json.optional;
  version @1 :Int64 $Json.optional;
  id @2 :Int64 $Json.optional;
}

struct UrlRef {
  url @0 :Text $Json.required;
  format @1 :Text = "csv";
  sha256 @2 :Text $Json.optional;
  target @3 :Text $Json.optional;
}

struct BuiltinRef $Json.bare {
  name @0 :Text $Json.required;
}

struct InlineRef {
  csv @0 :Text $Json.required;
  target @1 :Text $Json.optional;
  bytes @2 :Int64 $Json.optional;
  sha256 @3 :Text $Json.optional;
}

struct StoredRef $Json.bare {
  name @0 :Text $Json.required;
}

struct DatasetRef {
  union {
    openml @0 :OpenmlRef;
    url @1 :UrlRef;
    builtin @2 :BuiltinRef;
    inline @3 :InlineRef;
    stored @4 :StoredRef;
  }
}

struct Select {
  rows @0 :V.BoxedInt64 $Json.optional;
  columns @1 :List(Text) $Json.optional;
  target @2 :Text $Json.optional;
  dtype @3 :Text $Json.optional;
  scale @4 :V.BoxedFloat64 $Json.optional;
  weights @5 :Text $Json.optional;
  groups @6 :Text $Json.optional;
}
