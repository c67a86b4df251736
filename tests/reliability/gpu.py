"""Rows on GPUs that fail, on the fake one of tests/support/fake_gpu.cc (the real kernels, emulated): G1 no memory at any allocation, G2 illegal
access, endless kernels and dead workers, G3 no device, no driver, a device that is lost, G4 the same bits again, G5 drivers of several versions.

python3 gpu.py ROW [--long] [--seed N] [--control NAME]"""
import os
import pathlib
import shutil
import sys
import time

from rows import BIN, FINAL, SANITIZED, CannotRun, main, spec, wait_for

FOLDER = BIN.parent / "fake_gpu"
LARGE = 64 << 20   # bytes that the device may have lost after a hundred failures
JOBS = {"forest": [("StandardScaler", {}), ("RandomForestClassifier", {"n_estimators": 3, "random_state": 0})], "neighbours": [("KNeighborsClassifier", {})],
        "logistic": [("PCA", {"n_components": 2}), ("LogisticRegression", {"max_iter": 20})], "means": [("KMeans", {"n_clusters": 3, "random_state": 0})]}


def worker():
    """kedge-worker in a folder whose parent has the fake plug-in in lib."""
    if not (FOLDER / "lib" / "libkedge_cuda.so").exists():
        raise CannotRun("the fake GPU was not built")
    (FOLDER / "bin").mkdir(exist_ok=True)
    place = FOLDER / "bin" / "kedge-worker"
    place.unlink(missing_ok=True)
    try:
        os.link(BIN / "kedge-worker", place)
    except OSError:   # another file system
        shutil.copy2(BIN / "kedge-worker", place)
    return place


class WithGpu:
    """A server with a fake GPU, whose next fault is written into a file."""

    def __init__(self, row, *arguments, how="", env=None):
        self.row, self.plan, self.bytes = row, row.folder / "plan", row.folder / "bytes"
        self.server = row.kedged(None, "--worker", worker(), *(arguments or ["--devices", "cuda:0"]),
                                 env={"KEDGE_FAKE_GPU": how, "KEDGE_FAKE_GPU_PLAN": str(self.plan), "KEDGE_FAKE_GPU_BYTES": str(self.bytes), **(env or {})})

    def next(self, what, number):
        part = self.plan.with_suffix(".part")
        part.write_text(f"{what} {number}\n")
        if self.row.control != "no-faults":
            part.replace(self.plan)

    def run(self, job, **more):
        return self.server.run({**job, "device": "cuda", **more}, 120)


def job(name, task=None):
    return spec(steps=JOBS[name], task=task or ({"fit": {}} if name == "means" else {"crossValidate": {"cv": 2}}))


def large_job(device):
    """On 5 MB of data, for which "auto" takes a GPU: it takes the CPU for less than 4 MiB."""
    blobs = {"generate": {"name": "make_blobs", "params": {"n_samples": 70000, "n_features": 8}}}
    return {"dataset": blobs, "pipeline": [{"estimator": "StandardScaler"}], "task": {"fit": {}}, "device": device}


def outcome(end):
    """Of a job, without what differs from run to run."""
    result = end.get("result") or {}
    return end["state"], (end.get("error") or {}).get("code"), result.get("scores"), result.get("fitted")


