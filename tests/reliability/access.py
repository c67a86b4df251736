"""Rows on access: A1 every operation for every credential, A3 where secrets are, A5 refusals before the body, A6 guesses, A7 other places
for a token, A8 a token that is revoked while a stream is open.

python3 access.py ROW [--long] [--seed N] [--control NAME]"""
import http.client
import json
import pathlib
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time

from rows import BIN, Kedged, Reply, long_job, main, spec, tool, wait_for, within

THROWN_AWAY = 256 << 10   # at most, behind a refusal: closing at once could destroy the answer on its way
SUCCESS, PROBLEM = range(200, 300), "application/problem+json"
MOVED = 308   # an address that leads to another
CSV = b"a,b,kind\n" + b"".join(f"{i % 7},{i % 5},{'xy'[i % 7 > 3]}\n".encode() for i in range(60))


class Guarded(Kedged):
    """A server with tokens. Each call may come from an address of its own, since wrong tokens are counted by address."""

    def __init__(self, row, *arguments, env=None):
        self.peers, self.tokens, self.folder = 0, {}, row.folder
        self.make("watcher", "admin")
        super().__init__(row.folder, *arguments, env=row.environment(env))

    def make(self, name, scopes, tenant="alice", *more):
        made = subprocess.run([BIN / "kedged", "token", "create", "--data-dir", self.folder / "state", "--name", name, "--scopes", scopes, "--tenant", tenant, *more],
                              capture_output=True, text=True, timeout=60)
        assert made.returncode == 0, made.stderr
        self.tokens[name] = made.stdout.strip()

    def change(self, name, sql):
        with sqlite3.connect(self.folder / "state" / "auth.db", timeout=10) as store:
            assert store.execute(f"UPDATE tokens SET {sql} WHERE name = ?", [name]).rowcount == 1
        store.close()

    def call(self, method, path, body=None, headers=None, timeout=60):
        """As the watcher, which may do everything."""
        return self.ask(method, path, body, {**(headers or {}), "Authorization": "Bearer " + self.tokens["watcher"]}, timeout)

    def ask(self, method, path, body=None, headers=None, timeout=60):
        self.peers += 1
        peer = f"127.{1 + self.peers // 62_500 % 100}.{self.peers // 250 % 250}.{1 + self.peers % 250}"
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        connection = http.client.HTTPConnection("127.0.0.1", int(self.url.rsplit(":", 1)[1]), timeout=timeout, source_address=(peer, 0))
        try:
            connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            return Reply(answer.status, answer.headers, answer.read(), str(self.folder))
        finally:
            connection.close()


def credentials(server):
    """name -> (header field or none, tenant or none, scopes). How a caller presents itself."""
    for name, scopes, tenant in [("read", "read", "alice"), ("submit", "submit", "alice"), ("both", "read,submit", "alice"), ("admin", "admin", "root"),
                                 ("other", "read,submit", "bob"), ("expired", "admin", "alice"), ("revoked", "admin", "alice")]:
        server.make(name, scopes, tenant)
    server.change("expired", "expires = 1000000000")
    server.change("revoked", "revoked = 1")
    known = {name: (f"Bearer {server.tokens[name]}", tenant, set(scopes.split(",")))
             for name, scopes, tenant in [("read", "read", "alice"), ("submit", "submit", "alice"), ("both", "read,submit", "alice"), ("admin", "read,submit,admin", "root"),
                                          ("other", "read,submit", "bob")]}
    token = server.tokens["both"]
    unknown = {"none": None, "malformed": token, "other scheme": "Basic " + token, "unknown": "Bearer kdg_" + "A" * 43, "longer": f"Bearer {token}x", "empty": "Bearer ",
               "expired": "Bearer " + server.tokens["expired"], "revoked": "Bearer " + server.tokens["revoked"]}
    wait_for(lambda: server.ask("GET", "/v1/info", headers={"Authorization": known["other"][0]}).status == 200, 10, "the new tokens")
    wait_for(lambda: server.ask("GET", "/v1/info", headers={"Authorization": unknown["revoked"]}).status == 401, 10, "the revocation")
    return known | {name: (field, None, set()) for name, field in unknown.items()}


