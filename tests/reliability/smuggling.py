"""Row H3: requests that one parser may see as one and another as two. Each goes to kedge's HTTP server and to h11 (where that is
installed), and through nginx and HAProxy (where those are). A proxy must not have passed on another number of requests than the server took.

python3 smuggling.py H3 [--long] [--seed N] [--control NAME]"""
import random
import re
import socket
import socketserver
import sys
import threading

from rows import BIN, ROOT, CannotRun, Process, free_port, main, tool, wait_for, within
from streams import accepts

VECTORS = ROOT / "tests" / "unit" / "server_http" / "gate_vectors.txt"
CANARY = b"GET /canary HTTP/1.1\r\nHost: a\r\n\r\n"
PIECES = [b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b",", b";", b"0\r\n\r\n", b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"\x00", b"\x0b",
          b"\x85", b"\xa0", b"chunked", b"identity", b"Host: b\r\n", b"Connection: close\r\n", b"1", b"+", b"-", b"0x", b"HTTP/1.0", b"Expect: 100-continue\r\n", b"Upgrade: h2c\r\n", CANARY]


def vectors():
    found = []
    for line in VECTORS.read_text().splitlines():
        if line and not line.startswith("#"):
            _, name, text = line.split(" ", 2)
            text = re.sub(r"\\x([0-9a-fA-F]{2})|\\([rnt])", lambda m: chr(int(m[1], 16)) if m[1] else {"r": "\r", "n": "\n", "t": "\t"}[m[2]], text.replace("{smuggled}", CANARY.decode()))
            found.append((name, text.encode("latin-1")))
    return found


def mutated(seeds, dice):
    name, text = dice.choice(seeds)
    for _ in range(dice.randrange(1, 4)):
        at = dice.randrange(len(text) + 1)
        kind = dice.randrange(4)
        if kind == 0:
            text = text[:at] + dice.choice(PIECES) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + dice.randrange(1, 5):]
        elif kind == 2:
            text = text[:at] + bytes([dice.randrange(256)]) + text[at + 1:]
        else:
            lines = text.split(b"\r\n")
            dice.shuffle(lines[1:4])
            text = b"\r\n".join(lines[:1] + dice.sample(lines[1:], len(lines) - 1)) if dice.random() < 0.3 else text + CANARY
    return name + "*", text


PATIENCE = 90   # seconds that no answer comes near, but on a machine that stands still


