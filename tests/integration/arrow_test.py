"""Parquet and Arrow files of pyarrow, polars, duckdb and fastparquet: the same table as the CSV of it; jobs that read some columns; damaged and hostile files; a server without kedge-arrow.
What needs these packages or the program is skipped without them: `./run.sh arrow` has both."""
import datetime
import decimal
import functools
import http.server
import io
import pathlib
import random
import re
import struct
import sys
import tempfile
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import BIN, Kedged, spec  # noqa: E402

try:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet as pq
    MISSING = ""
except ImportError as error:
    MISSING = f"{error.name} is not installed"
try:
    import duckdb
except ImportError:
    duckdb = None
try:
    import fastparquet
except ImportError:
    fastparquet = None
if not MISSING and not (BIN / "kedge-arrow").exists():
    MISSING = "kedge-arrow is not built"

HEAD = struct.Struct("<8sIIqqq")   # of a data set file: magic, version, byte order, place, size of the values, size of the rest
CODECS = ("NONE", "SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4")


def frame(n_rows=3000, seed=0):
    """Numbers and texts, with missing cells, of kinds that a CSV can say."""
    rng = np.random.default_rng(seed)
    words = np.array(["red", "green", "blue", "a, b", "Zürich"], dtype=object)[rng.integers(0, 5, n_rows)]
    words[rng.random(n_rows) < 0.1] = None
    gaps = rng.normal(size=n_rows)
    gaps[rng.random(n_rows) < 0.2] = np.nan
    return pd.DataFrame({"x": rng.normal(size=n_rows), "count": rng.integers(-5, 100, n_rows), "gaps": gaps, "word": words,
                         "id": np.arange(n_rows) + 16_777_210, "y": rng.integers(0, 3, n_rows)})


def parquet_bytes(table, **options):
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def stream_bytes(table, **options):
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=700)
    return out.getvalue()


def feather_bytes(table, **options):
    out = io.BytesIO()
    pyarrow.feather.write_feather(table, out, **options)
    return out.getvalue()


