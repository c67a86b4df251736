# What Cap'n Proto has no notion of. First: how our schema looks in JSON; json_reader.cc, json_writer.cc and check.cc use these.
@0xd91310e56820ebb6;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("kedge::schema::wire");

# A struct with a union: exactly one member must be there. (No annotation needed.)

annotation any @0xa012dd5ba7e73531 (struct) :Void;
# The struct is Value: its JSON is any JSON.

annotation bare @0x8a0ceb476ad9369a (struct) :Void;
# A struct of one field, and its JSON is that field's alone: {"builtin": "iris"}; a scalar that can be absent.

annotation map @0xa4cefa7f6c180760 (field) :Void;
# A list of {name, value}, and its JSON is an object. The order is kept, names are unique.

annotation optional @0xa61c6d69291a5b1d (field) :Void;
# Left out of JSON while it has its default; null counts as absent.

annotation required @0xdcc59c85f332095e (field) :Void;
# Must be there, in JSON and (where it is a pointer) in binary.

annotation name @0xe035d8224466f7d1 (enumerant) :Text;
# The enumerant's name in JSON, where it is not its own.

# How it looks in C++; codegen/ uses these and "optional".

annotation document @0xf7282bc3a2966621 (struct) :Void;
# The codec reads and writes it, as JSON and as bytes.

annotation message @0xd601dab4d4df9fde (struct) :Void;
# The codec reads and writes it, as bytes only.

annotation variant @0x9eb099ab26e56cd6 (struct) :Text;
# The member of the value type that holds the union. Without it the value type is the variant itself.

annotation requiredIf @0x8916650fbde5fb16 (field) :Text;
# An optional field that is required where this function of the value type is true.

annotation lent @0xfb0a607579cfb47d (field) :Void;
# The bytes outlive the message, which points to them where they are whole words; else it has a copy.

annotation member @0xd5c0f2a86b1e7943 (field) :Text;
# The value type's member, where the field's name is a word of C++.

annotation wireOnly @0xe69caf44708d5c83 (field) :Void;
# The value type has no such member.

# What the contract says of it beyond its type; codegen/ makes the components of openapi.json of these. The comment behind a
# declaration is its description.

annotation schema @0x8426e5279b4a1314 (struct, enum) :Text;
# The component's name. Without it the schema is written where it is used.

annotation request @0xb0a873f78693e81b (struct) :Void;
# Clients send it: it has the fields of the schema and no others, and those that are not required have the defaults of the schema.

annotation minimum @0xd23f91f327761dd5 (field) :Int64;
annotation choices @0xb6fc1841732481b8 (field) :List(Text);
annotation pattern @0xfe2f848c142c30b3 (field) :Text;

annotation jsonTypes @0x9e8ea3d91ffdb805 (field) :List(Text);
# The types that a Value, or each of a list, may have here.

annotation default @0xd53df0265ad39e24 (field) :Text;
# Of a Value: what the value type has where it is absent, as JSON.

annotation component @0xb6506dac6db04adb (field) :Text;
# The component of openapi.in.json that says what a Value may be here.
