"""How far a job is, while it runs: one line that changes, in a notebook or on a terminal."""
from __future__ import annotations

import sys
import time
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .job import Event, Job, Result

PAUSE_S = 0.2   # between two changes of the line


class Stage:
    """What the events have said so far."""

    def __init__(self) -> None:
        self.state, self.of = "submitted", ""
        self.share: float | None = None
        self.scores: dict[str, list[float]] = {}

    def take(self, event: Event) -> None:
        found: dict[str, Any] = event[event.kind]
        if event.kind == "state":
            self.state, self.of, self.share = found["state"], "", None
        elif event.kind == "progress":
            total = found.get("total") or 0
            self.of = f"{found['done']} of {total} {found['unit']}" if total else f"{found['done']} {found['unit']}"
            self.share = found["done"] / total if total else None
        elif event.kind == "metric" and isinstance(found["value"], (int, float)):
            self.scores.setdefault(found["name"], []).append(found["value"])

    def line(self, seconds: float) -> str:
        means = [f"{name} {sum(values) / len(values):.4f}" for name, values in self.scores.items()]
        return ", ".join([f"{self.state} {seconds:.1f} s", *([self.of] if self.of else []), *means])


def watch(job: Job) -> Result:
    show = _notebook(job) or _terminal(job)
    stage, begin, shown = Stage(), time.monotonic(), 0.0
    for event in job.events():
        if event.kind in ("state", "progress", "metric"):
            stage.take(event)
        now = time.monotonic()
        if show and (event.is_last or now - shown >= PAUSE_S):
            show(stage, now - begin)
            shown = now
    return job.result()


def _terminal(job: Job) -> Callable[[Stage, float], None] | None:
    if not sys.stderr.isatty():
        return None

    def show(stage: Stage, seconds: float) -> None:
        end = "\n" if stage.state in ("succeeded", "failed", "cancelled") else ""
        print(f"\r\x1b[K{job.id}: {stage.line(seconds)}", end=end, file=sys.stderr, flush=True)
    return show


def _notebook(job: Job) -> Callable[[Stage, float], None] | None:
    """Plain HTML, which each front end shows and changes in place."""
    try:
        from IPython import get_ipython  # type: ignore[import-not-found,unused-ignore]
        from IPython.display import HTML, display  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return None
    shell = get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    handle: list[Any] = []

    def show(stage: Stage, seconds: float) -> None:
        share = 1.0 if stage.state == "succeeded" else stage.share
        bar = f'<progress max="1"{"" if share is None else f" value={share:.3f}"}></progress>'
        picture = HTML(f"<div>{bar} {escape(job.id)}: {escape(stage.line(seconds))}</div>")   # type: ignore[no-untyped-call,unused-ignore]
        if handle:
            handle[0].update(picture)
        else:
            handle.append(display(picture, display_id=True))   # type: ignore[no-untyped-call,unused-ignore]
    return show
