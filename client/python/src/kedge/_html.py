"""What a notebook shows of jobs, results, models and sessions. All text of the server is escaped."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from ._http import Call, Transport
from .errors import KedgeError

SOON_S = 3.0     # for which an answer is waited for
MOST_ROWS = 20   # of a search's candidates
MOST_CHARACTERS = 200


def ask(transport: Transport, path: str) -> dict[str, Any] | None:
    """None where the server does not answer at once."""
    try:
        found: dict[str, Any] = transport.call(Call("GET", path, timeout=SOON_S, repeats=False)).json()
        return found
    except KedgeError:
        return None


def _text(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "...")


def table(rows: Iterable[Sequence[Any]], titles: Sequence[str] = ()) -> str:
    head = f"<thead><tr>{''.join(f'<th>{_text(title)}</th>' for title in titles)}</tr></thead>" if titles else ""
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _steps(pipeline: Any) -> str:
    return " → ".join(str(step.get("estimator", "?")) for step in pipeline or [] if isinstance(step, dict))


def of_job(id: str, status: dict[str, Any] | None) -> str | None:
    if status is None:
        return None
    spec = status.get("spec", {})
    error = status.get("error") or {}
    rows = [("job", id), ("state", status.get("state", "?")), ("task", ", ".join(spec.get("task", {}))), ("pipeline", _steps(spec.get("pipeline"))),
            ("error", f"{error.get('code', '')}: {error.get('message', '')}" if error else "")]
    shown = table([row for row in rows if row[1]])
    return shown + (of_result(status["result"]) if status.get("result") else "")


def of_result(result: dict[str, Any]) -> str:
    parts = []
    if scores := result.get("scores"):
        rows = [(name, one.get("mean", ""), one.get("std", ""), ", ".join(_text(fold) for fold in one.get("perFold", []))) for name, one in scores.items()]
        parts.append(table(rows, ("scorer", "mean", "std", "folds")))
    if search := result.get("search"):
        parts.append(_of_search(search))
    if model := result.get("model"):
        parts.append(table([("model", model)]))
    if warnings := result.get("warnings"):
        parts.append(table([(warning,) for warning in warnings], ("warnings",)))
    return "".join(parts) or table([(name, value) for name, value in result.items() if isinstance(value, (str, int, float))])


def _of_search(search: dict[str, Any]) -> str:
    """The best candidates first."""
    found = search.get("cvResults", {})
    params = found.get("params", [])
    ranks, mean = (next((list(values) for name, values in found.items() if name.startswith(prefix)), []) for prefix in ("rank_test_", "mean_test_"))
    order = sorted(range(min(len(params), len(ranks), len(mean))), key=lambda i: ranks[i])
    rows = [(ranks[i], mean[i], ", ".join(f"{name}={value}" for name, value in params[i].items())) for i in order[:MOST_ROWS]]
    more = f"<p>and {len(order) - MOST_ROWS} more</p>" if len(order) > MOST_ROWS else ""
    return table(rows, ("rank", "mean score", "parameters")) + more


def of_model(id: str, info: dict[str, Any] | None) -> str | None:
    if info is None:
        return None
    rows = [("model", id), ("pipeline", _steps(info.get("pipeline"))), ("classes", ", ".join(str(one) for one in info.get("classes", []))),
            ("bytes", info.get("bytes", ""))]
    return table([row for row in rows if row[1] not in ("", None)])


def of_session(url: str, info: dict[str, Any] | None) -> str | None:
    if info is None:
        return None
    devices = ", ".join(str(one.get("name", "?")) if isinstance(one, dict) else str(one) for one in info.get("devices", []))
    return table([("server", url), ("version", info.get("version", "?")), ("devices", devices)])
