"""Rows on answers: L1 lists of large jobs, L2 answers that are not read, L3 predictions that wait, L4 a stream beyond the quota, L5 web pages.

python3 answers.py ROW [--control NAME]"""
import concurrent.futures
import contextlib
import http.server
import json
import shutil
import socket
import sys
import threading

from rows import CannotRun, Process, main, rss_kib, small, spec, wait_for
from streams import established, port_of

MIB = 1 << 20


def l1(row):
    """Jobs with tables of some MiB inside, in a list: shown by size and digest; the answer and the memory do not grow with them. The same for a single job."""
    jobs, size = 10, 4 * MIB
    table = "a,b,y\n" + "1.25,2.5,0\n1.5,3.5,1\n" * (size // 22)
    server = row.fake()
    try:
        job = spec(dataset={"inline": {"csv": table, "target": "y"}}, steps=[("PCA", {"n_components": 1}), "GaussianNB"], task={"crossValidate": {"cv": 2}})
        ids = [server.submit(job) for _ in range(jobs)]
        for job_id in ids:
            server.wait(job_id)
        before = rss_kib(server.child.pid)
        answers = [server.call("GET", "/v1/jobs?pageSize=500") for _ in range(3)]
        grown = (rss_kib(server.child.pid) - before) / 1024
        row.expect(all(a.status == 200 and len(a.json()["jobs"]) == jobs for a in answers), "the list lacks jobs")
        row.expect(max(len(a.body) for a in answers) < MIB, f"the list has {len(answers[0].body) // MIB} MiB")
        row.expect_cost(grown < 16, f"{grown:.0f} MiB more memory for a list")
        told = answers[0].json()["jobs"][0]["spec"]["dataset"]["inline"]
        row.expect(told["csv"] == "" and told.get("bytes") == len(table) and len(told.get("sha256", "")) == 64, f"the list shows {str(told)[:200]}")
        alone = server.call("GET", f"/v1/jobs/{ids[0]}").body
        row.expect(len(alone) < MIB, f"a job alone has {len(alone) // MIB} MiB")
        again = server.call("POST", "/v1/jobs", server.job(ids[0])["spec"])
        row.expect(again.status == 400 and "left out" in again.json()["detail"], f"a spec without its data: {again.status} {again.body[:200]}")
        return f"{jobs} jobs of {size // MIB} MiB: a list of {len(answers[0].body) >> 10} KiB, {grown:.1f} MiB more memory"
    finally:
        server.kill()


def unread(port, request):
    """A connection that sends a request and takes as little of the answer as the system lets it."""
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    reader.connect(("127.0.0.1", port))
    reader.sendall(request.encode())
    return reader


def request_for(path, *fields):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n" + "".join(field + "\r\n" for field in fields) + "\r\n"


def l2(row):
    """Files, ranges and event streams that are not read hold some KiB each, for any size. They are whole when they are read."""
    server, held = row.kedged(None, "--devices", "cpu"), []
    try:
        model = server.run(spec(dataset={"builtin": "mnist_10k"}, steps=["StandardScaler"], task={"fit": {}}))["result"]["model"]
        done = server.run({"dataset": {"builtin": "mnist_10k"}, "task": {"transform": {"model": model}}, "pipeline": []})
        file, size = f"/v1/jobs/{done['id']}/artifacts/transformed.npy", done["result"]["artifacts"][0]["bytes"]
        row.expect(size > 16 * MIB, f"a file of {size} bytes shows little")
        grid = {"gaussiannb__var_smoothing": [1e-9 * (1 + number) for number in range(5000)]}
        search = server.run(spec(task={"gridSearch": {"paramGrid": grid, "crossValidate": {"cv": 2}, "refit": False}}))
        whole = server.call("GET", f"/v1/jobs/{search['id']}/events", headers={"Accept": "text/event-stream"}).body
        row.expect(len(whole) > MIB // 2, f"a stream of {len(whole)} bytes shows little")
        before, port = rss_kib(server.child.pid), port_of(server)
        for number in range(12):
            held.append(unread(port, request_for(file, *[f"Range: bytes=1-{size - 2}"] * (number % 2))))
        for _ in range(40):
            held.append(unread(port, request_for(f"/v1/jobs/{search['id']}/events", "Accept: text/event-stream")))
        heads = [wait_for(lambda reader=reader: reader.recv(20, socket.MSG_PEEK), 30, "the head of an answer") for reader in held]
        row.expect(all(b" 20" in head for head in heads), f"refused: {set(heads)}")
        wait_for(lambda: server.call("GET", "/livez").status == 200, 30, "an answer")
        grown = rss_kib(server.child.pid) - before
        row.expect_cost(grown / len(held) <= 256, f"{grown / len(held):.0f} KiB held for each of {len(held)}")
        row.expect(len(server.call("GET", file).body) == size, "a file that is read is not whole")
        part = server.call("GET", file, headers={"Range": f"bytes=1000-{size - 1001}"})
        row.expect(part.status == 206 and len(part.body) == size - 2000, f"a range: {part.status}, {len(part.body)} bytes")
        again = server.call("GET", f"/v1/jobs/{search['id']}/events", headers={"Accept": "text/event-stream"}).body
        row.expect(again == whole, "another stream at the same time differs")
        return f"{len(held)} answers of up to {size // MIB} MiB unread: {grown / len(held):.0f} KiB each"
    finally:
        for reader in held:
            reader.close()
        server.kill()


def l3(row):
    """Predictions wait for their worker: a cancel, reads and health are answered meanwhile. Beyond the bound they are refused with a time to come again."""
    gate, most = row.folder / "gate", 64
    server = row.fake(how="WaitForCancel", env={"KEDGE_FAKE_ASK_GATE": str(gate)})
    try:
        job = server.submit(small())
        model = server.call("POST", "/v1/models", b"a file", {"Content-Type": "application/vnd.kedge.model"}).json()["id"]
        many = 2 * most + 10   # the worker takes up to `most` that have come by its first look; as many wait
        with concurrent.futures.ThreadPoolExecutor(many) as pool:
            ask = lambda number: server.call("POST", f"/v1/models/{model}/predict", str(number).encode(), {"Content-Type": "text/csv", "Accept": "text/csv"})
            asked = [pool.submit(ask, number) for number in range(30)]
            try:
                wait_for(lambda: established(server) >= 30, 30, "thirty predictions")
                for method, path, good in (("POST", f"/v1/jobs/{job}/cancel", 202), ("GET", f"/v1/jobs/{job}", 200), ("GET", "/v1/models", 200), ("GET", "/readyz", 200)):
                    try:
                        status = server.call(method, path, timeout=10).status
                    except OSError as error:
                        status = repr(error)
                    row.expect(status == good, f"{method} {path} during predictions: {status}")
                    if row.found():
                        break
                row.expect(not any(one.done() for one in asked), "a prediction was answered already: they did not wait")
                if not row.found():
                    asked += [pool.submit(ask, number) for number in range(30, many)]
                    refused = wait_for(lambda: (lambda done: done if len(done) >= 9 else None)([one.result() for one in asked if one.done()]), 30, "refusals")
                    row.expect(all(r.status == 429 and int(r.headers["Retry-After"]) > 0 for r in refused), f"beyond the bound: {[r.status for r in refused]}")
            finally:
                gate.touch()
            answers = [one.result() for one in asked]
        good = [number for number, answer in enumerate(answers) if answer.status == 200]
        row.expect(all(answers[number].body == str(number).encode() for number in good), "answers are mixed up")
        row.expect(len(good) >= 30 and all(number in good for number in range(30)), f"{len(good)} of {len(answers)} were answered")
        return f"{len(answers)} predictions at once, {len(good)} answered, the others refused with a time to come again"
    finally:
        server.kill()


def l4(row):
    """A submit that wants a stream beyond the quota is refused and leaves no job."""
    server = row.fake("--tenant-streams", "1", how="WaitForCancel")
    try:
        job = server.submit(small())
        with contextlib.closing(unread(port_of(server), request_for(f"/v1/jobs/{job}/events", "Accept: text/event-stream"))) as stream:
            row.expect(stream.recv(100).startswith(b"HTTP/1.1 200"), "the first stream is refused")
            for number in range(5):
                refused = server.call("POST", "/v1/jobs", small(number), headers={"Accept": "text/event-stream"}, timeout=10)
                row.expect(refused.status == 429, f"the second stream: {refused.status}")
            jobs = server.call("GET", "/v1/jobs").json()["jobs"]
            row.expect([one["id"] for one in jobs] == [job], f"{len(jobs) - 1} refused jobs were stored")
        return "5 refused, no job more"
    finally:
        server.kill()


# What a page can send without a preflight request. Then it reports to its own server that it is done, and what it could read of the answers.
PAGE = """<!doctype html><script>
const to = "SERVER", plain = {method: "POST", mode: "no-cors"}, said = [];
async function send(path, options) {
  try { const reply = await fetch(to + path, options); said.push([path, reply.type, reply.status, await reply.text()]); }
  catch (error) { said.push([path, String(error)]); }
}
(async () => {
  const form = new FormData();
  form.append("spec", JSON.stringify({dataset: {stored: "data"}, pipeline: [{estimator: "GaussianNB"}], task: {fit: {}}}));
  form.append("data", new Blob(["a,b\\n1,x\\n2,y\\n"]), "a.csv");
  await send("/v1/jobs", {...plain, body: form});
  await send("/v1/jobs", {...plain, body: new Blob([JSON.stringify(JOB)])});
  await send("/v1/jobs", {...plain, body: JSON.stringify(JOB)});
  await send("/v1/jobs/VICTIM/cancel", plain);
  await send("/v1/models", {...plain, body: new Blob(["a model"])});
  await send("/v1/models", {...plain, body: "a model", headers: {"Content-Type": "text/plain"}});
  await send("/v1/jobs", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(JOB)});
  await send("/v1/jobs/VICTIM", {method: "DELETE"});
  await send("/v1/info", {});
  await fetch("/said", {method: "POST", body: JSON.stringify(said)});
})();
</script>"""


class Site:
    """Another site, with one page, which a browser opens."""

    def __init__(self, page):
        site = self
        self.said = None

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(page.encode() if self.path == "/" else b"")

            def do_POST(self):
                site.said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.origin = f"http://127.0.0.1:{self.server.server_port}"

    def visited(self, row, browser):
        """What its page says when a browser has opened it."""
        profile = row.folder / f"profile-{self.server.server_port}"
        process = Process([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
                           "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", f"--user-data-dir={profile}", "--remote-debugging-port=0",
                           self.origin + "/"], log=row.folder / "browser.log")
        try:
            return wait_for(lambda: self.said, 90, "the page in the browser")
        finally:
            process.stop()
            self.server.shutdown()


def page_for(server, victim):
    return PAGE.replace("SERVER", server.url).replace("JOB", json.dumps(small())).replace("VICTIM", victim)


def l5(row):
    """A page of another site in a real browser: it starts nothing, stops nothing, stores nothing and reads nothing, unless its origin is allowed."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if not browser:
        raise CannotRun("chromium is not installed")
    server = row.fake(how="WaitForCancel")
    try:
        victim = server.submit(small())
        wait_for(lambda: server.job(victim)["state"] == "running", 30, "the job")
        said = Site(page_for(server, victim)).visited(row, browser)
        jobs = server.call("GET", "/v1/jobs").json()["jobs"]
        row.expect([(job["id"], job["state"]) for job in jobs] == [(victim, "running")], f"there are {[(job['id'], job['state']) for job in jobs]}")
        row.expect(server.call("GET", "/v1/models").json()["models"] == [], "a model was stored")
        row.expect(all("version" not in str(one[-1]) for one in said if one[0] == "/v1/info"), f"the page reads {said[-1]}")
        row.expect(len(said) == 9, f"the page has sent {len(said)} requests")
    finally:
        server.kill()
    if row.control:
        return f"{len(said)} requests of a page"
    site = Site("")
    server = row.fake("--allowed-origin", site.origin, how="WaitForCancel")
    try:
        site.server.RequestHandlerClass.do_GET = serve(page_for(server, "none"))
        allowed = {tuple(one[:1]): one for one in site.visited(row, browser)}
        row.expect("version" in str(allowed[("/v1/info",)][-1]), f"an allowed page reads {allowed[('/v1/info',)]}")
        row.expect(len(server.call("GET", "/v1/jobs").json()["jobs"]) >= 1, "an allowed page submits nothing")
        return f"{len(said)} requests of a page did nothing; one that is allowed reads and submits"
    finally:
        server.kill()


def serve(page):
    def do_GET(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/html")
        handler.end_headers()
        handler.wfile.write(page.encode() if handler.path == "/" else b"")
    return do_GET


if __name__ == "__main__":
    sys.exit(main({"L1": l1, "L2": l2, "L3": l3, "L4": l4, "L5": l5},
                  {"L1": ["whole-lists"], "L2": ["unbounded-answers"], "L3": ["predict-on-threads"], "L4": ["count-streams-late"], "L5": ["trust-web-pages"]}))
