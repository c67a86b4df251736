"""kedged compared with nginx on loopback, one serving thread each, in alternate runs of wrk: L1 a small answer, L2 a stored job, L7 new connections.

python3 nginx.py [--bin DIR] [--pairs 5] [--seconds 4] [--only plain tls job connections]; needs wrk, nginx and openssl. What is
printed is the median of the pairs' ratios. Ends by itself."""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
GOALS = {"plain": 0.65, "tls": 0.60, "job": 0.40, "connections": 0.85}
BODY = '{"status":"ok"}'
CONFIGURATION = """daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 100000000; client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{
    listen 127.0.0.1:{plain}; listen 127.0.0.1:{tls} ssl;
    ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem; ssl_protocols TLSv1.2 TLSv1.3;
    location / {{ default_type application/json; return 200 '{body}'; }}
  }}
}}
"""
CYCLE = """local ids = {}
for line in io.lines("%s") do ids[#ids + 1] = line end
local at = 0
request = function() at = at %% #ids + 1; return wrk.format("GET", "/v1/jobs/" .. ids[at], {["Authorization"] = "Bearer %s"}) end
"""


def milliseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]


def wrk(url, seconds, *more):
    """Requests a second, and the latency at the 99th percentile in ms."""
    text = subprocess.run(["wrk", "-t1", "-c64", f"-d{seconds}s", "--latency", *more, url], capture_output=True, text=True, check=True).stdout
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    assert not bad, text
    return float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]), milliseconds(re.search(r"\n\s+99%\s+(\S+)", text)[1])


def certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True)


def pairs(name, ours, theirs, options, our_more=(), their_more=()):
    rows = []
    for _ in range(options.pairs):
        rows.append((wrk(theirs, options.seconds, *their_more), wrk(ours, options.seconds, *our_more)))
    ratio = statistics.median(o[0] / n[0] for n, o in rows)
    tail = statistics.median(o[1] / n[1] for n, o in rows)
    middle = [statistics.median(row[side][what] for row in rows) for side in (0, 1) for what in (0, 1)]
    print(f"  {name}: nginx {middle[0]:.0f}/s, p99 {middle[1]:.1f} ms; kedged {middle[2]:.0f}/s, p99 {middle[3]:.1f} ms; "
          f"ratio {ratio:.2f} (goal {GOALS[name]}), of p99 {tail:.2f}", flush=True)


def stored_jobs(kedged, folder, options, count=10_000):
    """A server that knows many jobs and needs a token, and the script that reads them one after the other."""
    server = kedged(folder, "--worker", options.bin / "kedge_fake_worker", env={"KEDGE_FAKE_HOW": "Succeed"})
    port = server.url.rsplit(":", 1)[1]
    ids = set()
    subprocess.run([options.bin / "kedge_load", "submit", port, "6", "64"], check=True, capture_output=True)
    until = time.monotonic() + 60
    while server.call("GET", "/v1/jobs?state=queued&pageSize=1").json()["jobs"] and time.monotonic() < until:
        time.sleep(0.2)   # otherwise the jobs run during the measurement, and what is read has not ended
    page = ""
    while len(ids) < count:
        listed = server.call("GET", f"/v1/jobs?pageSize=500{page}").json()
        ids |= {job["id"] for job in listed["jobs"]}
        if not listed.get("nextPageToken"):
            break
        page = f"&pageToken={listed['nextPageToken']}"
    server.stop(60)
    token = subprocess.run([options.bin / "kedged", "token", "create", "--data-dir", server.data_dir / "state", "--scopes", "admin"],
                          capture_output=True, text=True, check=True).stdout.strip()
    (folder / "ids").write_text("\n".join(sorted(ids)[:count]) + "\n")
    (folder / "cycle.lua").write_text(CYCLE % (folder / "ids", token))
    print(f"  {min(len(ids), count)} jobs", flush=True)
    return kedged(folder, "--worker", options.bin / "kedge_fake_worker", env={"KEDGE_FAKE_HOW": "Succeed"})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "dev" / "bin")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--only", nargs="*", choices=GOALS, default=list(GOALS))
    options = parser.parse_args()
    os.environ["KEDGE_BIN"] = str(options.bin)
    from kedge_server import Kedged, Process, free_port, wait_for
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.chmod(folder, 0o755)   # nginx's worker gives up root
        certificate(folder)
        plain, tls = free_port(), free_port()
        (folder / "nginx.conf").write_text(CONFIGURATION.format(folder=folder, plain=plain, tls=tls, body=BODY))
        nginx = Process(["nginx", "-c", folder / "nginx.conf", "-p", folder])
        server = Kedged(folder)
        try:
            wait_for(lambda: (folder / "nginx.pid").exists(), 10, "nginx")
            if "plain" in options.only:
                pairs("plain", server.url + "/livez", f"http://127.0.0.1:{plain}/", options)
            if "job" in options.only:
                server.stop()
                server = stored_jobs(Kedged, folder, options)
                pairs("job", server.url, f"http://127.0.0.1:{plain}/", options, our_more=["-s", folder / "cycle.lua"])
            server.stop()
            secure = Secure(Kedged, folder)
            server = secure.server
            if "tls" in options.only:
                pairs("tls", secure.url + "/livez", f"https://127.0.0.1:{tls}/", options)
            if "connections" in options.only:
                close = ["-H", "Connection: close"]
                pairs("connections", secure.url + "/livez", f"https://127.0.0.1:{tls}/", options, close, close)
        finally:
            server.kill()
            nginx.stop()


class Secure:
    """A server that speaks TLS; Kedged's own calls are plain, so it only waits for the port."""

    def __init__(self, kedged, folder):
        from kedge_server import BIN, Process, read_port, wait_for
        port_file = folder / "tls_port"
        self.server = Process([BIN / "kedged", "--listen", "127.0.0.1:0", "--port-file", port_file, "--data-dir", folder / "secure",
                               "--tls-cert", folder / "cert.pem", "--tls-key", folder / "key.pem"])
        self.url = f"https://127.0.0.1:{wait_for(lambda: read_port(port_file), 20, 'the port of kedged')}"


if __name__ == "__main__":
    main()
