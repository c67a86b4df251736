"""Jobs on ranks that MPICH starts give what one worker gives."""
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import BIN, SANITIZED  # noqa: E402
from cluster_test import FIT, SEARCH, SUMS, VALIDATION, cluster, outcome, running  # noqa: E402

LAUNCHER = shutil.which("mpiexec.mpich")


@unittest.skipIf(SANITIZED, "an MPI allocates before a sanitizer does")
@unittest.skipUnless(LAUNCHER and (BIN / "libkedge_mpich.so").exists(), "no MPICH here")
class Jobs(unittest.TestCase):
    def test_give_the_results_of_one_worker(self):
        jobs = {"validation": VALIDATION, "forest": FIT, "search": SEARCH, **SUMS}
        with running("--devices", "cpu") as server:
            server.device = "cpu"
            alone = {name: outcome(server, job) for name, job in jobs.items()}
        for ranks in (1, 2, 4):
            with cluster(ranks, "--cluster-launcher", "command", "--cluster-command", f"{LAUNCHER} -n {{ranks}} {{worker}}") as server:
                server.device = "cluster"
                for name, job in jobs.items():
                    with self.subTest(ranks=ranks, job=name):
                        self.assertEqual(outcome(server, job), alone[name])


if __name__ == "__main__":
    unittest.main()
