# The one error type, as in error.h. The enumerants are in the order of ErrorCode; new ones go last.
@0x9fcbc598a49f0cee;
using Cxx = import "/capnp/c++.capnp";
using Json = import "annotations.capnp";
$Cxx.namespace("kedge::schema::wire");

enum ErrorCode $Json.schema("ErrorCode") {
  malformed @0 $Json.name("MALFORMED");
  unknownField @1 $Json.name("UNKNOWN_FIELD");
  wrongType @2 $Json.name("WRONG_TYPE");
  invalidValue @3 $Json.name("INVALID_VALUE");
  unknownEstimator @4 $Json.name("UNKNOWN_ESTIMATOR");
  unknownParameter @5 $Json.name("UNKNOWN_PARAMETER");
  notFound @6 $Json.name("NOT_FOUND");
  methodNotAllowed @7 $Json.name("METHOD_NOT_ALLOWED");
  notAcceptable @8 $Json.name("NOT_ACCEPTABLE");
  unsupportedMediaType @9 $Json.name("UNSUPPORTED_MEDIA_TYPE");
  conflict @10 $Json.name("CONFLICT");
  bodyTooLarge @11 $Json.name("BODY_TOO_LARGE");
  tooManyRequests @12 $Json.name("TOO_MANY_REQUESTS");
  datasetNotFound @13 $Json.name("DATASET_NOT_FOUND");
  datasetUnavailable @14 $Json.name("DATASET_UNAVAILABLE");
  datasetCorrupt @15 $Json.name("DATASET_CORRUPT");
  badData @16 $Json.name("BAD_DATA");
  deviceUnavailable @17 $Json.name("DEVICE_UNAVAILABLE");
  outOfMemory @18 $Json.name("OUT_OF_MEMORY");
  workerCrashed @19 $Json.name("WORKER_CRASHED");
  cancelled @20 $Json.name("CANCELLED");
  deadlineExceeded @21 $Json.name("DEADLINE_EXCEEDED");
  unavailable @22 $Json.name("UNAVAILABLE");
  connection @23 $Json.name("CONNECTION");
  internal @24 $Json.name("INTERNAL");
  storageFull @25 $Json.name("STORAGE_FULL");
  idempotencyKeyReused @26 $Json.name("IDEMPOTENCY_KEY_REUSED");
  modelCorrupt @27 $Json.name("MODEL_CORRUPT");
  unauthenticated @28 $Json.name("UNAUTHENTICATED");
  forbidden @29 $Json.name("FORBIDDEN");
}

struct Error $Json.document $Json.schema("Error") {
  code @0 :ErrorCode = internal $Json.required;
  message @1 :Text;
  where @2 :Text;
}
