"""The kedge command: JSON from every command, files that are whole or absent, servers by name, completions and the manual."""
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from kedge_server import BIN, ROOT, Kedged, free_port, wait_for  # noqa: E402

FIT = {"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "StandardScaler"}, {"estimator": "LogisticRegression"}], "task": {"fit": {}}}
ROWS = "sepal_length_cm,sepal_width_cm,petal_length_cm,petal_width_cm\n5.1,3.5,1.4,0.2\n"


class User:
    """A user with an empty home."""

    def __init__(self, url=None, **environment):
        self.folder = tempfile.TemporaryDirectory()
        self.home = pathlib.Path(self.folder.name)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("KEDGE_", "XDG_"))}
        self.environment = {**kept, "HOME": str(self.home), **({"KEDGE_URL": url} if url else {}), **environment}

    def run(self, *arguments, code=0, **options):
        done = subprocess.run([BIN / "kedge", *map(str, arguments)], env=self.environment, cwd=self.home, capture_output=True, text=True, timeout=120,
                              **{"stdin": subprocess.DEVNULL, **options})
        if code is not None and done.returncode != code:
            raise AssertionError(f"kedge {' '.join(map(str, arguments))} ended with {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}")
        return done

    def documents(self, *arguments, code=0):
        return [json.loads(line) for line in self.run("--json", *arguments, code=code).stdout.splitlines()]

    def file(self, name, text):
        (self.home / name).write_text(text if isinstance(text, str) else json.dumps(text))
        return name

    def files(self):
        return sorted(p.name for p in self.home.iterdir() if p.is_file())


class WithServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data = tempfile.TemporaryDirectory()
        cls.server = Kedged(cls.data.name)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.data.cleanup()

    def setUp(self):
        self.user = User(self.server.url)
        self.addCleanup(self.user.folder.cleanup)

    def fitted(self):
        """The job and the model of a fit."""
        done = self.user.run("run", self.user.file("fit.json", FIT))
        return done.stderr.splitlines()[0], next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("model "))

    def predicted(self, model):
        spec = {"dataset": {"builtin": "iris"}, "task": {"predict": {"model": model}}}
        return self.user.run("submit", self.user.file("predict.json", spec)).stdout.strip()


