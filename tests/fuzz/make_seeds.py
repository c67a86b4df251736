"""Writes the seeds of the readers of tables, event streams and models: a few rows of iris in each form, by numpy and scikit-learn, and
streams and small models of a real server. Needs those two and the programs (KEDGE_BIN).

python3 tests/fuzz/make_seeds.py"""
import io
import pathlib
import struct
import sys
import tempfile
import zipfile

import numpy
import scipy.sparse
from sklearn.datasets import dump_svmlight_file, load_iris

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import Kedged, spec  # noqa: E402

ROWS = [0, 50, 100, 1]
DENSE = """% comment
@RELATION iris
@ATTRIBUTE sepallength REAL
@attribute 'petal width' numeric
@ATTRIBUTE note string
@ATTRIBUTE class {Iris-setosa,"Iris-versicolor",'Iris \\'virginica\\''}
@DATA
"""
SPARSE = "@relation r\n@attribute a integer\n@attribute b real\n@attribute c {x,y}\n@data\n{0 1, 2 y}\n{1 -2.5e-3}\n{}\n"


def write(folder, name, content):
    path = HERE / "seeds" / folder
    path.mkdir(parents=True, exist_ok=True)
    (path / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def tables():
    iris = load_iris()
    rows, classes = iris.data[ROWS], iris.target[ROWS]
    labels = ["Iris-setosa", '"Iris-versicolor"', "'Iris \\'virginica\\''"]
    write("arff", "dense", DENSE + "".join(f"{r[0]},{r[3]},'a note',{labels[c]}\n" for r, c in zip(rows, classes)) + "?,1e-3,\"\",?\r\n")
    write("arff", "sparse", SPARSE)
    write("csv", "plain", "sepal length,petal width,class\n" + "".join(f"{r[0]},{r[3]},{labels[c]}\n" for r, c in zip(rows, classes)))
    write("csv", "quoted", 'a,"b ""c""",d\r\n1,"x\ny",\r\nNA,"",nan\r\n-1e5,"z, z",?')
    text = io.BytesIO()
    dump_svmlight_file(rows, classes, text, zero_based=False, query_id=classes, comment="iris")
    write("libsvm", "queries", text.getvalue())
    write("libsvm", "plain", "+1 1:0.5 3:2 # first\n-1 2:1e-3\n0\n")
    for name, array in {"f8": rows, "f4_fortran": numpy.asfortranarray(rows.astype("f4")), "i2": classes.astype(">i2"), "bool": rows > 3}.items():
        out = io.BytesIO()
        numpy.save(out, array)
        write("npy", name, out.getvalue())
        if name != "f4_fortran":   # which is read when it is complete
            write("npy_stream", name, out.getvalue())
    archives(rows, classes)
    columnar(rows, classes)
    many = numpy.arange(24, dtype="f4").reshape(8, 3)
    many[2, 1] = numpy.nan
    for name, array in {"f4_many_rows": many, "i8_too_large": numpy.array([[1, 2], [2**60, 3]])}.items():
        out = io.BytesIO()
        numpy.save(out, array)
        write("npy_stream", name, out.getvalue())


def archives(rows, classes):
    matrix = scipy.sparse.csr_matrix(numpy.where(rows > 3, rows, 0))
    sparse = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape, "format": b"csr"}
    named = {"columns.0": rows[:, 0], "columns.1": classes.astype("i1"), "categories.1": ["a", "b", "c"], "columns.2": ["x", "y", "x", "z"],
             "feature_names": ["first", "second", "third"], "y": ["no", "yes", "no", "no"], "target_name": ["left"]}
    for save in (numpy.savez, numpy.savez_compressed):
        for name, arrays in {"matrix": {"X": rows, "y": classes, "sample_weight": rows[:, 0], "groups": classes}, "sparse": {**sparse, "y": classes},
                             "columns": named}.items():
            out = io.BytesIO()
            save(out, **arrays)
            write("npz", name + ("_packed" if save is numpy.savez_compressed else ""), out.getvalue())