class Things:
    """What alice has: made anew where an operation ends it."""

    def __init__(self, server, field):
        self.server, self.field, self.made = server, field, 0
        fitted = self.run({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "StandardScaler"}, {"estimator": "GaussianNB"}], "task": {"fit": {}}})
        scaler = self.run({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "StandardScaler"}], "task": {"fit": {}}})
        self.job, self.model, self.transformer = fitted["id"], fitted["result"]["model"], scaler["result"]["model"]
        self.predicted = self.run({"dataset": {"builtin": "iris"}, "task": {"predict": {"model": self.model}}})["id"]
        self.artifact = self.ask("GET", f"/v1/jobs/{self.predicted}/result").json()["artifacts"][0]["name"]
        self.file = self.ask("GET", f"/v1/models/{self.model}/download").body
        self.dataset = self.upload()
        self.registered = "iris"
        self.ask("POST", "/v1/registry/iris/versions", {"model": self.model})
        self.ask("PUT", "/v1/registry/iris/aliases/champion", {"version": 1})

    def ask(self, method, path, body=None, headers=None):
        answer = self.server.ask(method, path, body, {"Authorization": self.field, **(headers or {})})
        assert answer.status in SUCCESS, (method, path, answer.status, answer.body)
        return answer

    def run(self, description):
        return self.ask("POST", "/v1/jobs?wait=60s", description).json()

    def upload(self):
        self.made += 1
        self.ask("PUT", f"/v1/datasets/table{self.made}", CSV, {"Content-Type": "text/csv"})
        return f"table{self.made}"

    def waiting_job(self):
        return self.ask("POST", "/v1/jobs", long_job()).json()["id"]

    def another_name(self, alias=None):
        self.made += 1
        name = f"name{self.made}"
        self.ask("POST", f"/v1/registry/{name}/versions", {"model": self.model})
        if alias:
            self.ask("PUT", f"/v1/registry/{name}/aliases/{alias}", {"version": 1})
        return name

    def copy_of_the_model(self):
        return self.ask("POST", "/v1/models", self.file, {"Content-Type": "application/vnd.kedge.model"}).json()["id"]