class Json(WithServer):
    def test_every_command_prints_one_document_or_one_on_each_line(self):
        user = self.user
        job = user.documents("submit", user.file("fit.json", FIT))[0]["id"]
        model = user.documents("result", job)[0]["result"]["model"]
        predicted = self.predicted(model)
        user.run("result", predicted, code=None)
        user.file("rows.csv", ROWS)
        lines = user.documents("run", "fit.json")
        self.assertEqual(list(lines[0]), ["job"])
        self.assertEqual([line["id"] for line in lines[1:]], list(range(1, len(lines))))
        self.assertEqual(user.documents("watch", lines[0]["job"], "--after", 2)[0], lines[0])
        commands = {
            "jobs": [], "map": ["fit.json", "fit.json", "--in-flight", 2], "registry": [], "top": [], "ui": [job], "explain": [job], "artifacts": [predicted], "download": [predicted, "-o", "a.npy"], "models": [], "predict": [model, "rows.csv"], "estimators": [],
            "datasets": ["rows.csv", "--name", "rows", "--format", "csv"], "data": ["show", "iris"], "login": [self.server.url, "--name", "here"], "use": [], "logout": ["here"], "doctor": [],
            "offers": ["--provider", "local"], "machines": [], "help": ["run"], "version": [], "completion": ["bash"],
        }
        for command, arguments in commands.items():
            with self.subTest(command):
                done = user.run("--json", command, *arguments, code=None)
                self.assertEqual(done.returncode, 0, done.stderr)
                lines = done.stdout.splitlines()
                self.assertTrue(lines or command == "machines", "nothing was printed")
                for line in lines:
                    self.assertIsInstance(json.loads(line), dict, line)
        for arguments in (["data", "add", "rows.csv"], ["data", "ls"], ["data", "rm", "rows.csv"], ["datasets"], ["datasets", "--delete", "rows"], ["estimators", "PCA"], ["models", model], ["models", model, "--download", "m"],
                          ["models", "--upload", "m"], ["models", "rm", model], ["use", "--none"], ["--version"], ["jobs", "--help"]):
            with self.subTest(arguments):
                self.assertEqual(len(user.documents(*arguments)), 1)
        listed = set(re.findall(r"^  ([a-z]+)  ", user.run("help").stdout, re.M)) - {"kedge"}
        elsewhere = {"run", "submit", "watch", "result", "cancel", "up", "down", "host", "health"}   # above and below, in tests/provisioning, in containers
        self.assertEqual(listed, elsewhere | commands.keys(), "a new command prints JSON, too")

    def test_errors_are_one_document_with_the_servers_fields(self):
        user = self.user
        spec = user.file("bad.json", {**FIT, "pipeline": [{"estimator": "PCAA"}]})
        for arguments, code, expected in ((["run", spec], 1, "UNKNOWN_ESTIMATOR"), (["run", "missing.json"], 1, "NOT_FOUND"), (["result", "job_none"], 1, "NOT_FOUND"),
                                          (["rum"], 64, "UNKNOWN_FIELD"), (["jobs", "--limit", "0"], 64, "INVALID_VALUE"), (["models", "rm", "mdl_1"], 1, "NOT_FOUND"),
                                          (["--url", "http://127.0.0.1:1", "jobs"], 69, "CONNECTION"), (["--server", "lab", "jobs"], 1, "NOT_FOUND")):
            with self.subTest(arguments):
                done = user.run("--json", *arguments, code=code)
                problem = json.loads(done.stdout)
                self.assertEqual(problem["code"], expected)
                self.assertLessEqual({"type", "title", "status", "detail", "code"}, problem.keys())
                self.assertIn(problem["detail"].splitlines()[0], done.stderr)   # people read it, too
        self.assertEqual(json.loads(user.run("--json", "run", spec, code=1).stdout)["where"], "pipeline[0].estimator")


class Stories(WithServer):
    def explain(self, job):
        return json.loads(self.user.run("--json", "explain", job).stdout)

    def test_a_failure_names_its_step_in_each_place(self):
        spec = {"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "StandardScaler"}, {"estimator": "PowerTransformer", "params": {"method": "box-cox"}}], "task": {"fit": {}}}
        job = self.user.run("submit", self.user.file("failing.json", spec)).stdout.strip()
        why = "must be above 0 for method \"box-cox\""
        for command in ("watch", "result"):
            done = self.user.run(command, job, code=1)
            self.assertIn(why, done.stderr)
            self.assertIn("at pipeline[1]", done.stderr)
        self.assertIn(why, self.user.run("jobs").stdout)
        self.assertIn(f"{why} [BAD_DATA at pipeline[1]]", self.user.run("explain", job).stdout)
        line = next(line for line in (self.server.data_dir / "kedged.log").read_text().splitlines() if f"job job_id={job} state=failed" in line)
        self.assertIn("where=pipeline[1]", line)
        self.assertIn('error="PowerTransformer: column', line)

    def test_a_running_job_is_explained_so_far_with_the_attempt_that_was_lost(self):
        spec = {"dataset": {"builtin": "digits"}, "pipeline": [{"estimator": "RandomForestClassifier", "params": {"n_estimators": 100_000}}], "task": {"crossValidate": {"cv": 2}}}
        job = self.user.run("submit", self.user.file("long.json", spec)).stdout.strip()
        wait_for(lambda: self.server.job(job)["state"] == "running", 60, "the first attempt")
        for worker in self.server.workers():
            os.kill(worker, signal.SIGKILL)
        wait_for(lambda: self.server.job(job).get("attempts") == 2, 60, "the second attempt")
        story = self.explain(job)
        self.assertEqual([(a["device"], a["end"]) for a in story["attempts"]], [("cpu", "queued"), ("cpu", "")])
        self.assertIn("signal 9", story["attempts"][0]["error"]["message"])
        self.assertIn("lost: the worker on cpu died", self.user.run("explain", job).stdout)
        self.user.run("cancel", job)
        wait_for(lambda: self.server.job(job)["state"] == "cancelled", 60, "the cancel")
        self.assertIn("cancelled after", self.user.run("explain", job).stdout)

    def test_the_page_is_named_and_the_live_list_is_drawn_until_it_is_interrupted(self):
        job = self.user.run("submit", self.user.file("fit.json", FIT)).stdout.strip()
        self.assertEqual(self.user.run("ui", job, "--print").stdout.strip(), f"{self.server.url}/ui/#/jobs/{job}")
        self.assertIn(job, self.user.run("top").stdout, "once, where it is no terminal")
        master, slave = pty.openpty()
        live = subprocess.Popen([BIN / "kedge", "top"], stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "KEDGE_URL": self.server.url, "TERM": "xterm"})
        os.close(slave)
        seen = b""
        while seen.count(job.encode()) < 2:   # drawn again
            seen += os.read(master, 65536)
        live.send_signal(signal.SIGINT)
        self.assertEqual(live.wait(20), 0)
        os.close(master)

    def test_a_job_that_is_not_there(self):
        self.assertIn("there is no job 'job_none'", self.user.run("explain", "job_none", code=1).stderr)


