"""kill -9 of the server, of a worker and of the client at random moments of 20 jobs: each ends with the right result, once.

python3 kill_battery_test.py [--seed N]; the seed is printed, so that a failure can be run again."""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import BIN, Kedged, spec  # noqa: E402

JOBS = 20
SEED = int(os.environ.get("KEDGE_SEED", "1"))


def job_spec(number):
    return spec(dataset={"builtin": "digits"},
                steps=["StandardScaler", ("RandomForestClassifier", {"n_estimators": 60, "random_state": number})])


class KillBattery(unittest.TestCase):
    def test_every_job_ends_with_the_right_result_once(self):
        print(f"seed {SEED}", file=sys.stderr)
        dice = random.Random(SEED)
        with tempfile.TemporaryDirectory() as folder:
            server = Kedged(folder)
            clients = []
            try:
                expected = {n: server.run(job_spec(n), 60)["result"]["scores"] for n in range(JOBS)}
                file = pathlib.Path(folder) / "spec.json"
                ids = []
                for number in range(JOBS):
                    file.write_text(json.dumps(job_spec(number)))
                    client = subprocess.Popen([BIN / "kedge", "run", file], env={**os.environ, "KEDGE_URL": server.url},
                                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                    clients.append(client)
                    ids.append(client.stderr.readline().strip())   # printed once the job is on disk
                    self.assertRegex(ids[-1], r"^job_")
                    time.sleep(dice.uniform(0, 0.1))   # the random moment
                    kind = dice.choice(["server", "worker", "client"])
                    if kind == "client":
                        client.kill()
                    elif kind == "worker":
                        for pid in server.workers():
                            try:
                                os.kill(pid, signal.SIGKILL)
                            except ProcessLookupError:
                                pass
                    else:
                        server.kill()
                        server.start()
                    job = server.wait(ids[-1], 120)   # one kill a job: a second lost worker would rightly fail it
                    self.assertEqual(job["state"], "succeeded", job)
                    self.assertEqual(job["result"]["scores"], expected[number])
                for job_id in ids:
                    self.assert_one_result(server, job_id)
            finally:
                for client in clients:
                    client.kill()
                    client.wait()
                    client.stderr.close()
                server.stop()

    def assert_one_result(self, server, job_id):
        lines = server.call("GET", f"/v1/jobs/{job_id}/events", headers={"Accept": "application/x-ndjson"}).body.splitlines()
        events = [json.loads(line) for line in lines]
        self.assertEqual([e["id"] for e in events], list(range(1, len(events) + 1)))
        self.assertEqual(sum("result" in e for e in events), 1)
        finals = [e for e in events if "state" in e and e["state"]["state"] in ("succeeded", "failed", "cancelled")]
        self.assertEqual(len(finals), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