def request_for(operation, things):
    """(path, body, media type) of a request that would succeed for alice; None for an operation that has no row here and needs one."""
    rows = ({"rows": [[5.1, 3.5, 1.4, 0.2]]}, "application/json")
    tensors = ({"inputs": [{"name": "input", "shape": [1, 4], "datatype": "FP64", "data": [5.1, 3.5, 1.4, 0.2]}]}, "application/json")
    plain = lambda path: (path, None, None)   # noqa: E731
    table = {
        "POST /v1/jobs/check": lambda: ("/v1/jobs/check", spec(), "application/json"),
        "PUT /v1/datasets/{name}": lambda: ("/v1/datasets/another", CSV, "text/csv"),
        "DELETE /v1/datasets/{name}": lambda: plain(f"/v1/datasets/{things.upload()}"),
        "POST /v1/datasets/preview": lambda: ("/v1/datasets/preview", {"dataset": {"builtin": "iris"}}, "application/json"),
        "POST /v1/jobs": lambda: ("/v1/jobs", spec(), "application/json"),
        "DELETE /v1/jobs/{id}": lambda: plain(f"/v1/jobs/{things.waiting_job()}"),
        "POST /v1/jobs/{id}/cancel": lambda: plain(f"/v1/jobs/{things.waiting_job()}/cancel"),
        "GET /v1/events": lambda: plain(f"/v1/events?jobs={things.job}"),
        "GET /v1/jobs/{id}/artifacts/{name}": lambda: plain(f"/v1/jobs/{things.predicted}/artifacts/{things.artifact}"),
        "POST /v1/models": lambda: ("/v1/models", things.file, "application/vnd.kedge.model"),
        "DELETE /v1/models/{id}": lambda: plain(f"/v1/models/{things.copy_of_the_model()}"),
        "POST /v1/models/{id}/predict": lambda: (f"/v1/models/{things.model}/predict", *rows),
        "POST /v1/models/{id}/transform": lambda: (f"/v1/models/{things.transformer}/transform", *rows),
        "POST /v2/models/{model}/infer": lambda: (f"/v2/models/{things.model}/infer", *tensors),
        "POST /v2/models/{model}/versions/{version}/infer": lambda: (f"/v2/models/{things.model}/versions/1/infer", *tensors),
        "POST /v1/cluster/check": lambda: plain("/v1/cluster/check"),
        "POST /v2/repository/index": lambda: ("/v2/repository/index", {}, "application/json"),
        "POST /v2/repository/models/{model}/load": lambda: (f"/v2/repository/models/{things.model}/load", {}, "application/json"),
        "POST /v2/repository/models/{model}/unload": lambda: (f"/v2/repository/models/{things.model}/unload", {}, "application/json"),
        "DELETE /v1/models/{id}/drift": lambda: plain(f"/v1/models/{things.model}/drift"),
        "PUT /v1/models/{id}/serving": lambda: (f"/v1/models/{things.model}/serving", {"maxDelayUs": 0}, "application/json"),
        "PATCH /v1/registry/{name}": lambda: (f"/v1/registry/{things.registered}", {"tags": {"a": "b"}}, "application/json"),
        "DELETE /v1/registry/{name}": lambda: plain(f"/v1/registry/{things.another_name()}"),
        "POST /v1/registry/{name}/versions": lambda: ("/v1/registry/another/versions", {"model": things.model}, "application/json"),
        "PATCH /v1/registry/{name}/versions/{version}": lambda: (f"/v1/registry/{things.registered}/versions/1", {"tags": {"a": "b"}}, "application/json"),
        "DELETE /v1/registry/{name}/versions/{version}": lambda: plain(f"/v1/registry/{things.another_name()}/versions/1"),
        "PUT /v1/registry/{name}/aliases/{alias}": lambda: (f"/v1/registry/{things.registered}/aliases/champion", {"version": 1}, "application/json"),
        "DELETE /v1/registry/{name}/aliases/{alias}": lambda: plain(f"/v1/registry/{things.another_name('trial')}/aliases/trial"),
    }
    if operation in table:
        return table[operation]()
    method, path = operation.split()
    for pattern, hers in {"/v1/jobs/{id}": f"/v1/jobs/{things.job}", "/v1/models/{id}": f"/v1/models/{things.model}", "/v2/models/{model}": f"/v2/models/{things.model}",
                          "/v1/datasets/{name}": f"/v1/datasets/{things.dataset}", "/v1/registry/{name}": f"/v1/registry/{things.registered}",
                          "/estimators/{name}": "/estimators/KMeans", "{version}": "1", "{alias}": "champion", "{file}": "style.css"}.items():
        path = path.replace(pattern, hers)
    return plain(path) if method == "GET" and "{" not in path else None


def expected_status(operation, document, tenant, scopes):
    """401, 403, 404 or a success, by the document alone: its security, its scope, and whether the path or query names something of alice's."""
    needs, security = document["x-kedge-scope"], document.get("security")
    assert (security == []) == (needs == "public"), f"{operation} is {needs}, but its security is {security}"
    if needs == "public":
        return [MOVED] if str(MOVED) in document["responses"] else SUCCESS
    if tenant is None:
        return [401]
    if needs not in scopes:
        return [403]
    if operation == "POST /v1/cluster/check":
        return [422]   # this server has no ranks
    is_hers = re.search(r"/(jobs|models)/\{|GET /v1/events$|POST /v1/registry/", operation) and "admin" not in scopes
    is_named = re.search(r"(GET|DELETE) /v1/datasets/\{|(GET|PATCH|PUT|DELETE) /v1/registry/\{", operation)   # each tenant, an admin's too, has names of its own
    return [404] if (is_hers or is_named) and tenant != "alice" else SUCCESS


def a1(row):
    """Every operation of openapi.json, and HEAD of every GET, for every credential: the status that the document's security and scopes demand."""
    server, cells = Guarded(row, "--devices", "cpu"), 0
    try:
        document = json.loads(server.call("GET", "/openapi.json").body)
        callers = credentials(server)
        things = Things(server, callers["both"][0])
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                for name, caller in callers.items():
                    cells += 1
                    cell(row, server, things, f"{method.upper()} {path}", operation, name, caller)
                    if method == "get":
                        cells += 1
                        cell(row, server, things, f"{method.upper()} {path}", operation, name, caller, "HEAD")
        list_streams(row, server, callers, things)
        return f"{cells} cells of {len(document['paths'])} paths and {len(callers)} credentials"
    finally:
        server.kill()


