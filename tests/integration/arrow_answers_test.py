"""Answers as Parquet and Arrow: the same tables as the CSV and NPY of the same answers, as pyarrow, polars and pandas read them; the writer alone, with damaged
tables and full disks; what a server says whose kedge-arrow is missing, dies, or waits for a client that has gone. `./run.sh arrow` has the program and the packages."""
import csv as csv_files
import io
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import BIN, ROOT, Kedged, spec, text_of, wait_for  # noqa: E402

try:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq
    MISSING = ""
except ImportError as error:
    MISSING = f"{error.name} is not installed"
if not MISSING and not (BIN / "kedge-arrow").exists():
    MISSING = "kedge-arrow is not built"

FILE, STREAM, PARQUET = "application/vnd.apache.arrow.file", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"
FORMS = {FILE: 0, STREAM: 1, PARQUET: 2}   # as engine::ArrowForm numbers them
HEAD = struct.Struct("<8sIIqqq")           # of a data set file: magic, version, byte order, place, size of the values, size of the rest
GO, DONE, REFUSED = 1, 5, 6                # of engine::ArrowSays
FLOWERS = "a,b,kind\n" + "".join(f"{i % 7 + .1},{i % 5 - 1.5},{'red' if i % 3 else 'blue'}\n" for i in range(90))
NUMBERS = "a,b,y\n" + "".join(f"{i % 7 + .1},{i % 5 - 1.5},{i % 3}\n" for i in range(90))


def table_of(body, form):
    """As pyarrow reads it, and as polars and pandas do, which must say the same."""
    if form == PARQUET:
        table, polars, pandas = pq.read_table(io.BytesIO(body)), pl.read_parquet(io.BytesIO(body)), pd.read_parquet(io.BytesIO(body))
    elif form == FILE:
        table, polars, pandas = pa.ipc.open_file(body).read_all(), pl.read_ipc(io.BytesIO(body)), pd.read_feather(io.BytesIO(body))
    else:
        table, polars, pandas = pa.ipc.open_stream(body).read_all(), pl.read_ipc_stream(io.BytesIO(body)), pa.ipc.open_stream(body).read_pandas()
    table.validate(full=True)
    assert polars.columns == list(pandas.columns) == table.column_names, (polars.columns, pandas.columns, table.column_names)
    for name in table.column_names:
        wanted = table[name].to_pylist()
        assert polars[name].to_list() == wanted, name
        assert [None if v is None or v != v else v for v in pandas[name].tolist()] == wanted, name
    return table


def leftovers(server):
    return [file.name for file in (server.data_dir / "state" / "models").iterdir() if ".part" in file.name]


def programs(folder, arrow=None):
    """A folder of programs, with this script as kedge-arrow."""
    place = pathlib.Path(folder) / "bin"
    place.mkdir()
    for name in ("kedged", "kedge-worker"):   # a link would lead the server to the folder of its own
        (place / name).write_bytes((BIN / name).read_bytes())
        (place / name).chmod(0o755)
    if arrow:
        (place / "kedge-arrow").write_text("#!/bin/sh\n" + arrow)
        (place / "kedge-arrow").chmod(0o755)
    return place


def fitted(server, csv=FLOWERS, target="kind", steps=("GaussianNB",), **more):
    job = server.run(spec({"inline": {"csv": csv, "target": target}}, steps=steps, task={"fit": {}}, **more))
    assert job["state"] == "succeeded", job.get("error")
    return job["result"]["model"]


def left(server, model, kind="predict", csv=FLOWERS, target="kind", **task):
    """The path of what a job leaves that asks the model about the table."""
    job = server.run({"dataset": {"inline": {"csv": csv, "target": target}}, "task": {kind: {"model": model, **task}}})
    assert job["state"] == "succeeded", job.get("error")
    return f"/v1/jobs/{job['id']}/artifacts/{job['result']['artifacts'][0]['name']}"