def g1(row):
    """Each allocation of a job fails, one after the other: OUT_OF_MEMORY, and the next job of the same worker is right; after many the memory is given back."""
    if row.control == "leak" and "address" in SANITIZED:
        raise CannotRun("under the address sanitizer the emulator's memory is the system's, and not counted")
    gpu = WithGpu(row, env={"KEDGE_FAKE_GPU_LEAK": "1"} if row.control == "leak" else None)
    try:
        failures, names = 0, list(JOBS) if row.long else ["neighbours", "logistic"]
        right = {name: outcome(gpu.run(job(name))) for name in names}
        start = gpu.server.workers()
        in_use = [bytes_in_use(gpu, names[0])]
        for name in names:
            row.expect(right[name][0] == "succeeded", f"{name}: {right[name]}")
            number, step = 1, 1
            while not row.found():
                gpu.next("oom", number)
                end = gpu.run(job(name))
                if gpu.plan.exists():   # there are fewer
                    break
                failures += 1
                row.expect(outcome(end)[:2] == ("failed", "OUT_OF_MEMORY"), f"{name}: allocation {number} failed, and the job ended {outcome(end)[:2]}")
                if number % 5 == 1:
                    row.expect(outcome(gpu.run(job(name))) == right[name], f"{name}: after a failure of allocation {number} the next job is another")
                number += step
                step = 1 if row.long or number < 30 else 7
            gpu.plan.unlink(missing_ok=True)
            row.expect(number > 10, f"{name}: only {number - 1} allocations")
            row.expect(gpu.server.workers() == start, "the worker was replaced")
            for pid in gpu.server.workers():   # it counts for a plan that will not come
                os.kill(pid, 9)
            wait_for(lambda: gpu.server.workers() and gpu.server.workers() != start, 10, "another worker")
            start = gpu.server.workers()
        for _ in range(100 if row.long else 30):
            gpu.next("oom", 20)
            gpu.run(job(names[0]))
        in_use.append(bytes_in_use(gpu, names[0]))
        row.expect(in_use[1] <= in_use[0], f"{in_use[0]} bytes were in use before, {in_use[1]} after it all")
        return f"{failures} allocations failed, of {', '.join(names)}; {in_use[0]} bytes in use before, {in_use[1]} after"
    finally:
        gpu.server.kill()


def bytes_in_use(gpu, name):
    """When a job makes its first allocation, after one that ran out of memory: by then the worker has freed what it keeps for the next job."""
    gpu.next("oom", 20)
    gpu.run(job(name))
    gpu.next("tell", 1)
    gpu.run(job(name))
    return int(gpu.bytes.read_text()) if gpu.bytes.exists() else -1


def g2(row):
    """The GPU or its worker dies in the middle of a kernel: another worker within 5 s, the job before its time is up, its neighbours right.
    A kernel that the GPU refuses to start ends its job alone: the worker is tried, and stays."""
    gpu, took = WithGpu(row, env={"NVIDIA_TF32_OVERRIDE": "1"}), {}
    try:
        right = outcome(gpu.run(job("logistic")))
        row.expect(right[0] == "succeeded", f"without a fault: {right}")
        fewer_bits = [pid for pid in gpu.server.workers() if b"TF32" in pathlib.Path(f"/proc/{pid}/environ").read_bytes()]
        row.expect(not fewer_bits, "a worker was asked to compute with fewer bits")
        for number in range(10 if row.long else 2):
            for what in ("illegal", "abort", "kill", "endless"):
                before = gpu.server.workers()
                gpu.next(what, 5 + 3 * number)
                victim = gpu.server.submit({**job("logistic"), "device": "cuda", **({"deadlines": {"run": 1}} if what == "endless" else {})})
                neighbour = gpu.server.submit({**job("logistic"), "device": "cuda"})
                begin = time.monotonic()
                end = gpu.server.wait(victim, 30)
                wait_for(lambda: gpu.server.workers() and gpu.server.workers() != before or row.control, 10, "another worker")
                took[what] = max(took.get(what, 0), time.monotonic() - begin)
                expected = {"illegal": ("failed", "INTERNAL"), "endless": ("failed", "DEADLINE_EXCEEDED")}.get(what)
                row.expect(outcome(end)[:2] == expected if expected else outcome(end) == right and end["attempts"] == 2, f"{what}: the job ended {outcome(end)[:2]} after {end['attempts']} attempts")
                row.expect_cost(took[what] <= 5, f"{what}: {took[what]:.1f} s")
                row.expect(outcome(gpu.server.wait(neighbour, 30)) == right, f"{what}: its neighbour is another")
                row.expect(gpu.server.call("GET", "/readyz").status == 200, f"{what}: the server is not ready")
        before = gpu.server.workers()
        gpu.next("refused", 5)
        end = gpu.run(job("logistic"))
        row.expect(outcome(end)[:2] == ("failed", "INTERNAL"), f"refused: the job ended {outcome(end)[:2]}")
        row.expect(outcome(gpu.run(job("logistic"))) == right, "refused: the next job is another")
        row.expect(gpu.server.workers() == before, "refused: the worker was replaced")
        return ", ".join(f"{what} {seconds:.1f} s" for what, seconds in took.items())
    finally:
        gpu.server.kill()


