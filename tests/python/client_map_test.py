"""session.map() and kedge.map_jobs(): many jobs, some at a time."""
import contextlib
import unittest

from client_case import WithServer, kedge


def job(n_neighbors):
    return {"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "KNeighborsClassifier", "params": {"n_neighbors": n_neighbors}}],
            "task": {"crossValidate": {"cv": 3}}}


class Map(WithServer):
    def test_yields_results_in_the_order_of_the_specs(self):
        alone = [self.session.run(job(k)).mean("accuracy") for k in range(1, 7)]
        mapped = list(self.session.map([job(k) for k in range(1, 7)], in_flight=3))
        self.assertEqual([m.spec for m in mapped], list(range(6)))
        self.assertEqual([m.result.mean("accuracy") for m in mapped], alone)
        self.assertTrue(all(m.session is self.session and m.error is None for m in mapped))

    def test_yields_every_job_once_as_they_come(self):
        mapped = list(self.session.map((job(k) for k in range(1, 9)), ordered=False))
        self.assertEqual(sorted(m.spec for m in mapped), list(range(8)))

    def test_a_failed_job_has_an_error_and_the_others_go_on(self):
        first, bad, last = self.session.map([job(1), job(500), job(2)])
        self.assertIsNone(bad.result)
        self.assertIn("500", str(bad.error))
        self.assertTrue(first.result and last.result)

    def test_a_second_run_with_the_key_gets_the_jobs_of_the_first(self):
        specs = [job(k) for k in range(1, 4)]
        first = [m.job.id for m in self.session.map(specs, key="python-map-test")]
        self.assertEqual([m.job.id for m in self.session.map(specs, key="python-map-test")], first)
        self.assertNotEqual([m.job.id for m in self.session.map(specs)], first)

    def test_leaving_the_loop_leaves_the_jobs(self):
        for mapped in self.session.map([job(k) for k in range(1, 9)], in_flight=2):
            break
        self.assertEqual(mapped.spec, 0)

    def test_no_jobs_are_no_results(self):
        self.assertEqual(list(self.session.map([])), [])

    def test_refuses_what_makes_no_sense(self):
        for arguments in ({"sessions": [], "specs": []}, {"sessions": [self.session], "specs": [], "in_flight": 0}):
            with self.assertRaises(kedge.KedgeError):
                kedge.map_jobs(**arguments)


class Away(WithServer):
    def test_a_server_that_is_away_leaves_its_jobs_to_the_others(self):
        with contextlib.closing(kedge.connect("http://127.0.0.1:1")) as away:
            mapped = list(kedge.map_jobs([away, self.session], [job(k) for k in range(1, 5)]))
        self.assertTrue(all(m.result and m.session is self.session for m in mapped))


if __name__ == "__main__":
    unittest.main(verbosity=2)