def list_streams(row, server, callers, things):
    """The changes of the list: each caller gets its tenant's jobs, an admin gets all, and a caller without the scope gets none."""
    for name, (field, tenant, scopes) in callers.items():
        answer = server.ask("GET", "/v1/events?list=1&after=0&follow=false", headers={"Authorization": field} if field else {})
        wanted = 401 if tenant is None else 200 if "read" in scopes else 403
        row.expect(answer.status == wanted, f"the list's stream for {name}: {answer.status}, not {wanted}")
        if answer.status == 200:
            sees = things.job.encode() in answer.body
            row.expect(sees == (tenant == "alice" or "admin" in scopes), f"the list's stream for {name}: {'shows' if sees else 'hides'} a job of alice's")


def cell(row, server, things, operation, document, name, caller, sent=None):
    field, tenant, scopes = caller
    request = request_for(operation, things)
    if not row.expect(request is not None, f"{operation} is in openapi.json and has no request here"):
        return
    path, body, media = request
    headers = {**({"Authorization": field} if field else {}), **({"Content-Type": media} if media else {})}
    answer = server.ask(sent or operation.split()[0], path, body, headers)
    wanted = expected_status(operation, document, tenant, scopes)
    where = f"{sent or ''} {operation} for {name}"
    row.expect(answer.status in wanted, f"{where}: {answer.status}, not {wanted}")
    row.expect(str(answer.status) in document["responses"], f"{where}: {answer.status} is not documented")
    if answer.status in SUCCESS or answer.status == MOVED:
        row.expect(tenant != "bob" or "GET" not in operation or things.job.encode() not in answer.body and things.model.encode() not in answer.body,
                   f"{where}: shows another tenant's things")
        return
    check_problem(row, server, where, answer, sent != "HEAD")


def check_problem(row, server, where, answer, has_body):
    kind = "application/json" if " /v2" in where else PROBLEM   # what clients of the Open Inference Protocol read
    row.expect(answer.headers["Content-Type"] == kind, f"{where}: {answer.headers['Content-Type']}")
    row.expect((answer.status == 401) == ("WWW-Authenticate" in answer.headers), f"{where}: a challenge with {answer.status}, or none with 401")
    if has_body:
        code = answer.json()["code"]
        row.expect(code == {401: "UNAUTHENTICATED", 403: "FORBIDDEN", 404: "NOT_FOUND", 422: "DEVICE_UNAVAILABLE"}.get(answer.status), f"{where}: {code}")
    tell_tale = [t.encode() for t in [*server.tokens.values(), str(server.folder), "SELECT", "alice"] if t.encode() in answer.body]
    row.expect(not tell_tale, f"{where}: the answer says {tell_tale}")


def a3(row):
    """No token is on disk, in a log, in a command line or in an environment, and the disk has its SHA-256."""
    import hashlib
    server = Guarded(row, "--log-format", "json", "--log-level", "debug")
    try:
        server.make("canary", "read,submit")
        canary = server.tokens["canary"]
        wait_for(lambda: server.ask("GET", "/v1/info", headers={"Authorization": f"Bearer {canary}"}).status == 200, 10, "the token")
        job = server.ask("POST", "/v1/jobs?wait=60s", spec(), {"Authorization": f"Bearer {canary}"}).json()
        for path in ["/v1/jobs/none", f"/v1/jobs/{job['id']}/artifacts/none", "/v1/jobs?pageSize=x"]:
            row.expect(canary.encode() not in server.ask("GET", path, headers={"Authorization": f"Bearer {canary}"}).body, f"{path} repeats the token")
        if row.control == "a-copy":
            (server.data_dir / "state" / "copy").write_text(canary)
        places = [p for p in server.data_dir.rglob("*") if p.is_file()]
        for pid in [server.child.pid, *server.workers()]:
            places += [pathlib.Path(f"/proc/{pid}/{name}") for name in ("cmdline", "environ")]
        secret = canary[4:].encode()
        digest = hashlib.sha256(canary.encode()).hexdigest().encode()
        found = [str(place) for place in places if secret in place.read_bytes()]
        row.expect(not found, f"the token is in {found}")
        row.expect(any(digest in place.read_bytes() for place in places), "its digest is nowhere: this looks in the wrong places")
        row.expect(len(secret) == 43, f"a token has {len(secret)} characters of 6 bits")
        return f"{len(places)} files"
    finally:
        server.kill()