def g3(row):
    """No device, no driver, a device that cannot be opened or for which there is no code: a job that requests it gets the reason, and "auto" runs on the CPU."""
    said = {"none": "reports no device", "no-driver": "driver version is insufficient", "lost": "GPU is lost", "old": "its compute capability is 7.0"}
    for how, words in said.items():
        gpu = WithGpu(row, "--devices", "cpu,cuda:0", how="" if row.control == "no-faults" else how)
        try:
            def reason():
                answer = gpu.server.call("POST", "/v1/jobs", {**job("neighbours"), "device": "cuda"})
                if answer.status == 202:   # its device is not known yet, or was lost meanwhile
                    end = gpu.server.wait(answer.json()["id"], 60)
                    return (end.get("error") or {}).get("code"), (end.get("error") or {}).get("message", "")
                return answer.json()["code"], answer.json()["detail"]
            code, text = reason()
            row.expect(code == "DEVICE_UNAVAILABLE" and words in text, f"{how}: {code}: {text}")
            devices = {device["id"]: device.get("missing", "") for device in gpu.server.call("GET", "/v1/info").json()["devices"]}
            row.expect(any(words in missing for missing in devices.values()), f"{how}: /v1/info says {devices}")
            auto = gpu.server.run(large_job("auto"), 60)
            row.expect(auto["state"] == "succeeded" and auto["result"]["device"]["kind"] == "cpu", f"{how}: auto ended {outcome(auto)[:2]}")
        finally:
            gpu.server.kill()
    return f"{len(said)} ways to have no GPU, each reported, and the CPU used"


def g4(row):
    """The same job on the same device: the same scores and the same model, bit for bit, also by another worker."""
    gpu, models = WithGpu(row), set()
    try:
        runs = 20
        for number in range(runs):
            seed = number if row.control == "other-seeds" else 0
            steps = [("StandardScaler", {}), ("RandomForestClassifier", {"n_estimators": 3, "random_state": seed})]
            end = gpu.run(spec(steps=steps, task={"fit": {}}))
            model = gpu.server.call("GET", f"/v1/models/{end['result']['model']}/download").body
            scores = gpu.run(spec(steps=steps, task={"crossValidate": {"cv": 2}}))["result"]["scores"]
            models.add((model, str(scores)))
            if number % 5 == 4:
                before = gpu.server.workers()
                for pid in before:
                    os.kill(pid, 9)
                wait_for(lambda: gpu.server.workers() and gpu.server.workers() != before, 10, "another worker")
        row.expect(len(models) == 1, f"{len(models)} different answers")
        return f"{runs} runs, {runs // 5} workers, {len(models)} answer"
    finally:
        gpu.server.kill()


def g5(row):
    """The driver's version chooses between the backends of CUDA 13 and 12; one that is too old for both is a reason, and "auto" runs on the CPU."""
    drivers = {"580": ("13000", "fake GPU"), "535": ("12020", "fake GPU of CUDA 12"), "470": ("11040", "libkedge_cuda12.so needs driver 525")}
    for release, (version, words) in drivers.items():
        gpu = WithGpu(row, "--devices", "cpu,cuda:0", env={"LD_LIBRARY_PATH": str(FOLDER / "driver"),
                                                               "KEDGE_FAKE_DRIVER": "13000" if row.control == "no-faults" else version})
        try:
            end = gpu.server.run(large_job("auto"), 60)
            devices = gpu.server.call("GET", "/v1/info").json()["devices"]
            said = [device.get("missing") or device["name"] for device in devices if device["id"].startswith("cuda")]
            row.expect(any(text == words or (release == "470" and words in text) for text in said), f"{release}: /v1/info says {devices}")
            kind = (end.get("result") or {}).get("device", {}).get("kind")
            row.expect(end["state"] == "succeeded" and kind == ("cpu" if release == "470" else "cuda"), f"{release}: auto ended {outcome(end)[:2]} on {kind}")
            small = gpu.server.run({**job("neighbours"), "device": "auto"}, 60)
            row.expect(small["result"]["device"]["kind"] == "cpu", f"{release}: auto with a small data set was not on the CPU")
        finally:
            gpu.server.kill()
    return f"{len(drivers)} drivers"


if __name__ == "__main__":
    sys.exit(main({"G1": g1, "G2": g2, "G3": g3, "G4": g4, "G5": g5}, {"G1": ["leak", "no-faults"], "G2": ["no-faults"], "G3": ["no-faults"], "G4": ["other-seeds"], "G5": ["no-faults"]}))