@unittest.skipIf(MISSING, MISSING)
class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Kedged(cls.folder.name)
        cls.kinds, cls.whole = fitted(cls.server), fitted(cls.server, NUMBERS, "y")
        cls.scaler = fitted(cls.server, steps=("StandardScaler",))

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def tearDown(self):
        self.assertEqual(leftovers(self.server), [])

    def get(self, path, accept, status=200, **headers):
        reply = self.server.call("GET", path, headers={"Accept": accept, **headers})
        self.assertEqual(reply.status, status, reply.body[:300])
        return reply

    def ask(self, model, path, body, accept, status=200, content_type="text/csv"):
        reply = self.server.call("POST", f"/v1/models/{model}/{path}", body.encode(), {"Accept": accept, "Content-Type": content_type})
        self.assertEqual(reply.status, status, reply.body[:300])
        return reply

    def test_artifacts_are_the_table_of_their_csv(self):
        for path in (left(self.server, self.kinds, output="predict_proba", format="csv"), left(self.server, self.kinds, format="csv"),
                     left(self.server, self.scaler, "transform", format="csv")):
            names, *rows = csv_files.reader(self.get(path, "*/*").body.decode().splitlines())
            wanted = {name: [row[i] if row[i] in ("red", "blue") else float(row[i]) for row in rows] for i, name in enumerate(names)}
            for form in FORMS:
                with self.subTest(path=path, form=form):
                    reply = self.get(path, form)
                    self.assertEqual(reply.headers["Content-Type"], form)
                    self.assertEqual(int(reply.headers["Content-Length"]), len(reply.body))
                    table = table_of(reply.body, form)
                    self.assertEqual(table.to_pydict(), wanted)
                    self.assertEqual(table.column_names, names)

    def test_artifacts_are_the_array_of_their_npy(self):
        for model, kind, task, dtype, names in ((self.kinds, "predict", {"output": "predict_proba"}, pa.float64(), ["x0", "x1"]), (self.whole, "predict", {}, pa.int64(), ["prediction"]),
                                                (self.kinds, "predict", {}, pa.dictionary(pa.int32(), pa.string()), ["prediction"])):
            path = left(self.server, model, kind, NUMBERS if model == self.whole else FLOWERS, "y" if model == self.whole else "kind", format="npy", **task)
            wanted = np.load(io.BytesIO(self.get(path, "application/x-npy").body))
            for form in FORMS:
                with self.subTest(path=path, form=form):
                    table = table_of(self.get(path, form).body, form)
                    self.assertEqual(set(table.schema.types), {dtype})
                    self.assertEqual(table.column_names, names)
                    columns = [table[name].to_pylist() for name in names]
                    self.assertEqual(columns[0] if wanted.ndim == 1 else [list(row) for row in zip(*columns)], wanted.tolist())

    def test_float32_stays_float32(self):
        model = fitted(self.server, steps=("StandardScaler",), select={"dtype": "float32"})
        path = left(self.server, model, "transform", format="npy")
        wanted = np.load(io.BytesIO(self.get(path, "*/*").body))
        self.assertEqual(wanted.dtype, "float32")
        for form in FORMS:
            table = table_of(self.get(path, form).body, form)
            self.assertEqual(set(table.schema.types), {pa.float32()})
            np.testing.assert_array_equal(np.column_stack([table[n].to_numpy() for n in table.column_names]), wanted)

    def test_missing_cells_are_nulls(self):
        model = fitted(self.server, "a,b,y\n" + "1,2,3\n-1,4,5\n" * 5, "y", steps=(("FunctionTransformer", {"func": "log"}),))
        for accept in FORMS:
            table = table_of(self.ask(model, "transform", "a,b\n1,2\n-1,1\n", accept).body, accept)
            self.assertEqual(table["a"].to_pylist(), [0.0, None])
            self.assertEqual(table["b"].to_pylist(), [np.log(2.0), 0.0])

    def test_predictions_are_those_of_the_other_forms(self):
        rows = FLOWERS
        for form in FORMS:
            for output in ("predict", "predict_proba"):
                with self.subTest(form=form, output=output):
                    wanted = self.ask(self.kinds, f"predict?output={output}", rows, "application/json").json()
                    reply = self.ask(self.kinds, f"predict?output={output}", rows, form)
                    self.assertEqual(reply.headers["Content-Type"], form)
                    self.assertNotIn("ETag", reply.headers)
                    table = table_of(reply.body, form)
                    self.assertEqual(table.column_names, wanted.get("columns", ["prediction"]))
                    columns = [table[name].to_pylist() for name in table.column_names]
                    self.assertEqual(columns[0] if output == "predict" else [list(row) for row in zip(*columns)], wanted["values"])
            table = table_of(self.ask(self.whole, "predict", NUMBERS, form).body, form)
            self.assertEqual(table.schema.types, [pa.int64()])
            table = table_of(self.ask(self.scaler, "transform", rows, form).body, form)
            self.assertEqual(table.column_names, self.ask(self.scaler, "transform", rows, "application/json").json()["columns"])
        self.ask(self.kinds, "predict", "a\n1\n", PARQUET, 422)   # as of any form

    def test_texts_that_look_like_missing_cells_stay_texts(self):
        csv = 'a,kind\n' + '1,"NA"\n2,"no 7"\n' * 10
        model = fitted(self.server, csv)
        wanted = self.ask(model, "predict", "a\n1\n2\n", "application/json").json()["values"]
        self.assertEqual(table_of(self.ask(model, "predict", "a\n1\n2\n", STREAM).body, STREAM)["prediction"].to_pylist(), wanted)

    def test_the_best_of_what_the_client_takes(self):
        path = left(self.server, self.kinds, format="csv")
        for accept, form in (("*/*", "text/csv"), ("text/csv", "text/csv"), (f"text/csv;q=0.5, {PARQUET}", PARQUET), (f"{STREAM};q=0.2, {FILE};q=0.3", FILE),
                             (f"{PARQUET};q=0.5, text/*", "text/csv"), ("application/octet-stream", "application/octet-stream")):
            self.assertEqual(self.get(path, accept).headers["Content-Type"], form, accept)
        for accept in ("application/json", "image/*", f"{PARQUET};q=0"):
            problem = self.get(path, accept, 406).json()
            self.assertEqual((problem["code"], problem["where"]), ("NOT_ACCEPTABLE", "Accept"))
            self.assertIn(PARQUET, problem["detail"])

    def test_a_form_has_its_own_tag_and_ranges(self):
        path = left(self.server, self.kinds, format="csv")
        whole, again, csv = self.get(path, PARQUET), self.get(path, PARQUET), self.get(path, "*/*")
        self.assertEqual(whole.body, again.body)
        self.assertEqual(whole.headers["ETag"], again.headers["ETag"])
        self.assertNotEqual(whole.headers["ETag"], csv.headers["ETag"])
        self.assertIn("predictions.parquet", whole.headers["Content-Disposition"])
        self.get(path, PARQUET, 304, **{"If-None-Match": whole.headers["ETag"]})
        part = self.get(path, PARQUET, 206, **{"Range": "bytes=4-", "If-Range": whole.headers["ETag"]})
        self.assertEqual(part.body, whole.body[4:])
        self.assertEqual(self.server.call("GET", path.replace("predictions", "other"), headers={"Accept": PARQUET}).status, 404)

    def test_the_clients_ask_for_them(self):
        path = left(self.server, self.kinds, format="npy")
        job = path.split("/")[3]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([BIN / "kedge", "--url", self.server.url, "download", job, "--as", "parquet"], cwd=folder, check=True, capture_output=True)
            wanted = pq.read_table(pathlib.Path(folder) / "predictions.parquet")
            sys.path.insert(0, str(ROOT / "client" / "python" / "src"))
            import kedge
            asked, target = kedge.connect(self.server.url).job(job), pathlib.Path(folder) / "a.arrow"
            asked.download("predictions.npy", target, format="arrow")
            self.assertEqual(pa.ipc.open_file(target.read_bytes()).read_all().to_pydict(), wanted.to_pydict())
            with self.assertRaises(kedge.KedgeError) as refused:
                asked.download("predictions.npy", target, format="orc")
            self.assertEqual(refused.exception.where, "format")


