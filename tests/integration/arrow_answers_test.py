"""kedge-arrow as the writer of Parquet and Arrow, as pyarrow, polars and pandas read it, with damaged tables and full disks. `./run.sh arrow` has the program and the packages."""
import io
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import BIN, Kedged  # noqa: E402

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


if __name__ == "__main__":
    unittest.main()
