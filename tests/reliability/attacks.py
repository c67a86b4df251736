"""Rows of tools made to find fault: H1 slowhttptest, T1 testssl.

python3 attacks.py ROW [--long] [--control NAME]"""
import json
import subprocess
import sys
import time

from rows import BIN, Kedged, Process, main, read_port, tool, wait_for
from streams import established

# Seconds that a client has for its header block, or until its body must come; until the last one is disconnected; and that the attack may take to begin.
DEADLINE, AFTER, BEGIN = 10, 10, 15


def h1(row):
    """Slow header blocks and bodies, in the long form ranges and readers too, all at once: the service answers throughout, and a client that is too slow is
    disconnected soon after its deadline. Ranges and readers have their answers by then, and wait for the end of the connection's 60 s."""
    program, each = tool("slowhttptest"), 1000 if row.long else 200
    server = patient(row) if row.control else row.fake()
    kinds = {"-H": "/v1/jobs", "-B": "/v1/jobs", **({"-R": "/openapi.json", "-X": "/openapi.json"} if row.long else {})}
    attackers = [Process([program, kind, "-c", each, "-r", each, "-i", 5, "-l", 60, "-p", 3, "-u", server.url + path])
                 for kind, path in kinds.items()]
    slowest, most = 0, 0
    try:
        begin, now, left, stay = time.monotonic(), 0, 0, 2 * each if row.long else 10
        while now < DEADLINE or (left > stay and now < DEADLINE + AFTER + BEGIN):
            status, took = asked(server)
            row.expect(status == 200, f"/livez answers {status} after {now:.0f} s of the attack")
            left, now = established(server), time.monotonic() - begin
            slowest, most = max(slowest, took), max(most, left)
            time.sleep(0.1)
        row.expect(most >= each, f"only {most} connections were open: that was no attack")
        row.expect(left <= stay, f"{left} connections are open after {now:.0f} s")
        return f"{len(kinds)} x {each} slow clients, {most} at once, {left} after {now:.0f} s; /livez took {slowest * 1e3:.0f} ms at most"
    finally:
        for attacker in attackers:
            attacker.kill()
        server.kill()


PATIENT = """import http.server
http.server.ThreadingHTTPServer.request_queue_size = 1000
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    do_POST = do_GET
    def log_message(self, *arguments):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


def patient(row):
    """In the server's place, one that waits for every client."""
    log = row.folder / "patient.log"
    server = Kedged.__new__(Kedged)
    server.data_dir = row.folder
    Process.__init__(server, [sys.executable, "-c", PATIENT], log=log)
    server.url = f"http://127.0.0.1:{wait_for(lambda: read_port(log), 20, 'the port')}"
    return server


def asked(server):
    begin = time.monotonic()
    try:
        status = server.call("GET", "/livez", timeout=5).status
    except OSError as error:
        status = repr(error)
    return status, time.monotonic() - begin


# What testssl finds in any certificate that its owner signed himself.
OF_THE_CERTIFICATE = ("cert_", "OCSP", "DNS_CAA", "overall_grade", "final_score", "grade_cap", "scanTime", "scanProblem")


def t1(row):
    """testssl finds nothing of weight but that the certificate is of no known authority."""
    program = tool("testssl")
    served = plain_openssl(row) if row.control else kedged(row)
    try:
        report = row.folder / "report.json"
        done = subprocess.run([program, "--quiet", "--color", "0", "--warnings", "off", "--ip", "one", "--jsonfile", report, f"127.0.0.1:{served.port}"],
                              capture_output=True, text=True, timeout=800, stdin=subprocess.DEVNULL)
        findings = json.loads(report.read_text())
        row.expect(len(findings) > 50, f"testssl says little: {done.stdout[-500:]}")
        for finding in findings:
            if "check failed because of connect problem" in finding["finding"]:   # not tried; the same by hand succeeds
                continue
            grave = finding["severity"] not in ("OK", "INFO", "DEBUG") and not finding["id"].startswith(OF_THE_CERTIFICATE)
            row.expect(not grave, f"{finding['severity']}: {finding['id']}: {finding['finding']}")
        return f"{len(findings)} findings, those of the certificate aside {len(row.problems)} of weight"
    finally:
        served.kill()


def kedged(row):
    data, file = row.folder / "state", row.folder / "port"
    subprocess.run([BIN / "kedged", "init", "--data-dir", data], capture_output=True, check=True)
    process = Process([BIN / "kedged", "--listen", "127.0.0.1:0", "--port-file", file, "--data-dir", data, "--worker", BIN / "kedge_fake_worker"],
                      env={"KEDGE_FAKE_HOW": "Succeed"}, log=row.folder / "kedged.log")
    process.port = wait_for(lambda: read_port(file), 90, "the port of kedged")
    return process


def plain_openssl(row):
    """OpenSSL as it comes, at its lowest level, in the place of the server."""
    key, certificate = row.folder / "key.pem", row.folder / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate],
                   capture_output=True, check=True)
    log = row.folder / "openssl.log"
    process = Process(["openssl", "s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", certificate, "-www", "-cipher", "ALL:@SECLEVEL=0"], log=log)
    process.port = wait_for(lambda: "ACCEPT" in log.read_text() and log.read_text().split(":")[-1].split()[0], 20, "openssl")
    return process


if __name__ == "__main__":
    sys.exit(main({"H1": h1, "T1": t1}, {"H1": ["patient"], "T1": ["plain-openssl"]}))
