# A JSON-like value, as in value.h, and scalars that can be absent.
@0xc88c9b72383aefd8;
using Cxx = import "/capnp/c++.capnp";
using Json = import "annotations.capnp";
$Cxx.namespace("kedge::schema::wire");

struct Value $Json.any {
  union {
    nothing @0 :Void;
    boolean @1 :Bool;
    integer @2 :Int64;
    number @3 :Float64;
    text @4 :Text;
    numbers @5 :List(Float64);
    list @6 :List(Value);
    object @7 :List(NamedValue) $Json.map;
  }
}

struct NamedValue {
  name @0 :Text;
  value @1 :Value;
}

struct BoxedInt64 $Json.bare { value @0 :Int64; }
struct BoxedFloat64 $Json.bare { value @0 :Float64; }
