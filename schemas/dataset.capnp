# Where a data set comes from, and which part of it a job wants, as in dataset.h; what it holds, as in preview.h.
@0xa7e6aab00e27d37e;
using Cxx = import "/capnp/c++.capnp";
using Json = import "annotations.capnp";
using V = import "value.capnp";
$Cxx.namespace("kedge::schema::wire");

struct OpenmlRef {
  # name and version, or id.

  name @0 :Text $Json.optional;
  version @1 :Int64 $Json.optional;
  id @2 :Int64 $Json.optional;
}

struct UrlRef {
  # url, or urls: several files of the same columns as one table of their rows, in this order.

  url @0 :Text $Json.optional;
  format @1 :Text = "csv" $Json.choices(["csv", "arff", "libsvm", "parquet", "arrow"]);
  sha256 @2 :Text $Json.optional $Json.pattern("^([0-9A-Fa-f]{64})?$");
  target @3 :Text $Json.optional;
  urls @4 :List(Text) $Json.optional;
}

struct BuiltinRef $Json.bare {
  name @0 :Text $Json.required $Json.choices(["digits", "iris", "wine", "breast_cancer", "diabetes", "mnist_10k"]);
}

struct InlineRef {
  csv @0 :Text $Json.required;
  # Needed in a request. Empty in answers: in lists always, with a single job where it has more than 65536 bytes.

  target @1 :Text $Json.optional;
  bytes @2 :Int64 $Json.optional;
  # Size of csv. The server fills it in.

  sha256 @3 :Text $Json.optional $Json.pattern("^([0-9A-Fa-f]{64})?$");
  # SHA-256 of csv. The server fills it in; one in a request must be right.
}

struct StoredRef $Json.bare {
  name @0 :Text $Json.required $Json.pattern(".");
  # An upload's name, or sha256: and its digest.
}

struct GenerateRef {
  # scikit-learn's function of that name, with the same numbers for the same random_state (0 by default).

  name @0 :Text $Json.required $Json.choices(["make_classification", "make_regression", "make_friedman1", "make_blobs", "make_moons", "make_circles", "make_swiss_roll", "make_s_curve"]);
  params @1 :List(V.NamedValue) $Json.map $Json.optional;
}

struct SklearnRef $Json.bare {
  name @0 :Text $Json.required $Json.pattern(".");
  # What scikit-learn's fetch_ function of that name fetches: covtype.
}

struct DatasetRef $Json.schema("Dataset") $Json.variant("source") {
  # One of these.

  union {
    openml @0 :OpenmlRef;
    url @1 :UrlRef;
    builtin @2 :BuiltinRef;
    inline @3 :InlineRef;
    stored @4 :StoredRef;
    generate @5 :GenerateRef;
    sklearn @6 :SklearnRef;
  }
}

struct Select $Json.schema("Select") {
  rows @0 :V.BoxedInt64 $Json.optional $Json.minimum(1);
  # The first rows, so many.

  columns @1 :List(Text) $Json.optional;
  # The feature columns; without them all.

  target @2 :Text $Json.optional;
  # The target column, instead of the data set's own.

  dtype @3 :Text $Json.optional $Json.choices(["float32", "float64"]);
  scale @4 :V.BoxedFloat64 $Json.optional;
  # Every feature value is multiplied by it.

  weights @5 :Text $Json.optional;
  # The column of sample weights, for the last step's fit; it is not a feature.

  groups @6 :Text $Json.optional;
  # The column of groups, for group splitters; it is not a feature.

  naValues @7 :List(Text) $Json.optional;
  # Cells with these texts are missing, in every column.

  keepDefaultNa @8 :Bool = true $Json.optional;
  # Whether pandas' usual texts are missing as well, in columns whose type is guessed.

  types @9 :List(NamedText) $Json.map $Json.optional;
  # By column: number, category, date (days since 1970-01-01), date:parts (year, month, day, weekday), date:dmy, date:mdy, or drop.

  where @10 :List(Text) $Json.optional;
  # Rows that meet all of these: age >= 30, city in ['Paris', 'Rome'], `net income` notna; ==, !=, <, <=, >, >=, in, not in, isna, notna.

  dropna @11 :Bool $Json.optional;
  # Without the rows that have a missing cell in the columns of the selection.

  dropDuplicates @12 :Bool $Json.optional;
  # Of rows that are equal in these columns, only the first.

  sample @13 :V.BoxedInt64 $Json.optional $Json.minimum(1);
  # So many of the rows that are left, at random, as pandas draws them.

  sampleSeed @14 :V.BoxedInt64 $Json.optional $Json.minimum(0);
  # The random_state of sample; 0 where none is given.

  targets @15 :List(Text) $Json.optional;
  # The target columns of a model with several outputs, at least two, in their order; not beside target.
}

struct TargetColumn {
  # One of several target columns.

  name @0 :Text;
  classes @1 :List(Text) $Json.optional;
  # Names of its classes, in code order; none for numbers.
}

struct NamedText {
  name @0 :Text;
  value @1 :Text;
}

struct PreviewRequest $Json.document $Json.schema("PreviewRequest") $Json.request {
  dataset @0 :DatasetRef $Json.required;
  select @1 :Select $Json.optional;
}

struct PreviewColumn {
  name @0 :Text;
  type @1 :Text $Json.choices(["number", "category", "text", "date"]);
  role @2 :Text $Json.choices(["feature", "target", "weights", "groups", "leftOut"]);
  missing @3 :Int64;
  distinct @4 :Int64;
  moreDistinct @5 :Bool $Json.optional;
  hint @6 :Text $Json.optional;
  # What is odd about it, and what to write in the job.
}

struct DatasetPreview $Json.document $Json.schema("DatasetPreview") {
  # At most 200 columns, 100 rows and 4000 cells.

  name @0 :Text;
  rows @1 :Int64;
  nColumns @2 :Int64;
  countedRows @3 :Int64;
  # missing and distinct are of so many rows, the first ones.

  target @4 :Text $Json.optional;
  columns @5 :List(PreviewColumn);
  firstRows @6 :List(V.Value) $Json.jsonTypes(["array"]);
  notes @7 :List(Text);
}