def a5(row):
    """A large upload under a wrong token: 401 before the body is read, with `Expect` and without."""
    server, taken, trace = Guarded(row), [], row.folder / "trace"
    strace = subprocess.Popen([tool("strace"), "-f", "-qq", "-s", "16", "-e", "trace=recvfrom,recvmsg,sendto,sendmsg", "-o", trace, "-p", str(server.child.pid)])
    try:
        wait_for(lambda: trace.exists() and server.call("GET", "/livez").status == 200 and trace.stat().st_size, 10, "strace")
        for expect in ("Expect: 100-continue\r\n", ""):
            token, before = server.tokens["watcher"] if row.control == "right-token" else "kdg_wrong", trace.stat().st_size
            with socket.create_connection(("127.0.0.1", int(server.url.rsplit(":", 1)[1])), timeout=10) as connection:
                connection.sendall(f"PUT /v1/datasets/big HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\nAuthorization: Bearer {token}\r\n{expect}"
                                   f"Content-Length: {1 << 30}\r\n\r\n".encode())
                connection.settimeout(2)
                sent = 0 if expect else push(connection, b"1,2,3\n" * 10_000, 200)
                answer = start_of(connection)
            row.expect(answer.startswith(b"HTTP/1.1 401"), f"answered {answer[:40]}")
            wait_for(lambda: server.call("GET", "/livez").status == 200, 5, "the server")
            until, behind = bytes_read(trace.read_text(errors="replace")[before:])
            taken.append(until)
            row.expect(until <= 64 << 10, f"{until} bytes were read before the answer")
            row.expect(behind <= THROWN_AWAY + (64 << 10), f"{behind} bytes were read behind the answer, {sent} were sent")
        return f"401 with {taken[0]} and {taken[1]} bytes read; then {behind} of {sent} thrown away"
    finally:
        strace.send_signal(signal.SIGINT)
        strace.wait(10)
        server.kill()


def bytes_read(trace):
    """From connections: before the answer is sent, and from then on."""
    until, behind = re.split(r'"HTTP/1.1 401.*', trace, maxsplit=1) if '"HTTP/1.1 401' in trace else (trace, "")
    return [sum(int(n) for n in re.findall(r"(?:recvfrom|recvmsg)(?:\(| resumed>).* = (\d+)$", part, re.M)) for part in (until, behind)]


def start_of(connection):
    try:
        return connection.recv(4096)
    except OSError:
        return b""


def push(connection, piece, times):
    sent = 0
    try:
        for _ in range(times):
            sent += connection.send(piece)
    except OSError:   # it is closed, or takes no more
        pass
    return sent


def a6(row):
    """Guesses from one address are refused unheard after a few; right tokens from elsewhere are served as usual."""
    guesses = 10_000 if row.long else 1_000
    server, statuses, times = Guarded(row), {}, {401: [], 429: []}
    try:
        port = int(server.url.rsplit(":", 1)[1])
        connection, number = None, 0
        for number in range(guesses):
            connection = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=10, source_address=(f"127.9.9.{1 + number % 200 if row.control == 'many-addresses' else 9}", 0))
            begin = time.perf_counter()
            connection.request("GET", "/v1/info", headers={"Authorization": f"Bearer kdg_{number:043d}"})
            answer = connection.getresponse()
            answer.read()
            times[answer.status].append(time.perf_counter() - begin)
            statuses[answer.status] = statuses.get(answer.status, 0) + 1
            if answer.will_close or row.control:
                connection.close()
                connection = None
            if number % 100 == 0:
                row.expect(server.call("GET", "/v1/info").status == 200, "a right token from another address is refused")
        heard = statuses.get(401, 0)
        row.expect(heard <= 10 + 0.2 * sum(map(sum, times.values())) + 2, f"{heard} of {guesses} guesses were heard")
        return f"{heard} of {guesses} guesses heard, the others 429"
    finally:
        server.kill()