class Table:
    """A data set as the server has stored it."""

    def __init__(self, server, name):
        info = server.call("GET", f"/v1/datasets/{name}").json()
        file = (server.data_dir / "state" / "datasets" / f"stored-{info['digest'].removeprefix('sha256:')}.kds").read_bytes()
        offset, size = HEAD.unpack_from(file)[3:5]
        preview = server.call("GET", f"/v1/datasets/{name}/preview").json()
        self.columns = [(c["name"], c["type"], c.get("missing", 0)) for c in preview["columns"]]
        self.preview = preview
        cells = size // info["rows"] if info["rows"] else 0
        # Of a wide table the preview shows the first columns; those of the tests are then all kept.
        kept = preview["nColumns"] - sum(c["type"] == "text" for c in preview["columns"])
        self.dtype = "float32" if cells == 4 * kept else "float64"
        self.values = np.frombuffer(file, self.dtype, size // np.dtype(self.dtype).itemsize, offset).reshape(info["rows"], -1)

    def __getitem__(self, name):
        return self.values[:, [c[0] for c in self.columns].index(name)]


class Server(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Kedged(cls.folder.name, "--allow-fetch", "127.0.0.1")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def put(self, name, body, query="", expected=(200, 201), **headers):
        reply = self.server.call("PUT", f"/v1/datasets/{name}{query}", body, {"Content-Type": "application/octet-stream", **headers})
        self.assertIn(reply.status, expected, reply.body[:500])
        return reply

    def table(self, name, body, **more):
        self.put(name, body, **more)
        return Table(self.server, name)

    def assert_same(self, left, right):
        self.assertEqual(left.columns, right.columns)
        self.assertEqual(left.dtype, right.dtype)
        np.testing.assert_array_equal(left.values, right.values)


@unittest.skipIf(MISSING, MISSING)
class SameAsCsv(Server):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.frame = frame()
        cls.arrow = pa.Table.from_pandas(cls.frame, preserve_index=False)

    def setUp(self):
        self.csv = self.table("csv", self.frame.to_csv(index=False).encode(), query="?format=csv")

    def test_of_every_codec_with_row_groups_of_any_size(self):
        for codec in CODECS:
            for rows in (7, 1000, 100_000):
                with self.subTest(codec=codec, rows=rows):
                    self.assert_same(self.table("t", parquet_bytes(self.arrow, compression=codec, row_group_size=rows)), self.csv)

    def test_of_every_encoding_and_version(self):
        ways = [{"x": "PLAIN", "count": "DELTA_BINARY_PACKED", "gaps": "BYTE_STREAM_SPLIT", "word": "PLAIN", "id": "PLAIN", "y": "PLAIN"},
                {"x": "BYTE_STREAM_SPLIT", "count": "PLAIN", "gaps": "PLAIN", "word": "PLAIN", "id": "DELTA_BINARY_PACKED", "y": "PLAIN"}]
        for version in ("1.0", "2.0"):
            for way in ways:
                with self.subTest(version=version, way=way):
                    body = parquet_bytes(self.arrow, use_dictionary=False, column_encoding=way, data_page_version=version, data_page_size=2000)
                    self.assert_same(self.table("t", body), self.csv)
            for texts in ("DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"):
                with self.subTest(version=version, texts=texts):
                    body = parquet_bytes(self.arrow, use_dictionary=["id"], column_encoding={"word": texts}, data_page_version=version, row_group_size=1000)
                    self.assert_same(self.table("t", body), self.csv)
            body = parquet_bytes(self.arrow, use_dictionary=True, data_page_version=version, dictionary_pagesize_limit=64)
            self.assert_same(self.table("t", body), self.csv)   # the dictionary is too small: later pages are plain

    def test_of_polars(self):
        table = pl.from_pandas(self.frame)
        for columns in (table, table.with_columns(pl.col("word").cast(pl.Categorical))):
            for write in (functools.partial(columns.write_parquet, row_group_size=900), columns.write_ipc, columns.write_ipc_stream,
                          functools.partial(columns.write_ipc, compression="zstd")):
                out = io.BytesIO()
                write(out)
                self.assert_same(self.table("t", out.getvalue()), self.csv)

    @unittest.skipIf(duckdb is None, "duckdb is not installed")
    def test_of_duckdb(self):
        connection = duckdb.connect()
        connection.register("t", self.arrow)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "t.parquet"
            for codec in ("uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4_raw"):
                for version in ("V1", "V2"):   # V2 writes numbers and texts as differences, and floats as streams of bytes
                    for more in ("", ", ROW_GROUP_SIZE 2048", ", DICTIONARY_SIZE_LIMIT 1"):
                        with self.subTest(codec=codec, version=version, more=more):
                            connection.execute(f"COPY t TO '{path}' (FORMAT parquet, COMPRESSION {codec}, PARQUET_VERSION {version}{more})")
                            self.assert_same(self.table("t", path.read_bytes()), self.csv)

    @unittest.skipIf(fastparquet is None, "fastparquet is not installed")
    def test_of_fastparquet(self):
        texts = self.frame.assign(word=self.frame["word"].astype(object))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "t.parquet"
            for codec in ("UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "BROTLI", "LZ4_RAW"):
                for table in (texts, texts.assign(word=texts["word"].astype("category"))):
                    for groups in (None, [0, 1, 1700], 700):
                        with self.subTest(codec=codec, word=str(table["word"].dtype), groups=groups):
                            fastparquet.write(path, table, compression=codec, write_index=False, has_nulls=True, **({"row_group_offsets": groups} if groups else {}))
                            self.assert_same(self.table("t", path.read_bytes()), self.csv)

    def test_of_arrow_files_and_streams(self):
        coded = self.arrow.set_column(3, "word", self.arrow["word"].dictionary_encode())
        for table in (self.arrow, coded):
            for codec in ("uncompressed", "lz4", "zstd"):
                self.assert_same(self.table("t.feather", feather_bytes(table, compression=codec, chunksize=700)), self.csv)
                self.assert_same(self.table("t", stream_bytes(table, compression=None if codec == "uncompressed" else codec)), self.csv)

    def test_packed_once_more_and_by_its_type(self):
        import gzip
        body = parquet_bytes(self.arrow)
        self.assert_same(self.table("t", gzip.compress(body)), self.csv)
        self.assert_same(self.table("t", body, **{"Content-Type": "application/vnd.apache.parquet"}), self.csv)
        self.assert_same(self.table("t.parquet.gz", gzip.compress(body)), self.csv)

    def test_jobs_have_the_same_scores(self):
        self.put("p", parquet_bytes(self.arrow, row_group_size=500))
        wanted = {"select": {"columns": ["x", "count", "id"]}, "steps": ("StandardScaler", "LogisticRegression")}
        left, right = (self.server.run(spec({"stored": name}, **wanted))["result"] for name in ("p", "csv"))
        self.assertEqual(left["scores"], right["scores"])


@unittest.skipIf(MISSING, MISSING)
class Types(Server):
    def test_dates_booleans_decimals_and_times_are_numbers(self):
        day, moment = datetime.date(2024, 5, 31), datetime.datetime(1969, 12, 31, 18)
        table = pa.table({
            "day": pa.array([day, None], pa.date32()), "ms": pa.array([day, None], pa.date64()),
            **{f"at_{unit}": pa.array([moment, None], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
            "flag": pa.array([True, None]), "price": pa.array([decimal.Decimal("-12.50"), None], pa.decimal128(9, 2)),
            "wide": pa.array([decimal.Decimal("3.25"), None], pa.decimal256(60, 2)), "half": pa.array([np.float16(1.5), None], pa.float16()),
            "time": pa.array([datetime.time(1, 0, 0, 500_000), None], pa.time64("us")), "nothing": pa.nulls(2),
            "span": pa.array([datetime.timedelta(minutes=2), None], pa.duration("ms")), "small": pa.array([-3, None], pa.int8()),
            "code": pa.array([7, None], pa.int32()).dictionary_encode()})
        wanted = {"day": 19874, "ms": 19874, "at_s": -0.25, "at_ms": -0.25, "at_us": -0.25, "at_ns": -0.25, "flag": 1, "price": -12.5, "wide": 3.25,
                  "half": 1.5, "time": 3600.5, "nothing": np.nan, "span": 120, "small": -3, "code": 7}
        for write in (parquet_bytes, stream_bytes):
            # Parquet has its own form of half floats; durations and dictionaries of numbers come back by what Arrow wrote beside them.
            got = self.table("t", write(table))
            self.assertEqual({name: kind for name, kind, _ in got.columns}, {name: "number" for name in wanted})
            for name, value in wanted.items():
                np.testing.assert_array_equal(got[name], [value, np.nan], name)
            self.assertEqual([missing for _, _, missing in got.columns], [2 if name == "nothing" else 1 for name in wanted])

    def test_floats_stay_float32_until_a_number_needs_more(self):
        exact = pa.table({"x": pa.array([0.5, 2.0]), "y": [1, 2]})
        self.assertEqual(self.table("t", parquet_bytes(exact)).dtype, "float32")
        late = pa.table({"x": pa.array([0.5] * 5000 + [0.1]), "y": [1] * 5001})
        got = self.table("t", parquet_bytes(late, row_group_size=500))
        self.assertEqual(got.dtype, "float64")
        np.testing.assert_array_equal(got["x"], late["x"].to_numpy())

    def test_nested_columns_keep_their_name_and_a_job_can_leave_them_out(self):
        table = pa.table({"list": [[1], [2]] * 20, "x": [1.0, 2.0] * 20, "pair": [{"a": 1}] * 40, "bytes": [b"1"] * 40, "y": ["a", "b"] * 20})
        got = self.table("t", parquet_bytes(table))
        self.assertEqual([kind for _, kind, _ in got.columns], ["text", "number", "text", "text", "category"])
        job = self.server.run(spec({"stored": "t"}, select={"columns": ["x"]}))
        self.assertEqual(job["state"], "succeeded", job.get("error"))
        job = self.server.run(spec({"stored": "t"}, select={"columns": ["x", "pair"]}))
        self.assertIn("pair", job["error"]["message"])

    def test_a_wide_table_and_one_without_rows(self):
        wide = np.random.default_rng(1).integers(0, 255, (300, 785)).astype("float32")
        table = pa.table({f"p{i}": wide[:, i] for i in range(785)})
        np.testing.assert_array_equal(self.table("t", parquet_bytes(table, row_group_size=110)).values, wide)
        self.assertEqual(self.put("t", parquet_bytes(table.slice(0, 0))).json()["rows"], 0)

    def test_the_index_of_pandas_is_no_feature(self):
        data = pd.DataFrame({"x": [1.0, 2.0] * 20, "y": ["a", "b"] * 20}, index=pd.Index(range(7, 47)))
        self.put("t", parquet_bytes(pa.Table.from_pandas(data.set_index(data.index * 3))))
        self.assertEqual(self.server.run(spec({"stored": "t"}, select={"target": "y"}))["result"]["nFeatures"], 1)


@unittest.skipIf(MISSING, MISSING)
class Urls(Server):
    def test_a_file_behind_a_url_is_known_by_its_content(self):
        table = pa.Table.from_pandas(frame(200), preserve_index=False)
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "t.parquet").write_bytes(parquet_bytes(table))
            quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
            files = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=folder))
            threading.Thread(target=files.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{files.server_port}/t.parquet"
            for more in ({}, {"format": "parquet"}):
                job = self.server.run(spec({"url": {"url": url, "target": "y", **more}}, select={"columns": ["x", "count"]}))
                self.assertEqual(job["state"], "succeeded", job.get("error"))
            job = self.server.run(spec({"url": {"url": url, "target": "z"}}))
            self.assertIn("there is no column 'z'", job["error"]["message"])
            (pathlib.Path(folder) / "t.csv").write_text("a,b\n1,2\n")
            job = self.server.run(spec({"url": {"url": url.replace("parquet", "csv"), "format": "parquet"}}))
            self.assertEqual(job["error"]["code"], "DATASET_CORRUPT")
            files.shutdown()
            files.server_close()


@unittest.skipIf(MISSING, MISSING)
class SomeColumns(Server):
    """Of a file behind a URL only what the selection names is read."""
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.table = pa.Table.from_pandas(frame(), preserve_index=False)
        folder = pathlib.Path(cls.folder.name) / "web"
        folder.mkdir()
        (folder / "t.parquet").write_bytes(parquet_bytes(cls.table, row_group_size=800))
        (folder / "t.feather").write_bytes(feather_bytes(cls.table, compression="zstd", chunksize=700))
        for part in range(2):
            (folder / f"part-{part}.parquet").write_bytes(parquet_bytes(cls.table.slice(part * 1500, 1500)))
        (folder / "part-2.parquet").write_bytes(parquet_bytes(cls.table.drop_columns(["x"])))
        quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
        cls.files = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=folder))
        threading.Thread(target=cls.files.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.files.shutdown()
        cls.files.server_close()
        super().tearDownClass()

    def job(self, name, select, target="", steps=("StandardScaler", "LogisticRegression")):
        url = {"url": f"http://127.0.0.1:{self.files.server_port}/{name}", **({"target": target} if target else {})}
        return self.server.run(spec({"url": url}, select=select, steps=steps))

    def read(self, job):
        """What the job says of columns and bytes: (columns, of, bytes, of), or nothing."""
        events = self.server.call("GET", f"/v1/jobs/{job['id']}/events").body.decode()
        return [tuple(map(int, numbers)) for numbers in re.findall(r"(\d+) of (\d+) columns are read, (\d+) of (\d+) bytes", events)]

    def test_the_answers_are_those_of_the_whole_table_for_fewer_bytes(self):
        self.put("whole", parquet_bytes(self.table))
        for select in ({"columns": ["x", "count"]}, {"columns": ["count"], "weights": "id"}, {"columns": ["x", "gaps"], "where": ["word == 'red'"], "dropna": True},
                       {"columns": ["word", "x"], "types": {"id": "category"}}):
            steps = ("StandardScaler", "LogisticRegression") if "word" not in select["columns"] else ("OneHotEncoder", "LogisticRegression")
            wanted = self.server.run(spec({"stored": "whole"}, select=select, steps=steps))
            for name in ("t.parquet", "t.feather", "part-[0-1].parquet", "part-{0,1}.parquet"):
                with self.subTest(select=select, name=name):
                    got = self.job(name, select, steps=steps)
                    self.assertEqual(got["state"], wanted["state"], got.get("error"))
                    if got["state"] == "succeeded":
                        self.assertEqual(got["result"]["scores"], wanted["result"]["scores"])

    def test_bytes_are_those_of_the_columns(self):
        [read] = self.read(self.job("t.parquet", {"columns": ["count"]}))
        metadata = pq.ParquetFile(pathlib.Path(self.folder.name) / "web" / "t.parquet").metadata
        sizes = {}
        for group in range(metadata.num_row_groups):
            for c in range(metadata.num_columns):
                chunk = metadata.row_group(group).column(c)
                sizes[chunk.path_in_schema] = sizes.get(chunk.path_in_schema, 0) + chunk.total_compressed_size
        self.assertEqual(read[:3], (2, 6, sizes["count"] + sizes["y"]))   # y is the target
        self.assertEqual(self.read(self.job("t.parquet", {})), [])        # all: nothing to say

    def test_of_a_list_of_addresses(self):
        origin = f"http://127.0.0.1:{self.files.server_port}"
        url = f"{{{origin}/part-0.parquet,{origin}/part-1.parquet}}"
        job = self.server.run(spec({"url": {"url": url}}, select={"columns": ["x", "id"]}))
        self.assertEqual((job["state"], job["result"]["nFeatures"]), ("succeeded", 2))
        self.assertEqual([read[:2] for read in self.read(job)], [(3, 6)] * 2)

    def test_a_job_with_other_columns_has_its_own_table(self):
        first = self.job("t.parquet", {"columns": ["gaps"], "dropna": True})
        other = self.job("t.parquet", {"columns": ["id", "x"]})
        again = self.job("t.parquet", {"columns": ["id", "x"]})
        self.assertEqual([job["state"] for job in (first, other, again)], ["succeeded"] * 3)
        self.assertEqual((other["result"]["nFeatures"], again["result"]["scores"]), (2, other["result"]["scores"]))
        self.assertEqual(self.read(again), [])   # its server says that nothing has changed
        self.assertEqual(self.job("t.parquet", {"columns": ["x", "count", "id"]})["result"]["nFeatures"], 3)

    def test_the_target_may_be_any_column(self):
        for target in ({"target": "y"}, {"target": "count"}):
            job = self.job("t.parquet", {"columns": ["x"]}, steps=("LinearRegression",), **target)
            self.assertEqual(job["state"], "succeeded", job.get("error"))
        job = self.job("t.parquet", {"columns": ["x"], "target": "count"}, steps=("LinearRegression",))
        self.assertEqual(job["state"], "succeeded", job.get("error"))

    def test_a_name_that_is_not_there_is_refused_with_the_nearest(self):
        error = self.job("t.parquet", {"columns": ["x", "coun"]})["error"]
        self.assertIn("no column 'coun'; did you mean 'count'?", error["message"])
        self.assertEqual(error["where"], "select.columns[1]")
        self.assertIn("there is no column 'z'", self.job("t.parquet", {"columns": ["x"]}, target="z")["error"]["message"])
        self.assertIn("part-2.parquet: it has no column 'x'", self.job("part-[0-2].parquet", {"columns": ["x"]})["error"]["message"])


@unittest.skipIf(MISSING, MISSING)
class Damage(Server):
    def refused(self, body, query=""):
        reply = self.server.call("PUT", f"/v1/datasets/bad{query}", body, {"Content-Type": "application/octet-stream"})
        if reply.status < 300:
            return ""   # the damage is where nothing looks
        self.assertIn(reply.status, (400, 413, 422), reply.body[:300])
        return reply.json()["detail"]

    def tearDown(self):
        self.assertEqual(self.server.call("GET", "/readyz").status, 200)
        left = [f for f in (self.server.data_dir / "state" / "datasets").rglob("*") if f.suffix == ".part" or ".part" in f.name]
        self.assertEqual(left, [], "of a file that was refused something stays")

    def test_files_that_end_early_are_refused(self):
        table = pa.Table.from_pandas(frame(400), preserve_index=False)
        for write in (parquet_bytes, feather_bytes, stream_bytes):
            whole = write(table)
            kind = "parquet" if write is parquet_bytes else "arrow"
            for share in (0, 3, 8, len(whole) // 3, len(whole) // 2, len(whole) - 9):
                self.assertTrue(self.refused(whole[:share], f"?format={kind}"), (kind, share))

    def test_files_with_other_bytes_never_end_the_server(self):
        table = pa.Table.from_pandas(frame(400), preserve_index=False)
        draw = random.Random(1)
        for write in (functools.partial(parquet_bytes, compression="SNAPPY"), functools.partial(feather_bytes, compression="uncompressed"), stream_bytes):
            whole = write(table)
            for _ in range(40):
                damaged = bytearray(whole)
                for _ in range(draw.choice((1, 4, 30))):
                    damaged[draw.randrange(len(damaged))] = draw.randrange(256)
                self.refused(bytes(damaged), "?format=parquet" if damaged[:4] == b"PAR1" else "?format=arrow")

    def test_a_small_file_of_a_huge_table_is_refused(self):
        rows = 40_000_000
        table = pa.table({"x": pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, "int8")), pa.array([1.5]))})
        self.assertIn("200 times", self.refused(parquet_bytes(table, row_group_size=rows)))

    def test_names_that_no_table_may_have(self):
        self.assertIn("named twice", self.refused(parquet_bytes(pa.Table.from_arrays([pa.array([1.0])] * 2, names=["x", "x"]))))
        self.assertIn("1000", self.refused(parquet_bytes(pa.table({"n" * 2000: [1.0]}))))
        self.assertIn("none of its 1 columns", self.refused(parquet_bytes(pa.table({"x": [[1]]}))))


