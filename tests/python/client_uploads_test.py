"""Uploads of the Python client: what is sent once, what goes on behind a break, what is given up."""
import hashlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

from client_case import WithScript, WithServer, has
from kedge_server import BIN, Kedged, wait_for
import kedge
from kedge import _upload
from kedge._upload import Sender
from kedge.data import Upload


class Cutting:
    """In front of a server: breaks each of the first connections that send more than so many bytes."""

    def __init__(self, port, after, breaks):
        self.sent, self._port, self._after, self._breaks = [], port, after, breaks
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._join, args=(client, socket.create_connection(("127.0.0.1", self._port))), daemon=True).start()

    def _join(self, client, server):
        threading.Thread(target=self._copy, args=(server, client), daemon=True).start()
        place = len(self.sent)
        self.sent.append(0)
        self._copy(client, server, place)

    def _copy(self, source, target, place=None):
        try:
            while piece := source.recv(1 << 16):
                target.sendall(piece)
                if place is None:
                    continue
                self.sent[place] += len(piece)
                if self.sent[place] > self._after and self._breaks:
                    self._breaks -= 1
                    break
        except OSError:
            pass
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)   # wakes the thread of the other direction
            except OSError:
                pass
            one.close()   # with bytes unread it resets: after a shutdown alone, a sender that has filled the window waits for ever

    def close(self):
        self._listener.close()


class Uploads(WithServer):
    @unittest.skipUnless(has("numpy"), "numpy is not there")
    def test_equal_data_is_sent_once(self):
        import numpy as np
        X = np.arange(20.0).reshape(5, 4)
        with mock.patch.object(Sender, "_put", autospec=True, side_effect=Sender._put) as put:
            self.session.dataset(X)
            self.session.dataset(X.copy())
        self.assertEqual(put.call_count, 1)

    @unittest.skipUnless(has("numpy"), "numpy is not there")
    def test_an_upload_goes_on_where_its_connection_broke(self):
        import numpy as np
        X = np.random.default_rng(1).normal(size=(1 << 17, 16))   # 16 MiB
        proxy = Cutting(int(self.server.url.rsplit(":", 1)[1]), after=5 << 20, breaks=2)
        self.addCleanup(proxy.close)
        seen = []
        with mock.patch.object(_upload, "SHOWN_FROM", 1 << 20):
            data = kedge.connect(proxy.url).dataset(X, X[:, 0], progress=lambda done, total: seen.append((done, total)))
        self.assertEqual(self.session.preview(data)["rows"], len(X))
        long = [sent for sent in proxy.sent if sent > 1 << 20]
        self.assertEqual(len(long), 3, proxy.sent)
        self.assertLess(sum(long), X.nbytes + (6 << 20), "what had come was sent again")
        size = seen[-1][1]
        self.assertEqual(seen[-1], (size, size))
        self.assertEqual(len({total for _, total in seen}), 1)

    def test_the_command_goes_on_where_its_connection_broke(self):
        path = pathlib.Path(self.folder.name) / "sent.csv"
        path.write_bytes(b"a,b\n" + b"1.25,2\n" * 3_000_000)   # 20 MiB
        proxy = Cutting(int(self.server.url.rsplit(":", 1)[1]), after=6 << 20, breaks=2)
        self.addCleanup(proxy.close)
        done = subprocess.run([BIN / "kedge", "datasets", path, "--name", "sent"], capture_output=True, text=True,
                              env={**os.environ, "KEDGE_URL": proxy.url})
        self.assertEqual(done.returncode, 0, done.stderr)
        stored = json.loads(done.stdout)
        self.assertEqual((stored["name"], stored["rows"]), ("sent", 3_000_000))
        self.assertGreaterEqual(len([sent for sent in proxy.sent if sent > 1 << 20]), 3, proxy.sent)
        self.assertLess(sum(proxy.sent), path.stat().st_size + (8 << 20), "what had come was sent again")
        self.assertEqual([one["name"] for one in self.session.datasets() if one["digest"] == stored["digest"]], ["sent"])
        self.session.remove_dataset("sent")

    def test_the_command_says_why_a_large_file_is_refused(self):
        path = pathlib.Path(self.folder.name) / "wrong.csv"
        path.write_bytes(b"a,b\n" + b"1.25,2\n" * 3_000_000 + b"1,2,3\n")
        done = subprocess.run([BIN / "kedge", "datasets", path, "--name", "wrong"], capture_output=True, text=True,
                              env={**os.environ, "KEDGE_URL": self.server.url})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("line 3000002", done.stderr)

    def test_a_large_file_gets_its_name_by_its_content(self):
        path = pathlib.Path(self.folder.name) / "large.csv"
        path.write_text("a,b\n" + "1.25,2\n" * 200_000)
        with mock.patch("kedge.session.RESUMES_FROM", 1 << 20):
            stored = self.session.upload("large", path)
        self.assertEqual((stored["name"], stored["rows"]), ("large", 200_000))
        self.assertEqual([one["name"] for one in self.session.datasets() if one["digest"] == stored["digest"]], ["large"])
        self.session.remove_dataset("large")


