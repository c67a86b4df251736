"""A store with as many jobs as a test wants."""
import contextlib
import sqlite3


def multiply(file, job, n):
    """Copies of a job, in a new file: the server's own has checksums, which sqlite3 does not write."""
    with contextlib.closing(sqlite3.connect(file)) as store:
        script = "\n".join(store.iterdump())
        version = store.execute("PRAGMA user_version").fetchone()[0]
    for old in file.parent.glob("kedge.db*"):
        old.unlink()
    with contextlib.closing(sqlite3.connect(file)) as store:
        store.executescript(script)
        store.execute(f"PRAGMA user_version = {version}")
        for table, key in (("jobs", "id"), ("specs", "job"), ("results", "job")):
            columns = [row[1] for row in store.execute(f"PRAGMA table_info({table})")]
            for i in range(n):
                copy = job[:-6] + "".join("0123456789ABCDEFGHJKMNPQRSTVWXYZ"[i // 32 ** (5 - k) % 32] for k in range(6))
                if copy != job:
                    store.execute(f"INSERT INTO {table} SELECT {', '.join('?' if c == key else c for c in columns)} FROM {table} WHERE {key} = ?", [copy, job])
        store.commit()
