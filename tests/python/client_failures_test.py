"""The Python client against servers that fail: scripted ones, one that is not there, and one that is not trusted."""
import asyncio
import hashlib
import http.server
import json
import os
import pathlib
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
from unittest import mock

from client_case import Scripted, WithScript, has
import kedge
import kedge.aio
from kedge import _http


def quiet_break(lines):
    """A stream whose early end is a break, as that of a chunked answer is."""
    def broken(transport, path):
        yield from lines(transport, path)
        raise ConnectionResetError("the stream broke")
    return broken


class Failures(WithScript):
    def test_a_submit_is_repeated_with_its_key(self):
        busy = (503, {"Retry-After": "0", "Content-Type": "text/html"}, b"<html>busy</html>")
        server, session = self.scripted(None, busy, None, (202, {}, b'{"id": "job_1"}'))
        self.assertEqual(self.submit(session).id, "job_1")
        self.assertEqual(len(server.asked), 4)
        self.assertEqual(len({headers["Idempotency-Key"] for _, _, headers, _ in server.asked}), 1)
        self.assertEqual(len({body for *_, body in server.asked}), 1)
        self.assertTrue(all(headers["Authorization"] == "Bearer secret" for _, _, headers, _ in server.asked))

    def test_a_prediction_is_not_repeated(self):
        server, session = self.scripted(None)
        with self.assertRaises(kedge.ConnectionFailed):
            session.model("mdl_1").predict([[1.0]]) if has("numpy") else session._transport.call(_http.Call("POST", "/x", b"", repeats=False))
        self.assertEqual(len(server.asked), 1)

    def test_what_is_wrong_is_not_repeated(self):
        wrong = (400, {"Content-Type": "application/problem+json"}, json.dumps({"code": "INVALID_VALUE", "detail": "C is -1", "where": "pipeline[0].params.C"}).encode())
        server, session = self.scripted(wrong)
        with self.assertRaises(kedge.KedgeError) as caught:
            self.submit(session)
        self.assertEqual((caught.exception.status, caught.exception.where, len(server.asked)), (400, "pipeline[0].params.C", 1))

    def test_a_stream_that_was_quiet_for_long_is_taken_up_again(self):
        lines = [json.dumps({"id": i + 1, "time": "", "state": {"state": state}}).encode() + b"\n" for i, state in enumerate(("running", "succeeded"))]
        turns = iter((0.3, 0.3, 0))   # seconds without an event before the connection breaks

        class Quiet(Scripted):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.close_connection = True
                quiet = next(turns)
                self.wfile.write(lines[0] if quiet else lines[1])
                time.sleep(quiet)
        server, session = self.scripted()
        server.RequestHandlerClass = Quiet
        with mock.patch("kedge.job.PATIENCE_S", 0.2), mock.patch.object(_http.Transport, "lines", quiet_break(_http.Transport.lines)):
            self.assertEqual([event.id for event in session.job("job_1").events()], [1, 2])

    def test_a_download_that_is_cut_is_no_file(self):
        class Cut(Scripted):
            def do_GET(self):
                self.server.asked.append(self.path)
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"x" * 400)
                self.close_connection = True
        server, session = self.scripted()
        server.RequestHandlerClass = Cut
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(kedge.ConnectionFailed):
                session.job("job_1").download("a.npy", pathlib.Path(folder) / "a.npy")
            self.assertEqual(os.listdir(folder), [])

    def test_a_cancelled_task_lets_the_program_end(self):
        server, session = self.scripted()
        server.RequestHandlerClass = type("Slow", (Scripted,), {"do_GET": lambda handler: time.sleep(5)})

        async def work():
            await asyncio.wait_for(kedge.aio.Session(session).job("job_1").result(), 0.2)
        begun = time.monotonic()
        with self.assertRaises(asyncio.TimeoutError):
            asyncio.run(work())
        self.assertLess(time.monotonic() - begun, 4)

    def test_a_kept_connection_that_was_closed_is_no_failure(self):
        server, session = self.scripted((200, {"Connection": "keep-alive"}, b"{}"), None, (200, {}, b'{"version": "1"}'))
        session.info()
        self.assertEqual(session.info()["version"], "1")
        self.assertEqual(session._transport._failures, 0)

    def test_a_server_that_is_not_there_is_said_soon(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        begun = time.monotonic()
        with self.assertRaises(kedge.ConnectionFailed) as caught:
            kedge.connect(f"http://127.0.0.1:{port}").info()
        self.assertLess(time.monotonic() - begun, 20)
        self.assertIn("is kedged running there?", str(caught.exception))

    def test_addresses_pins_and_names_that_are_none(self):
        for make, where in ((lambda: kedge.connect("127.0.0.1:5334"), "url"), (lambda: kedge.connect("ftp://x"), "url"), (lambda: kedge.connect(pin="abc"), "KEDGE_PIN"),
                            (lambda: kedge.connect(name="no-such-server"), "name")):
            with self.assertRaises(kedge.KedgeError) as caught:
                make()
            self.assertEqual(caught.exception.where, where)


class Tls(unittest.TestCase):
    def test_a_pin_is_looked_at_before_a_token_is_sent(self):
        with tempfile.TemporaryDirectory() as folder:
            key, certificate = (pathlib.Path(folder) / name for name in ("key.pem", "cert.pem"))
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=other", "-keyout", key, "-out", certificate],
                           check=True, capture_output=True)
            pin = hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate.read_text())).hexdigest()
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
            server.script, server.asked = [], []
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"https://127.0.0.1:{server.server_address[1]}"
            try:
                kedge.connect(url, "secret", pin=":".join(pin[i:i + 2] for i in range(0, 64, 2)).upper()).info()
                self.assertEqual(len(server.asked), 1)
                for session, where in ((kedge.connect(url, "secret", pin="0" * 64), "KEDGE_PIN"), (kedge.connect(url, "secret"), "KEDGE_CA")):
                    with self.assertRaises(kedge.ConnectionFailed) as caught:
                        session.info()
                    self.assertEqual(caught.exception.where, where)
                self.assertEqual(len(server.asked), 1, "a server that is not trusted was sent something")
            finally:
                server.shutdown()
                server.server_close()


if __name__ == "__main__":
    unittest.main()