class Files(WithServer):
    def test_a_fit_says_its_model_and_how_to_ask_it(self):
        user = self.user
        done = user.run("run", user.file("fit.json", FIT))
        self.assertRegex(done.stdout, r"model mdl_\w+  [\d.]+ kB")
        line = next(line for line in done.stderr.splitlines() if "kedge predict" in line)
        user.file("rows.csv", ROWS)
        self.assertIn("setosa", user.run(*line.split()[1:]).stdout)

    def test_a_prediction_says_its_artifact_and_how_to_fetch_it(self):
        job, model = self.fitted()
        predicted = self.predicted(model)
        done = self.user.run("watch", predicted)
        self.assertRegex(done.stdout, r"artifact predictions.npy  [\d.]+ kB")
        line = next(line for line in done.stderr.splitlines() if "kedge download" in line)
        self.user.run(*line.split()[1:])
        size = (self.user.home / "predictions.npy").stat().st_size
        self.assertEqual(self.user.documents("artifacts", predicted), [{"artifacts": [{"name": "predictions.npy", "bytes": size}]}])
        self.user.run("download", predicted, "-o", "b.npy")
        self.assertEqual((self.user.home / "b.npy").read_bytes(), (self.user.home / "predictions.npy").read_bytes())
        self.assertIn("predictions.npy", self.user.run("download", predicted, "other.npy", code=1).stderr)
        self.assertIn("has left no files", self.user.run("download", job, code=1).stderr)

    def test_a_download_that_fails_leaves_nothing(self):
        self.user.run("models", "mdl_none", "--download", "m.kedge", code=1)
        self.assertEqual(self.user.files(), [])
        self.user.file("m.kedge", "before")
        with BrokenServer() as url:
            done = self.user.run("--url", url, "models", "mdl_1", "--download", "m.kedge", code=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(self.user.files(), ["m.kedge"])
        self.assertEqual((self.user.home / "m.kedge").read_text(), "before")

    def test_models_say_their_sizes_and_are_removed_by_id(self):
        models = [self.fitted()[1] for _ in range(3)]
        self.user.run("models", models[0], "--download", "m.kedge")
        size = (self.user.home / "m.kedge").stat().st_size
        listed = self.user.run("models").stdout
        self.assertRegex(listed.splitlines()[-1], r"^\d+ models, [\d.]+ kB$")
        self.assertIn(f"{size / 1000:.1f} kB", next(line for line in listed.splitlines() if models[0] in line))
        done = self.user.run("models", "rm", models[0], "mdl_none", models[1], code=1)
        self.assertIn("mdl_none", done.stderr)
        left = [m["id"] for m in self.user.documents("models")[0]["models"]]
        self.assertEqual([m in left for m in models], [False, False, True])


class Ends(WithServer):
    def test_a_model_of_another_trainer_is_pushed_and_asked(self):
        models = pathlib.Path(__file__).resolve().parent.parent / "data" / "imported"
        model = self.user.run("models", "push", models / "xgb_regression.ubj").stdout.strip()
        self.assertIn("imported: TreeEnsemble", next(line for line in self.user.run("models").stdout.splitlines() if model in line))
        (self.user.home / "three.csv").write_text("a,b,c,d,e\n" + 3 * "1,2,3,4,5\n")
        self.assertEqual(len(set(self.user.run("predict", model, "three.csv").stdout.split()[1:])), 1)
        (self.user.home / "cut.ubj").write_bytes((models / "xgb_regression.ubj").read_bytes()[:300])
        self.assertIn("MODEL_CORRUPT", self.user.run("models", "push", "cut.ubj", code=1).stderr)
        self.user.run("models", "rm", model)

    def test_data_is_added_listed_shown_and_removed(self):
        user = self.user
        user.file("flowers.csv", "size,kind\n1,a\n2.5,b\n,a\n")
        added = user.run("data", "add", "flowers.csv").stdout
        self.assertIn("stored flowers.csv: 3 rows, 2 columns", added)
        self.assertRegex(added, r"kind +category +target")
        listed = user.run("data", "ls").stdout
        self.assertRegex(listed, r"name +format +size +rows +columns +created")
        self.assertRegex(listed, r"flowers.csv +csv +23 B +3 +2 +20")
        self.assertEqual(user.run("data", "show", "flowers.csv").stdout, added)
        self.assertEqual(user.run("data", "rm", "flowers.csv", "none", code=1).stdout, "")   # the first is gone
        self.assertNotIn("flowers.csv", user.run("data", "ls").stdout)
        self.assertIn("--name", user.run("data", "add", "-", code=1).stderr)
        self.assertIn("cannot be read", user.run("data", "add", "absent.csv", code=1).stderr)

    def test_a_name_is_never_another_ones_path(self):
        user = self.user
        user.file("x.csv", "size,kind\n1,a\n2,b\n")
        user.run("data", "add", "x.csv", "--name", "x")
        for name in ("x#y", "x?y", "../x", "..", ".", "a b", "a/b", "\u00fc"):
            self.assertIn("the name must have 1 to 64 letters, digits", user.run("data", "add", "x.csv", "--name", name, code=1).stderr, name)
            self.assertIn(f"there is no data set '{name}'", user.run("data", "rm", name, code=1).stderr, name)
            self.assertIn("NOT_FOUND", user.run("result", f"job_{name}", code=1).stderr, name)
        self.assertRegex(user.run("data", "ls").stdout, "(?m)^x +csv")
        user.run("data", "rm", "x")

    def test_a_cancelled_job_says_so(self):
        slow = {"dataset": {"builtin": "mnist_10k"}, "pipeline": [{"estimator": "RandomForestClassifier", "params": {"n_estimators": 5000}}], "task": {"crossValidate": {"cv": 5}}}
        job = self.user.run("submit", self.user.file("slow.json", slow)).stdout.strip()
        self.assertEqual([line["id"] for line in self.user.documents("cancel", job)], [job])
        done = self.user.run("result", job, code=2)
        self.assertRegex(done.stderr, rf"{job} was cancelled.*so it has no result")
        self.assertEqual(done.stdout, "")
        self.assertIn("left no files", self.user.run("artifacts", job, code=1).stderr)

    def test_a_failed_job_says_why(self):
        spec = {**FIT, "dataset": {"inline": {"csv": "a,b\n1,2\n3,4\n5,6\n7,8\n", "target": "b"}}, "task": {"crossValidate": {"cv": 5}}}
        job = self.user.run("submit", self.user.file("bad.json", spec)).stdout.strip()
        done = self.user.run("result", job, code=1)
        self.assertRegex(done.stderr, rf"{job} has failed: .+ \[[A-Z_]+\]")

    def test_jobs_show_data_pipeline_score_and_time(self):
        self.fitted()
        spec = {**FIT, "task": {"crossValidate": {"cv": 3}}}
        job = self.user.run("submit", self.user.file("cv.json", spec)).stdout.strip()
        mean = self.user.documents("result", job)[0]["result"]["scores"]["accuracy"]["mean"]
        listed = self.user.run("jobs").stdout
        self.assertRegex(listed, r"job_\w+ +succeeded +iris: StandardScaler \| LogisticRegression .* s ")
        self.assertRegex(next(line for line in listed.splitlines() if job in line), rf"accuracy {mean:.4f} +[\d.]+ s")


class ByName(WithServer):
    """login, use and logout against a server with tokens."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.token = self.new_token()
        self.locked = Kedged(folder.name)
        self.addCleanup(self.locked.stop)
        self.user = User()
        self.addCleanup(self.user.folder.cleanup)

    def new_token(self):
        done = subprocess.run([BIN / "kedged", "token", "create", "--data-dir", self.path / "state"], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def test_a_kept_server_gets_its_commands_with_its_token(self):
        user, token = self.user, self.user.file("token", self.token)
        self.assertIn("UNAUTHENTICATED", user.run("login", self.locked.url, code=1).stderr)
        self.assertFalse((user.home / ".config").exists())
        user.run("login", self.locked.url, "--name", "lab", "--token-file", token)
        user.run("login", self.server.url, "--name", "open")
        file = user.home / ".config" / "kedge" / "servers.json"
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        self.assertIn(self.server.url, user.run("doctor").stdout)
        self.assertIn(self.locked.url, user.run("use", "lab").stdout)
        self.assertIn(self.locked.url, user.run("doctor").stdout)
        self.assertIn(self.server.url, user.run("doctor", "--server", "open").stdout)
        self.assertNotIn(self.token, user.run("use").stdout + "".join(map(str, user.documents("use"))))
        self.assertIn("did you mean 'lab'?", user.run("use", "labb", code=1).stderr)
        user.run("logout", "lab")
        self.assertNotIn(self.token, file.read_text())
        self.assertEqual([row["current"] for row in user.documents("use")], [False])

    def type_at_login(self, text):
        """What login says on a terminal where a user types, its exit code, and whether the terminal shows letters again."""
        ours, theirs = os.openpty()
        with subprocess.Popen([BIN / "kedge", "login", self.locked.url, "--name", "typed"], env=self.user.environment, stdin=theirs, stdout=theirs,
                              stderr=theirs, start_new_session=True) as process:
            said = b""
            while b"Token" not in said:
                said += os.read(ours, 65536)
            os.write(ours, text)
            process.wait(60)
        shows_letters = bool(termios.tcgetattr(theirs)[3] & termios.ECHO)
        os.close(theirs)
        try:
            while piece := os.read(ours, 65536):
                said += piece
        except OSError:
            pass
        os.close(ours)
        return said.decode(), process.returncode, shows_letters

    def test_a_token_that_is_typed_is_not_shown(self):
        said, code, shows_letters = self.type_at_login(self.token.encode() + b"x\x7f\n")
        self.assertEqual((code, shows_letters), (0, True), said)
        self.assertNotIn(self.token[:12], said)
        self.assertIn(self.token, (self.user.home / ".config" / "kedge" / "servers.json").read_text())

    def test_ctrl_c_at_the_question_leaves_the_terminal_as_it_was(self):
        said, code, shows_letters = self.type_at_login(b"kdg_\x03")
        self.assertEqual((code, shows_letters), (1, True), said)
        self.assertIn("nothing was kept", said)
        self.assertFalse((self.user.home / ".config").exists())

    def test_an_explicit_address_wins_and_a_hidden_choice_is_said(self):
        user = self.user
        user.run("login", self.server.url, "--name", "open")
        user.environment["KEDGE_URL"] = self.locked.url
        done = user.run("use", "open")
        self.assertIn(f"KEDGE_URL is {self.locked.url}, so commands go there and not to open", done.stderr)
        self.assertIn("UNAUTHENTICATED", user.run("jobs", code=1).stderr)
        self.assertIn(self.server.url, user.run("doctor", "--url", self.server.url).stdout)

    def test_a_new_token_works_at_once(self):
        for _ in range(10):
            self.user.environment.update(KEDGE_URL=self.locked.url, KEDGE_TOKEN=self.new_token())
            self.user.run("jobs")


class Waiting(unittest.TestCase):
    def test_doctor_waits_for_a_server_that_starts_if_it_is_told_to(self):
        port = free_port()
        user = User(f"http://127.0.0.1:{port}")
        self.addCleanup(user.folder.cleanup)
        self.assertIn("is kedged running there?", user.run("doctor", "--wait", "0s", code=69).stderr)
        waiting = subprocess.Popen([BIN / "kedge", "doctor", "--wait", "60s"], env=user.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        time.sleep(6)   # any other command has given up by then
        self.assertIsNone(waiting.poll())
        with tempfile.TemporaryDirectory() as folder:
            server = subprocess.Popen([BIN / "kedged", "--listen", f"127.0.0.1:{port}", "--data-dir", folder], stderr=subprocess.DEVNULL)
            said, _ = waiting.communicate(timeout=120)
            server.terminate()
            server.wait(60)
        self.assertEqual(waiting.returncode, 0, said)
        self.assertIn("all well", said)


class Shells(unittest.TestCase):
    def setUp(self):
        self.user = User()
        self.addCleanup(self.user.folder.cleanup)

    def test_bash_completes_commands_options_choices_and_files(self):
        script = self.user.file("k.bash", self.user.run("completion", "bash").stdout)
        for words, expected in ((["kedge", "ru"], "run"), (["kedge", "models", "r"], "rm"), (["kedge", "jobs", "--state", "suc"], "succeeded"),
                                (["kedge", "predict", "m", "r", "--output", "dec"], "decision_function"), (["kedge", "--url", "x", "doc"], "doctor"),
                                (["kedge", "help", "vers"], "version"), (["kedge", "up", "--dry"], "--dry-run"), (["kedge", "run", "k.b"], "k.bash")):
            code = f'source {script}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kedge; echo "${{COMPREPLY[*]}}"'
            done = subprocess.run(["bash", "-c", code, "bash", *words], cwd=self.user.home, capture_output=True, text=True)
            self.assertEqual((done.stdout.strip(), done.stderr), (expected, ""), words)

    def test_the_other_shells_take_their_scripts(self):
        for shell in ("zsh", "fish"):
            script = self.user.file(f"k.{shell}", self.user.run("completion", shell).stdout)
            if shutil.which(shell):
                done = subprocess.run([shell, "-n", script], cwd=self.user.home, capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""), shell)

    def test_help_fits_the_terminal(self):
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
        environment = {**{k: v for k, v in self.user.environment.items() if k != "COLUMNS"}, "TERM": "xterm"}
        with subprocess.Popen([BIN / "kedge", "help", "up"], env=environment, stdin=subprocess.DEVNULL, stdout=theirs) as process:
            os.close(theirs)
            text = b""
            try:
                while piece := os.read(ours, 65536):
                    text += piece
            except OSError:   # how a pseudo-terminal ends
                pass
        os.close(ours)
        self.assertEqual(process.returncode, 0)
        lines = text.decode().replace("\r", "").splitlines()
        self.assertGreater(len(lines), 30)
        self.assertEqual([line for line in lines if len(line) > 70], [])

    @unittest.skipUnless(shutil.which("groff"), "groff is not there")
    def test_the_manual_is_one_that_troff_takes_without_a_warning(self):
        page = self.user.run("help", "--man").stdout
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = re.sub(".\x08", "", done.stdout)   # bold is a letter over itself
        missing = [word for word in ("EXIT STATUS", "KEDGE_URL", "kedge models rm", "servers.json") if word not in text]
        self.assertEqual(missing, [])


class BrokenServer:
    """Answers each request with the first bytes of a long body, then closes."""

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client:
                client.recv(65536)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 1000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