def a7(row):
    """A token in a trailer, twice, or in the query opens nothing."""
    server = Guarded(row)
    try:
        token = server.tokens["watcher"]
        field = f"Authorization: Bearer {token}\r\n"
        forms = {"trailer": f"GET /v1/info HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{field}\r\n",
                 "twice": f"GET /v1/info HTTP/1.1\r\nHost: localhost\r\n{field}{field}\r\n",
                 "twice, one wrong": f"GET /v1/info HTTP/1.1\r\nHost: localhost\r\n{field}Authorization: Bearer kdg_x\r\n\r\n",
                 "query": f"GET /v1/info?access_token={token} HTTP/1.1\r\nHost: localhost\r\n\r\n",
                 "folded": f"GET /v1/info HTTP/1.1\r\nHost: localhost\r\nX: y\r\n {field}\r\n",
                 "cookie": f"GET /v1/info HTTP/1.1\r\nHost: localhost\r\nCookie: token={token}\r\n\r\n",
                 "user": f"GET http://x:{token}@localhost/v1/info HTTP/1.1\r\nHost: localhost\r\n\r\n"}
        if row.control == "as-it-should-be":
            forms = {"header": f"GET /v1/info HTTP/1.1\r\nHost: localhost\r\n{field}\r\n"}
        answers = {name: raw(server, text) for name, text in forms.items()}
        for name, answer in answers.items():
            row.expect(re.match(rb"HTTP/1.1 40[01] ", answer), f"{name}: {answer[:60]}")
            row.expect(b'"version"' not in answer and token.encode() not in answer, f"{name}: it was served, or its token repeated")
        return ", ".join(f"{name} {answer[9:12].decode()}" for name, answer in answers.items())
    finally:
        server.kill()


def raw(server, text):
    with socket.create_connection(("127.0.0.1", int(server.url.rsplit(":", 1)[1])), timeout=5) as connection:
        connection.sendall(text.encode())
        connection.settimeout(1)
        got = b""
        try:
            while b"\r\n\r\n" not in got and (piece := connection.recv(65536)):
                got += piece
        except OSError:
            pass
        return got


def a8(row):
    """A token is revoked while its stream is open: the stream ends within 5 s, and those of others continue."""
    server, took = Guarded(row), []
    try:
        server.make("stays", "read,submit")
        wait_for(lambda: server.ask("GET", "/v1/info", headers={"Authorization": "Bearer " + server.tokens["stays"]}).status == 200, 10, "the tokens")
        job = server.ask("POST", "/v1/jobs", long_job(), {"Authorization": "Bearer " + server.tokens["stays"]}).json()["id"]
        for number in range(10 if row.long else 3):
            server.make(f"goes{number}", "read,submit")
            wait_for(lambda: server.ask("GET", "/v1/info", headers={"Authorization": "Bearer " + server.tokens[f'goes{number}']}).status == 200, 10, "the tokens")
            streams = {name: stream(server, job, server.tokens[name]) for name in ("stays", f"goes{number}")}
            if row.control != "no-revocation":
                server.change(f"goes{number}", "revoked = 1")
            begin = time.monotonic()
            ended = within(lambda: has_ended(streams[f"goes{number}"]), 5)
            row.expect(ended is not None, "a revoked token's stream continues")
            row.expect(not has_ended(streams["stays"]), "another token's stream has ended")
            took.append(time.monotonic() - begin)
            for connection in streams.values():
                connection.close()
        return f"{len(took)} streams, ended after {max(took):.1f} s at most"
    finally:
        server.kill()


def stream(server, job, token):
    connection = socket.create_connection(("127.0.0.1", int(server.url.rsplit(":", 1)[1])), timeout=5)
    connection.sendall(f"GET /v1/jobs/{job}/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    assert connection.recv(20).startswith(b"HTTP/1.1 200")
    return connection


def has_ended(connection):
    connection.settimeout(0.02)
    try:
        while connection.recv(65536):
            pass
        return True
    except TimeoutError:
        return False
    except OSError:
        return True


if __name__ == "__main__":
    sys.exit(main({"A1": a1, "A3": a3, "A5": a5, "A6": a6, "A7": a7, "A8": a8},
                  {"A1": ["ignore-scopes", "ignore-owners"], "A3": ["a-copy"], "A5": ["right-token"], "A6": ["many-addresses"], "A7": ["as-it-should-be"],
                   "A8": ["no-revocation"]}))