class WithoutTheProgram(unittest.TestCase):
    def test_the_error_says_how_to_get_it(self):
        with tempfile.TemporaryDirectory() as folder:
            bin_folder = pathlib.Path(folder) / "bin"
            bin_folder.mkdir()
            for name in ("kedged", "kedge-worker"):
                self.copy(BIN / name, bin_folder / name)
            server = Kedged(folder, programs=bin_folder)
            try:
                reply = server.call("PUT", "/v1/datasets/t.parquet", b"PAR1 and so on", {"Content-Type": "application/octet-stream"})
                self.assertEqual(reply.status, 400, reply.body)
                self.assertIn("./run.sh arrow", reply.json()["detail"])
                self.assertEqual(server.run(spec())["state"], "succeeded")
            finally:
                server.stop()

    def test_one_that_does_not_find_its_libraries_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            bin_folder = pathlib.Path(folder) / "bin"
            bin_folder.mkdir()
            for name in ("kedged", "kedge-worker"):
                self.copy(BIN / name, bin_folder / name)
            reader = bin_folder / "kedge-arrow"
            reader.write_text("#!/bin/sh\nexit 127\n")   # as ld.so ends it
            reader.chmod(0o755)
            server = Kedged(folder, programs=bin_folder)
            try:
                reply = server.call("PUT", "/v1/datasets/t.parquet", b"PAR1 and so on", {"Content-Type": "application/octet-stream"})
                self.assertEqual(reply.status, 400, reply.body)
                self.assertIn("kedge-server[arrow]", reply.json()["detail"])
            finally:
                server.stop()

    @staticmethod
    def copy(source, target):
        """A link would lead the server to the folder of its own."""
        target.write_bytes(source.read_bytes())
        target.chmod(0o755)


if __name__ == "__main__":
    unittest.main()
