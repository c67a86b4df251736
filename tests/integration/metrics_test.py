#!/usr/bin/env python3
"""/metrics of a real server: well formed, true, bounded; and every series that dashboard and alerts name is there."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import exposition
from kedge_server import BIN, ROOT, Kedged, spec, wait_for

DOCKER = ROOT / "docker"
FAKE_NVML = BIN.parent / "tests" / "support" / "libkedge_fake_nvml.so"
PROMTOOL = os.environ.get("KEDGE_PROMTOOL") or shutil.which("promtool") or shutil.which(str(ROOT / "build" / "contract" / "bin" / "promtool"))
MOST_SERIES = 2000   # of a server however busy


def scrape(server):
    reply = server.call("GET", "/metrics")
    assert reply.status == 200 and reply.headers["Content-Type"].startswith("text/plain; version=0.0.4"), reply.headers
    return reply.body.decode()


def check_counts(server):
    """What the counters say is what was done."""
    before = exposition.check(scrape(server))
    assert server.run(spec())["state"] == "succeeded"
    assert server.run(spec(dataset={"inline": {"csv": "a,b\n1,x\n", "target": "b"}}))["state"] == "failed"
    families = exposition.check(scrape(server))
    grown = lambda name, **labels: exposition.value(families, name, **labels) - exposition.value(before, name, **labels)
    assert grown("kedge_jobs_submitted_total") == 2
    assert grown("kedge_jobs_finished_total", outcome="succeeded") == 1
    assert grown("kedge_jobs_finished_total", outcome="failed") == 1
    assert grown("kedge_http_requests_total", route="/v1/jobs", method="POST", code="202") == 2
    assert grown("kedge_dataset_cache_misses_total") + grown("kedge_dataset_cache_hits_total") == 2
    assert grown("kedge_device_busy_seconds_total", device="cpu") > 0
    count = lambda name, **labels: sum(v for n, l, v in families[name].samples if n == name + "_count" and labels.items() <= l.items())
    assert count("kedge_job_run_seconds", stage="fit") == 1 and count("kedge_store_commit_duration_seconds") > 2
    assert exposition.value(families, "kedge_ready") == 1 and exposition.value(families, "kedge_data_dir_free_bytes") > 0
    assert exposition.value(families, "kedge_dataset_cache_bytes") > 0
    server.run(spec())
    assert exposition.value(exposition.check(scrape(server)), "kedge_dataset_cache_hits_total") > exposition.value(families, "kedge_dataset_cache_hits_total")


def check_worker_death(server):
    before = exposition.value(exposition.check(scrape(server)), "kedge_worker_restarts_total", reason="signal")
    for pid in server.workers():
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: exposition.value(exposition.check(scrape(server)), "kedge_worker_restarts_total", reason="signal") > before, 20, "a worker's death")
    wait_for(lambda: exposition.value(exposition.check(scrape(server)), "kedge_workers", state="idle") == 1, 20, "its successor")


def check_bounds(server):
    """Nothing that a client makes up becomes a series."""
    for i in range(300):
        server.call("GET", f"/v1/jobs/job_{i}")
        server.call("GET", f"/no/such/path/{i}")
    families = exposition.check(scrape(server))
    series = sum(len(family.samples) for family in families.values())
    assert series < MOST_SERIES, series
    text = scrape(server)
    assert "job_17" not in text and "/no/such" not in text


def named_series():
    """(where, name) of each series in an expression of the dashboard and of the rules."""
    dashboard = json.loads((DOCKER / "grafana" / "dashboards" / "kedge.json").read_text())
    expressions = [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel["targets"]]
    rules = (DOCKER / "prometheus" / "rules.yaml").read_text()
    recorded = set(re.findall(r"record: (\S+)", rules))
    blocks = re.findall(r"expr: (?:>\n((?:          .*\n)+)|(.*)\n)", rules)
    assert len(blocks) == rules.count("expr:"), "an expression was not read"
    expressions += [("rules.yaml", long or short) for long, short in blocks]
    for where, expression in expressions:
        names = re.findall(r"\b(?:kedge|process)[a-z0-9_:]+", re.sub(r'"[^"]*"', "", expression))
        assert names or "up{" in expression, (where, expression)
        yield from ((where, name) for name in names if name not in recorded)


def check_named_series(families):
    known = set()
    for family in families.values():
        known |= {family.name + s for s in ("_bucket", "_sum", "_count")} if family.type == "histogram" else {family.name}
    named = list(named_series())
    assert len(named) > 40, named
    for where, name in named:
        assert name in known, f"{where} names {name}, which /metrics does not have"
    unseen = {n for n in families if n.startswith("kedge_")} - {re.sub("_(bucket|sum|count)$", "", name) for _, name in named}
    assert not unseen, f"in neither dashboard nor rules: {sorted(unseen)}"


def check_promtool(text):
    if not PROMTOOL:
        print("skipped: promtool is not there (./run.sh contract fetches it), so only the checks in Python have run")
        return
    lint = subprocess.run([PROMTOOL, "check", "metrics"], input=text, text=True, capture_output=True)
    assert lint.returncode == 0 and not lint.stdout and not lint.stderr, lint
    broken = subprocess.run([PROMTOOL, "check", "metrics"], input="# TYPE a_ms counter\na_ms 1\n", text=True, capture_output=True)
    assert broken.returncode != 0, "promtool accepts everything"
    for arguments in (["check", "rules", "rules.yaml"], ["test", "rules", "rules_test.yaml"]):
        run = subprocess.run([PROMTOOL, *arguments], cwd=DOCKER / "prometheus", text=True, capture_output=True)
        assert run.returncode == 0, run.stdout + run.stderr


def check_alerts_are_tested():
    rules, tests = ((DOCKER / "prometheus" / name).read_text() for name in ("rules.yaml", "rules_test.yaml"))
    for alert in re.findall(r"alert: (\S+)", rules):
        assert len(re.findall(rf"alertname: {alert}\b", tests)) >= 2, f"{alert} has no test in which it fires, or none in which it is quiet"


def main():
    with tempfile.TemporaryDirectory() as folder:
        server = Kedged(folder, "--devices", "cpu", "--nvml", FAKE_NVML)
        try:
            check_counts(server)
            check_worker_death(server)
            check_bounds(server)
            text = scrape(server)
            check_named_series(exposition.check(text))
            check_promtool(text)
            check_alerts_are_tested()
        finally:
            server.stop()
    print("ok")


if __name__ == "__main__":
    main()