class Restarts(unittest.TestCase):
    def test_an_upload_goes_on_behind_a_server_that_was_killed(self):
        """kill -9 in the middle: the next server has what came, and the client sends the rest alone."""
        text = b"a,b\n" + b"1.25,2\n" * 2_000_000   # 14 MB
        name = f"sha256:{hashlib.sha256(b'csv' + bytes([10]) + text).hexdigest()}"
        upload = Upload("csv", len(text), lambda: (text[at:at + (1 << 16)] for at in range(0, len(text), 1 << 16)))
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            server = Kedged(folder)
            with socket.create_connection(("127.0.0.1", int(server.url.rsplit(":", 1)[1]))) as broken:
                head = f"PUT /v1/datasets/{name}?format=csv HTTP/1.1\r\nHost: {server.url[7:]}\r\nContent-Length: {len(text)}\r\n\r\n"
                broken.sendall(head.encode() + text[:9 << 20])
                wait_for(lambda: sum(one.stat().st_size for one in pathlib.Path(folder).rglob("unfinished/*.bytes")) >= 8 << 20, 60, "8 MiB on the disk")
                server.kill()
            again = Kedged(folder)
            self.addCleanup(again.kill)
            sent = []
            session = kedge.connect(again.url)
            self.addCleanup(session.close)
            found = session.content(upload, progress=lambda done, total: sent.append(done))
            self.assertEqual(session.preview(found)["rows"], 2_000_000)
            self.assertGreater(sent[0], 8 << 20, "what had come was sent again")
            self.assertEqual(list(pathlib.Path(folder).rglob("unfinished/*")), [])


class Failures(WithScript):
    def test_an_upload_goes_on_behind_what_the_server_has(self):
        text = b"a,b\n" + b"1,2\n" * 1000
        upload = Upload("csv", len(text), lambda: iter([text[:1500], text[1500:]]))
        has = lambda n: (404, {"Upload-Offset": str(n)}, b"{}")   # noqa: E731
        conflict = (409, {"Upload-Offset": "2000"}, json.dumps({"code": "CONFLICT", "detail": "elsewhere"}).encode())
        server, session = self.scripted((404, {}, b"{}"), None, has(1000), conflict, has(2000), (201, {}, b"{}"))
        self.assertEqual(session.content(upload).reference, {"stored": "sha256:" + hashlib.sha256(b"csv\n" + text).hexdigest()})
        sent = [(headers.get("Content-Range"), body) for method, _, headers, body in server.asked if method == "PUT"]
        self.assertEqual(sent, [(None, text), ("bytes 1000-4003/4004", text[1000:]), ("bytes 2000-4003/4004", text[2000:])])

    def test_an_upload_that_another_has_finished_or_that_is_wrong_is_not_sent_again(self):
        upload = Upload("csv", 4, lambda: iter([b"a\n1\n"]))
        server, session = self.scripted((404, {}, b"{}"), None, (200, {}, b"{}"))
        session.content(upload)
        self.assertEqual([method for method, *_ in server.asked], ["GET", "PUT", "GET"])
        server, session = self.scripted((404, {}, b"{}"), (422, {}, json.dumps({"code": "DATASET_CORRUPT", "detail": "line 2"}).encode()))
        with self.assertRaises(kedge.KedgeError) as caught:
            session.content(upload)
        self.assertEqual((caught.exception.code, len(server.asked)), ("DATASET_CORRUPT", 2))

    def test_an_upload_shows_how_far_it_is(self):
        with mock.patch.multiple(_upload.Line, PAUSE_S=0.0, QUIET_S=0.0), mock.patch.object(_upload, "SHOWN_FROM", 10):
            with mock.patch("sys.stderr", mock.Mock(isatty=lambda: True)) as terminal:
                line = _upload.Line()
                for done in (5 << 20, 10 << 20):
                    line(done, 10 << 20)
                line(4, 4)   # which is too short to be shown
            said = [call.args[0] for call in terminal.write.call_args_list]
            self.assertRegex(said[0], r"^\rupload  50% of 10 MiB, .* MiB/s$")
            self.assertRegex(said[1], r"^\rupload 100% of 10 MiB, .* MiB/s\n$")
            self.assertEqual(len(said), 2)
            notebook = mock.Mock()
            modules = {"IPython": mock.Mock(get_ipython=lambda: notebook), "IPython.display": notebook}
            with mock.patch.dict(sys.modules, modules), mock.patch("sys.stderr", mock.Mock(isatty=lambda: False)) as no_terminal:
                line = _upload.Line()
                for done in (5 << 20, 10 << 20):
                    line(done, 10 << 20)
            self.assertIn(" 50%", notebook.display.call_args.args[0]["text/plain"])
            self.assertIn("100%", notebook.display.return_value.update.call_args.args[0]["text/html"])
            no_terminal.write.assert_not_called()

    def test_an_upload_of_which_nothing_more_arrives_is_given_up(self):
        upload = Upload("csv", 4, lambda: iter([b"a\n1\n"]))
        server, session = self.scripted(*[(404, {}, b"{}"), None] * 50)
        with mock.patch.multiple(_upload, PATIENCE_S=0.5, SILENCE_S=0.0), self.assertRaises(kedge.ConnectionFailed):
            session.content(upload)
        self.assertGreater(len([1 for method, *_ in server.asked if method == "PUT"]), 1)

    def test_an_upload_that_is_refused_early_says_why(self):
        listener = socket.create_server(("127.0.0.1", 0))
        problem = json.dumps({"code": "UNAUTHENTICATED", "detail": "no token"}).encode()

        def refuse():
            for _ in range(20):
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 401 Unauthorized\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\n\r\n" % len(problem) + problem)
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(0.2)
                try:
                    for _ in range(64):
                        connection.recv(1 << 16)
                except OSError:
                    pass
                connection.close()
        threading.Thread(target=refuse, daemon=True).start()
        session = kedge.connect(f"http://127.0.0.1:{listener.getsockname()[1]}")
        with tempfile.NamedTemporaryFile(suffix=".csv") as file:
            file.truncate(64 << 20)
            with self.assertRaises(kedge.KedgeError) as caught:
                session.upload("a", file.name)
        listener.close()
        self.assertEqual(caught.exception.code, "UNAUTHENTICATED", caught.exception)


if __name__ == "__main__":
    unittest.main()
