"""What the tests of the Python client share: the package, a server for a class of tests, and a server that follows a script."""
import http.server
import importlib.util
import os
import pathlib
import socket
import sys
import tempfile
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from kedge_server import ROOT, Kedged  # noqa: E402

if not os.environ.get("KEDGE_INSTALLED"):   # else the wheel that is installed
    sys.path.insert(0, str(ROOT / "client" / "python" / "src"))
import kedge  # noqa: E402
from kedge.estimators import GaussianNB, RandomForestClassifier  # noqa: E402

LONG = [RandomForestClassifier(n_estimators=100_000)]


def has(*modules):
    return all(importlib.util.find_spec(module) for module in modules)


class WithServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Kedged(cls.folder.name)
        cls.session = kedge.connect(cls.server.url)

    @classmethod
    def tearDownClass(cls):
        cls.session.close()
        cls.server.stop()
        cls.folder.cleanup()

    def raises(self, code, where, function, *arguments, **named):
        with self.assertRaises(kedge.KedgeError) as caught:
            function(*arguments, **named)
        self.assertEqual((caught.exception.code, caught.exception.where), (code, where), str(caught.exception))
        return caught.exception


class Scripted(http.server.BaseHTTPRequestHandler):
    """Answers by a list: (status, headers, body), or None to break the connection."""
    protocol_version = "HTTP/1.1"

    def answer(self):
        self.server.asked.append((self.command, self.path, dict(self.headers), self.rfile.read(int(self.headers.get("Content-Length", 0)))))
        step = self.server.script.pop(0) if self.server.script else (200, {}, b"{}")
        if step is None:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        status, headers, body = step
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_):
        pass


class WithScript(unittest.TestCase):
    def scripted(self, *steps):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
        server.script, server.asked = list(steps), []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        session = kedge.connect(f"http://127.0.0.1:{server.server_address[1]}", "secret")
        self.addCleanup(session.close)
        return server, session

    def submit(self, session):
        return session.submit(kedge.builtin("iris"), [GaussianNB()], kedge.fit())