class Recorder:
    """What the server read as requests, in order."""

    def __init__(self, row):
        self.log, self.marks = row.folder / "recorded", 0
        self.process = Process([BIN / "kedge_http_recorder"], log=self.log)
        self.port = int(wait_for(lambda: self.log.read_text().partition("\n")[0] if "\n" in self.log.read_text() else None, 10, "the recorder"))
        self.at = self.log.stat().st_size

    def taken(self):
        """Since the last call, as (method, target, body bytes)."""
        self.marks += 1
        mark = f"GET /mark/{self.marks} 200 0\n"
        send(self.port, f"GET /mark/{self.marks} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        with open(self.log, "rb") as log:
            log.seek(self.at)
            text = log.read().decode("latin-1")
        assert mark in text, text
        self.at += len(text)
        return [(w[0], w[1], int(w[3])) for w in (line.split(" ") for line in text.replace(mark, "").splitlines())]

    def stop(self):
        self.process.kill()


class Lenient(Recorder):
    """In the server's place, one that knows no Transfer-Encoding and takes the first Content-Length, as some servers do."""

    def __init__(self, row):
        seen = self.seen = []

        class Handler(socketserver.StreamRequestHandler):
            timeout = 0.3

            def handle(self):
                try:
                    while line := self.rfile.readline().strip():
                        length = 0
                        while field := self.rfile.readline().strip():
                            if field.lower().startswith(b"content-length:") and not length:
                                length = int(re.search(rb"\d*", field[15:].strip())[0] or 0)
                        seen.append((line.split()[0].decode("latin-1"), (line.split() + [b"?"])[1].decode("latin-1"), len(self.rfile.read(length))))
                        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                except OSError:
                    pass
        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def taken(self):
        found = list(self.seen)
        self.seen.clear()
        return found

    def stop(self):
        self.server.shutdown()


def send(port, text):
    """All that comes back."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        try:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                answer += piece
        except OSError:
            pass
    return answer


def by_h11(text):
    """The requests that h11 sees: (method, target, body bytes) of each that is whole, and whether it refused what follows."""
    import h11
    connection, found = h11.Connection(h11.SERVER), []
    try:
        connection.receive_data(text)
        connection.receive_data(b"")
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Request):
                head, size = (event.method.decode("latin-1"), event.target.decode("latin-1")), 0
            elif isinstance(event, h11.Data):
                size += len(event.data)
            elif isinstance(event, h11.EndOfMessage):
                found.append((*head, size))
                connection.send(h11.Response(status_code=404, headers=[("Content-Length", "0")]))
                connection.send(h11.EndOfMessage())
                if connection.our_state is h11.MUST_CLOSE:
                    return found
                connection.start_next_cycle()
            else:
                return found
    except h11.RemoteProtocolError:
        return found


def beside_h11(row, recorder, texts):
    """h11 in the place of a server in front: ours may take fewer, since it refuses more, but what it takes must be what h11 saw, bound by bound."""
    for name, text in texts:
        send(recorder.port, text)
        ours, theirs = recorder.taken(), by_h11(text)
        row.expect(ours == theirs[:len(ours)], f"{name}: {text[:200]!r}: h11 sees {theirs}, the server took {ours}")
        if row.found():
            return


# Without lingering closes, because nginx then writes a request's line only when the client has disconnected, too late for the comparison.
NGINX = """daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1; events {{ }}
http {{ log_format seen '$request_method $upstream_status $request_uri'; access_log {folder}/seen seen; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; upstream us {{ server 127.0.0.1:{behind}; keepalive 1; }}
  server {{ listen 127.0.0.1:{port}; lingering_close off; location / {{ proxy_http_version 1.1; proxy_set_header Connection ""; proxy_next_upstream off; proxy_ignore_client_abort on; proxy_pass http://us; }} }} }}
"""
HAPROXY = """global
  log stdout format raw local0
defaults
  mode http
  log global
  log-format "%HM %ST/%B/%Tr %HU"
  http-reuse always
  timeout connect 2s
  timeout client 2s
  timeout server 2s
  timeout http-request 1s
listen us
  bind 127.0.0.1:{port}
  server one 127.0.0.1:{behind}
"""


class Front:
    """A proxy, and what it passed on."""

    def __init__(self, row, name, behind):
        self.name, self.port, folder = name, free_port(), row.folder / name
        folder.mkdir()
        row.folder.chmod(0o755)
        (folder / "conf").write_text((NGINX if name == "nginx" else HAPROXY).format(folder=folder, port=self.port, behind=behind))
        flags = ["-c", folder / "conf", "-p", folder] if name == "nginx" else ["-db", "-f", folder / "conf"]
        self.process, self.seen = Process([tool(name), *flags], log=folder / ("log" if name == "nginx" else "seen")), folder / "seen"
        wait_for(lambda: accepts(self.port), 10, name)
        self.at = self.seen.stat().st_size if self.seen.exists() else 0

    def passed_on(self):
        """Methods of the requests since the last call that were answered, or whose answer was awaited."""
        with open(self.seen, "rb") as log:
            log.seek(self.at)
            text = log.read()
        self.at += len(text)
        lines = [line.decode("latin-1").split(" ", 2) for line in text.splitlines()]
        if self.name == "nginx":
            return [words[0] for words in lines if len(words) > 1 and words[1] != "-"]
        return [words[0] for words in lines if len(words) > 1 and re.match(r"\d+/\d+/\d+$", words[1])]   # Tr of -1: nothing was passed on


def behind_a_front(row, recorder, name, texts):
    front = Front(row, name, recorder.port)
    try:
        recorder.taken()
        front.passed_on()
        served = 0
        for label, text in texts:
            send(front.port, text)
            taken, passed = [t[0] for t in recorder.taken()], front.passed_on()
            within(lambda: len(taken) <= len(passed) or passed.extend(front.passed_on()), 2)   # a proxy logs after the answer
            served += len(passed)
            row.expect(len(taken) <= len(passed), f"{label}: {text[:200]!r}: {name} passed on {passed}, the server took {taken}")
            if row.found():
                break
        row.expect(served > 20, f"{name} passed on {served} requests: this compares nothing")
        return f"{name} {served} passed on"
    finally:
        front.process.stop()


def h3(row):
    """The list, and mutations of it, through four parsers."""
    seeds, dice, figures = vectors(), random.Random(row.seed), []
    beside = seeds + [mutated(seeds, dice) for _ in range(100_000 if row.long else 2000)]
    through = seeds + [mutated(seeds, dice) for _ in range(5000 if row.long else 200)]
    recorder = (Lenient if row.control else Recorder)(row)
    try:
        try:
            beside_h11(row, recorder, beside)
            figures.append(f"h11 {len(beside)} texts")
        except ImportError:
            figures.append("h11 is not installed")
        for name in ("nginx", "haproxy"):
            try:
                figures.append(behind_a_front(row, recorder, name, through))
            except CannotRun as missing:
                figures.append(str(missing))
        if sum("not installed" in figure for figure in figures) == 3:
            raise CannotRun("neither h11 nor nginx nor haproxy is installed")
        return ", ".join(figures)
    finally:
        recorder.stop()


if __name__ == "__main__":
    sys.exit(main({"H3": h3}, {"H3": ["lenient-server"]}))
