# Where a data set comes from, and which part of it a job wants, as in dataset.h; what it holds, as in preview.h.
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

struct DatasetRef $Json.variant("source") {
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
  naValues @7 :List(Text) $Json.optional;
  keepDefaultNa @8 :Bool = true $Json.optional;
  types @9 :List(NamedText) $Json.map $Json.optional;
}

struct NamedText {
  name @0 :Text;
  value @1 :Text;
}

struct PreviewRequest $Json.document {
  dataset @0 :DatasetRef $Json.required;
  select @1 :Select $Json.optional;
}

struct PreviewColumn {
  name @0 :Text;
  type @1 :Text;
  role @2 :Text;
  missing @3 :Int64;
  distinct @4 :Int64;
  moreDistinct @5 :Bool $Json.optional;
  hint @6 :Text $Json.optional;
}

struct DatasetPreview $Json.document {
  name @0 :Text;
  rows @1 :Int64;
  nColumns @2 :Int64;
  countedRows @3 :Int64;
  target @4 :Text $Json.optional;
  columns @5 :List(PreviewColumn);
  firstRows @6 :List(V.Value);
  notes @7 :List(Text);
}