@unittest.skipIf(MISSING, MISSING)
class Writer(unittest.TestCase):
    """kedge-arrow itself, as kedged talks to it, with tables that a server has stored."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Kedged(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def stored(self, csv):
        info = self.server.call("PUT", "/v1/datasets/t.csv", csv.encode(), {"Content-Type": "text/csv"}).json()
        file = self.server.data_dir / "state" / "datasets" / f"stored-{info['digest'].removeprefix('sha256:')}.kds"
        return file.read_bytes(), info["columns"]

    def write(self, csv, form=FILE, damage=lambda kds, meta: (kds, meta), whole=(), output=None, memory=2 << 30):
        """(what it says, the words or the file)."""
        kds, n_columns = self.stored(csv)
        place, size, rest = HEAD.unpack_from(kds)[3:6]
        kds, meta = damage(bytearray(kds), bytearray(kds[place + size:place + size + rest]))
        ours, theirs = socket.socketpair()
        with tempfile.TemporaryDirectory() as folder:
            table, out = pathlib.Path(folder) / "t.kds", pathlib.Path(output or pathlib.Path(folder) / "out")
            table.write_bytes(kds)
            with open(table, "rb") as given, open(out, "wb") as made:
                child = subprocess.Popen(["sh", "-c", f"exec '{BIN}/kedge-arrow' {memory} 1 write 3<&{theirs.fileno()}"], stdin=given, stderr=subprocess.DEVNULL,
                                         pass_fds=(theirs.fileno(),))
                theirs.close()
                body = struct.pack("<qqq", place, n_columns, FORMS[form]) + bytes(i in whole for i in range(n_columns)) + bytes(meta)
                socket.send_fds(ours, [struct.pack("<QQ", GO, len(body))], [made.fileno()])
                try:
                    ours.sendall(body)
                except BrokenPipeError:   # what it refuses it may say before all has come
                    pass
                answer = b"".join(iter(lambda: ours.recv(65536), b""))
                ours.close()
                child.wait(20)
            if not answer:
                return None, child.returncode
            says, text = struct.unpack_from("<Q", answer)[0], answer[16:]
            return (says, out.read_bytes()) if says == DONE else (says, text[1:].decode())

    def table(self, csv, form, **more):
        says, body = self.write(csv, form, **more)
        self.assertEqual(says, DONE, body)
        return table_of(body, form)

    def test_types_nulls_and_dictionaries(self):
        csv = "small,wide,gaps,word,id\n0.5,0.1,,red,1\n1.5,0.2,2.5,,2\n-0.0,1e300,,\"a, b\",3\ninf,-inf,,Zürich,4\n"
        for form in FORMS:
            table = self.table(csv, form, whole=(4,))
            self.assertEqual(table.schema.types, [pa.float64()] * 3 + [pa.dictionary(pa.int32(), pa.string()), pa.int64()])
            self.assertEqual(table["gaps"].to_pylist(), [None, 2.5, None, None])
            self.assertEqual(table["word"].to_pylist(), ["red", None, "a, b", "Zürich"])
            self.assertEqual(table["id"].to_pylist(), [1, 2, 3, 4])
            self.assertEqual(table["wide"].to_pylist(), [0.1, 0.2, 1e300, float("-inf")])
            self.assertEqual(self.table("x,y\n0.5,1\n,2\n", form).schema.types, [pa.float32()] * 2)

    def test_without_rows(self):
        for form in FORMS:
            table = self.table("x,y\n", form)
            self.assertEqual((table.num_rows, table.column_names), (0, ["x", "y"]))

    def test_many_rows_and_wide_tables(self):
        rng = np.random.default_rng(0)
        for shape in ((300_000, 3), (700, 3000)):
            values = rng.integers(-999, 1000, shape).astype("float32")
            csv = pd.DataFrame(values, columns=[f"c.{i}" for i in range(shape[1])]).assign(word=np.where(values[:, 0] > 0, "red", "blue")).to_csv(index=False)
            for form in FORMS:
                says, body = self.write(csv, form)
                self.assertEqual(says, DONE, body)
                table = pq.read_table(io.BytesIO(body)) if form == PARQUET else (pa.ipc.open_file if form == FILE else pa.ipc.open_stream)(body).read_all()
                np.testing.assert_array_equal(np.column_stack([table[i].to_numpy() for i in range(shape[1])]), values)
                self.assertEqual(table["word"].to_pylist(), ["red" if v > 0 else "blue" for v in values[:, 0]])

    def test_damaged_tables_are_refused(self):
        def cell(value):
            def damage(kds, meta):
                kds[4096:4100] = struct.pack("<f", value)
                return kds, meta
            return damage

        words = "word\nred\nblue\n"
        for value in (7, -1, 0.5, float("inf")):
            says, text = self.write(words, damage=cell(value))
            self.assertEqual(says, REFUSED)
            self.assertIn("is not the code of one of its 2 categories", text)
        self.assertIn("is not an integer", self.write("x\n1\n2\n", damage=cell(0.5), whole=(0,))[1])
        for form in FORMS:
            says, text = self.write("x,y\n1,2\n3,4\n", form, damage=lambda kds, meta: (kds[:4100], meta))
            self.assertEqual(says, REFUSED)
            self.assertIn("2 rows of 2 columns are more than its 1 values", text)
        says, text = self.write(words, damage=lambda kds, meta: (kds, meta[:-3]))
        self.assertEqual(says, REFUSED)

    def test_a_full_disk_is_one_of_the_server(self):
        for form in FORMS:
            says, text = self.write("x\n1\n2\n", form, output="/dev/full")
            self.assertEqual(says, REFUSED)
            self.assertIn("the answer cannot be written: No space left on device", text)

    def test_memory_has_a_bound(self):
        csv = "word\n" + "".join(f"{i:0200d}x\n" for i in range(200_000))   # a dictionary of 40 MB
        says, text = self.write(csv, memory=30 << 20)
        self.assertIn(says, (REFUSED, None))
        if says == REFUSED:
            self.assertIn("memory", text)


class OtherPrograms(unittest.TestCase):
    """Servers whose kedge-arrow is none."""

    def server(self, arrow=None):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        server = Kedged(folder.name, programs=programs(folder.name, arrow))
        self.addCleanup(server.stop)
        return server

    def both(self, server, accept, timeout=120):
        """Of an artifact and of a prediction."""
        model = fitted(server)
        path = left(server, model, format="csv")
        return (server.call("GET", path, headers={"Accept": accept}, timeout=timeout),
                server.call("POST", f"/v1/models/{model}/predict", FLOWERS.encode(), {"Accept": accept, "Content-Type": "text/csv"}, timeout=timeout))

    def test_one_that_is_missing_is_named(self):
        server = self.server()
        for reply in self.both(server, PARQUET):
            self.assertEqual(reply.status, 406, reply.body)
            problem = reply.json()
            self.assertEqual((problem["code"], problem["where"]), ("NOT_ACCEPTABLE", "Accept"))
            self.assertIn("Parquet and Arrow answers need kedge-arrow", problem["detail"])
        for reply in self.both(server, f"{PARQUET}, text/csv;q=0.1"):
            self.assertEqual((reply.status, reply.headers["Content-Type"]), (200, "text/csv"))

    def test_one_that_does_not_find_its_libraries_says_so(self):
        for reply in self.both(self.server("exit 127\n"), STREAM):   # as ld.so ends it
            self.assertEqual(reply.status, 406, reply.body)
            self.assertIn("kedge-server[arrow]", reply.json()["detail"])

    def test_one_that_dies_is_an_error_and_leaves_nothing(self):
        server = self.server("kill -9 $$\n")
        for reply in self.both(server, PARQUET):
            self.assertEqual(reply.status, 422, reply.body)
            self.assertIn("the process that writes it ended with signal 9", reply.json()["detail"])
        self.assertEqual(leftovers(server), [])
        self.assertEqual(server.call("GET", "/readyz").status, 200)

    def test_one_that_hangs_ends_with_its_client(self):
        server = self.server("exec sleep 600\n")
        model = fitted(server)
        path = left(server, model, format="csv")

        def sleepers():
            children = [pid for task in pathlib.Path(f"/proc/{server.child.pid}/task").iterdir() for pid in text_of(task / "children").split()]
            return [pid for pid in children if text_of(pathlib.Path(f"/proc/{pid}/cmdline")).startswith("sleep")]

        clients = [socket.create_connection(("127.0.0.1", int(server.url.rsplit(":", 1)[1]))) for _ in range(2)]
        for client in clients:
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {PARQUET}\r\n\r\n".encode())
        wait_for(lambda: len(sleepers()) == 2, 20, "both processes")
        reply = server.call("GET", path, headers={"Accept": PARQUET})   # the third of a tenant
        self.assertEqual(reply.status, 429, reply.body)
        self.assertEqual(server.call("GET", path, headers={"Accept": "text/csv"}).status, 200)
        for client in clients:
            client.close()
        wait_for(lambda: not sleepers() and not leftovers(server), 20, "their end")

    def test_a_server_that_stops_does_not_wait_for_it(self):
        server = self.server("exec sleep 600\n")
        path = left(server, fitted(server), format="csv")
        client = socket.create_connection(("127.0.0.1", int(server.url.rsplit(":", 1)[1])))
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {PARQUET}\r\n\r\n".encode())
        wait_for(lambda: any("values" in name for name in leftovers(server)), 20, "the table")
        begun = time.monotonic()
        server.stop(20)
        client.close()
        self.assertLess(time.monotonic() - begun, 15)


if __name__ == "__main__":
    unittest.main()