SMALLER = {"n_features": 16, "n_estimators": 2, "hidden_layer_sizes": [2], "n_components": 2, "n_quantiles": 5, "n_clusters": 2, "radius": 2.0, "max_depth": 2, "n_knots": 3}
TEXTS = ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer")   # take them
SEVERAL = ("MultiOutputClassifier", "MultiOutputRegressor", "ClassifierChain", "RegressorChain")   # fit several targets
SCALED = {"estimator": "StandardScaler"}
PIPELINES = {
    "steps": ["StandardScaler", ("PCA", {"n_components": 2}), "LogisticRegression"],
    "ColumnTransformer": [("ColumnTransformer", {"transformers": [["a", SCALED, [0, 1]], ["b", {"estimator": "OneHotEncoder"}, [2]]],
                                                 "remainder": "passthrough"}), "GaussianNB"],
    "layers": [("KBinsDiscretizer", {"encode": "ordinal", "n_bins": 3}),
               ("MLPClassifier", {"layers": [{"embedding": {"columns": [0, 2], "input_dim": 3, "output_dim": 2}}, "dense(3)", "batch_norm", "relu"],
                                  "max_iter": 2, "early_stopping": True, "validation_fraction": 0.3, "scoring": "neg_log_loss"})],
    **{name: [(name, {"estimators": [["a", {"estimator": "GaussianNB"}], ["b", {"estimator": "DecisionTreeClassifier"}]]})]
       for name in ("VotingClassifier", "StackingClassifier")},
    **{name: [(name, {"estimators": [["a", {"estimator": "Ridge"}], ["b", {"estimator": "DecisionTreeRegressor"}]]})]
       for name in ("VotingRegressor", "StackingRegressor")},
    **{name: [(name, {"max_iter": 2, "min_samples_leaf": 2})] for name in ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")},
    "FeatureUnion": [("FeatureUnion", {"transformer_list": [["a", SCALED], ["b", [SCALED, {"estimator": "Normalizer"}]]]}), "GaussianNB"]}


OPEN = {"StandardScaler", "LogisticRegression", "RandomForestClassifier", "KMeans", "ColumnTransformer", "GaussianMixture", "KNeighborsClassifier",
        "HistGradientBoostingRegressor", "SVC"}   # records of all types among them


def members(zip):
    """As open_model_fuzz.cc reads them: names and contents with their lengths, so that a change keeps a checksum that fits."""
    with zipfile.ZipFile(io.BytesIO(zip)) as file:
        return b"".join(struct.pack("B", len(one)) + one.encode() + struct.pack("<I", len(file.read(one))) + file.read(one) for one in file.namelist())


def columnar(rows, classes):
    """Needs pyarrow; without it the seeds stay as they are."""
    try:
        import pyarrow as pa
        import pyarrow.feather
        import pyarrow.parquet as pq
    except ImportError:
        return
    names = pa.array(["setosa", "versicolor", None, "virginica"])
    plain = pa.table({"length": rows[:, 0], "width": rows[:, 3].astype("f4"), "class": classes, "name": names, "large": classes == 1})
    other = pa.table({"name": names.dictionary_encode(), "day": pa.array([1, None, -3, 4], pa.date32()), "at": pa.array([1, 2, 3, 4], pa.timestamp("ms")),
                      "price": pa.array([1, 2, None, 4], pa.decimal128(9, 2)), "half": rows[:, 1].astype("f2"), "list": [[1], [2, 3], None, []]})
    writers = {"plain.parquet": (plain, {"compression": "none"}), "snappy.parquet": (plain, {"compression": "snappy", "row_group_size": 2}),
               "zstd.parquet": (other, {"compression": "zstd"}), "v2.parquet": (plain, {"data_page_version": "2.0", "compression": "gzip"}),
               "delta.parquet": (plain.select(["class", "name"]), {"use_dictionary": False, "compression": "none",
                                 "column_encoding": {"class": "DELTA_BINARY_PACKED", "name": "DELTA_BYTE_ARRAY"}}),
               "split.parquet": (plain.select(["length", "width"]), {"use_dictionary": False, "use_byte_stream_split": True, "compression": "none"})}
    for name, (table, options) in writers.items():
        out = io.BytesIO()
        pq.write_table(table, out, **options)
        write("arrow", name, out.getvalue())
    for name, table, compression in (("plain.arrow", plain, "uncompressed"), ("lz4.arrow", plain, "lz4"), ("other.arrow", other, "uncompressed")):
        out = io.BytesIO()
        pyarrow.feather.write_feather(table, out, compression=compression)
        write("arrow", name, out.getvalue())
    for name, table in (("plain.stream", plain), ("other.stream", other)):
        out = io.BytesIO()
        with pa.ipc.new_stream(out, table.schema) as stream:
            stream.write_table(table, max_chunksize=2)
        write("arrow", name, out.getvalue())


def models(server):
    """A model of each estimator, of few flowers: so small that any part of it is soon reached."""
    iris = load_iris()
    lines = [",".join(f"{v:g}" for v in row) for row in numpy.column_stack([iris.data, iris.target + 1])[::8]]
    flowers = {"inline": {"csv": "\n".join(["a,b,c,d,class", *lines]), "target": "class"}}
    pipelines = dict(PIPELINES)
    for entry in server.call("GET", "/v1/estimators").json()["estimators"]:
        params = {p["name"]: SMALLER[p["name"]] for p in entry["params"] if p["name"] in SMALLER}
        pipelines.setdefault(entry["name"], [(entry["name"], params)])
    messages = {"inline": {"csv": "text,class\nred apple,fruit\ngreen pear,fruit\nred fox,animal\nGrüner Frosch,animal\n", "target": "class"}}
    kinds = {"inline": {"csv": "size,colour,day,class\n" + "".join(f"{one},{colour},2026-01-{1 + i:02},{'no yes'.split()[i % 2]}\n" for i, (one, colour) in enumerate(
        zip([1.5, "", 2, 2, 7, -1, 0, 3.25], ["red", "blue", "red", "", "red", "green", "blue", "red"], strict=True))), "target": "class"}}
    pipelines["training_profile"] = ["HistGradientBoostingClassifier"]   # of numbers, categories and missing cells
    for name, steps in sorted(pipelines.items()):
        several = {"select": {"targets": ["class", "d"], "types": {"d": "category"} if "Classifier" in name else {}}} if name in SEVERAL else {}
        job = server.run(spec(messages if name in TEXTS else kinds if name == "training_profile" else flowers, steps, {"fit": {}}, **several))
        if job["state"] == "succeeded":
            path = f"/v1/models/{job['result']['model']}/download"
            write("model", name, server.call("GET", path).body)
            if name in OPEN:
                write("open_model", name, members(server.call("GET", path, headers={"Accept": "application/vnd.kedge.model+zip"}).body))
        else:
            print(f"{name}: no model: {job['error']['message']}")


def served():
    with tempfile.TemporaryDirectory() as folder:
        server = Kedged(folder)
        try:
            for name, task in {"scores": {"crossValidate": {"cv": 2}}, "failed": {"crossValidate": {"cv": 200}}}.items():
                job = server.submit(spec(task=task))
                write("sse", name, server.call("GET", f"/v1/jobs/{job}/events", headers={"Accept": "text/event-stream"}).body)
            models(server)
        finally:
            server.stop()
    write("sse", "by_the_standard", b"\xef\xbb\xbfretry: 2000\r\n\r\n:\r\rid: 3\nevent:shutdown\ndata\ndata: {}\n\n")


if __name__ == "__main__":
    tables()
    served()
