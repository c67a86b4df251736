# Registered models, as in registry.h.
@0xb27f3d1c5a9e4406;
using Cxx = import "/capnp/c++.capnp";
using Json = import "annotations.capnp";
using V = import "value.capnp";
$Cxx.namespace("kedge::schema::wire");

struct ModelVersion $Json.document $Json.schema("ModelVersion") {
  # A version of a registered model: a stored model under a name and a number.

  name @0 :Text $Json.required;
  version @1 :Int64 $Json.required $Json.minimum(1);
  model @2 :Text $Json.required;
  # The stored model's id.

  created @3 :Text $Json.optional;
  description @4 :Text $Json.optional;
  tags @5 :List(V.NamedValue) $Json.map $Json.optional;
  # Texts by name.

  aliases @6 :List(Text) $Json.optional;
  # That name this version.
}

struct ModelVersionPage $Json.document {
  versions @0 :List(ModelVersion) $Json.required;
  # The highest first.

  nextPageToken @1 :Text $Json.optional;
}

struct RegisteredModel $Json.document $Json.schema("RegisteredModel") {
  # A name under which models are registered.

  name @0 :Text $Json.required;
  created @1 :Text $Json.optional;
  updated @2 :Text $Json.optional;
  # When a version, an alias, the description or the tags last changed.

  description @3 :Text $Json.optional;
  tags @4 :List(V.NamedValue) $Json.map $Json.optional;
  # Texts by name.

  aliases @5 :List(V.NamedValue) $Json.map $Json.optional;
  # The version of each alias.

  latestVersion @6 :Int64;
  # The highest there is; 0: none.

  versions @7 :Int64;
  # How many there are.
}

struct RegisteredModelPage $Json.document {
  models @0 :List(RegisteredModel) $Json.required;
  # By name.

  nextPageToken @1 :Text $Json.optional;
}

struct NewModelVersion $Json.document $Json.schema("NewModelVersion") $Json.request {
  model @0 :Text $Json.required;
  # A stored model's id, or any other reference to one.

  description @1 :Text $Json.optional;
  tags @2 :List(V.NamedValue) $Json.map $Json.optional;
  # Texts by name.
}

struct RegistryEdit $Json.document $Json.schema("RegistryEdit") $Json.request {
  # What is left out stays as it is.

  description @0 :V.Value $Json.optional $Json.jsonTypes(["string"]);
  tags @1 :List(V.NamedValue) $Json.map $Json.optional;
  # Texts by name; null removes one, the others stay.
}

struct AliasTarget $Json.document $Json.schema("AliasTarget") $Json.request {
  version @0 :Int64 $Json.required $Json.minimum(1);
}
