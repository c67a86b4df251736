"""What a notebook shows of jobs, results, models and sessions. All text of the server is escaped."""
from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from ._http import JSON, Call, Transport
from .errors import KedgeError

SOON_S = 3.0     # for which an answer is waited for
MOST_ROWS = 20   # of a search's candidates
MOST_CHARACTERS = 200
MOST_COLUMNS = 20


def ask(transport: Transport, path: str) -> dict[str, Any] | None:
    """None where the server does not answer at once."""
    try:
        found: dict[str, Any] = transport.call(Call("GET", path, timeout=SOON_S, repeats=False)).json()
        return found
    except KedgeError:
        return None


def preview(dataset: Any) -> dict[str, Any] | None:
    """None for data that the server would have to fetch first."""
    from .session import connect
    if not {"builtin", "generate", "inline", "stored"} & set(dataset.reference):
        return None
    try:
        session = connect()
        body = json.dumps(dataset.document()).encode()
        call = Call("POST", "/v1/datasets/preview?rows=5", body, content_type=JSON, timeout=SOON_S, repeats=False)
        found: dict[str, Any] = session._transport.call(call).json()
        session.close()
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


def _bars(timings: dict[str, Any]) -> str:
    """Phases with their seconds; of folds, the sums."""
    phases = [(name, value) for name, value in timings.items() if isinstance(value, float) and name != "total" and value > 0]
    most = max((seconds for _, seconds in phases), default=0.0)
    rows = "".join(f'<tr><td>{_text(name)}</td><td>{seconds:.4g} s</td><td><meter max="1" value="{seconds / most:.3f}"></meter></td></tr>'
                   for name, seconds in phases)
    return f"<table><tbody>{rows}</tbody></table>" if phases else ""


def of_preview(found: dict[str, Any]) -> str:
    """Columns with their types, then the first rows."""
    columns = found.get("columns", [])
    names = [column.get("name", "?") for column in columns]
    titles = ("type", "role", "missing", "distinct")
    what = [(column.get("name", "?"), *(column.get(title, "") for title in titles)) for column in columns]
    first = [["" if cell is None else cell for cell in row] for row in found.get("firstRows", [])]
    notes = table([(note,) for note in found["notes"]], ("notes",)) if found.get("notes") else ""
    shown = table(what[:MOST_COLUMNS], ("column", *titles)) if len(names) <= MOST_COLUMNS else ""
    head = table([("data set", found.get("name", "")), ("rows", found.get("rows", "")), ("columns", found.get("nColumns", len(names)))])
    more = ["..."] if len(names) > MOST_COLUMNS else []
    return head + shown + table([row[:MOST_COLUMNS] + more for row in first], names[:MOST_COLUMNS] + more) + notes


def of_dataset(document: dict[str, Any], preview: dict[str, Any] | None) -> str:
    rows = [(name, ", ".join(map(str, value)) if isinstance(value, list) else value) for name, value in document.get("select", {}).items()]
    reference = document["dataset"]
    described = table([*(reference.items() if "inline" not in reference else [("inline", "")]), *rows])
    return described + (of_preview(preview) if preview else "")


def of_result(result: dict[str, Any]) -> str:
    parts = []
    if scores := result.get("scores"):
        rows = [(name, one.get("mean", ""), one.get("std", ""), ", ".join(_text(fold) for fold in one.get("perFold", []))) for name, one in scores.items()]
        parts.append(table(rows, ("scorer", "mean", "std", "folds")))
    if search := result.get("search"):
        parts.append(_of_search(search))
    if model := result.get("model"):
        parts.append(table([("model", model)]))
    if timings := result.get("timings"):
        parts.append(_bars(timings))
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
            ("targets", ", ".join(str(one["name"]) for one in info.get("targets", []))),
            ("bytes", info.get("bytes", ""))]
    return table([row for row in rows if row[1] not in ("", None)])


def of_session(url: str, info: dict[str, Any] | None, jobs: dict[str, Any] | None) -> str | None:
    """jobs: the newest ones."""
    if info is None:
        return None
    devices = [(one.get("id", "?"), one.get("missing") or f"{one.get('name', '?')}, {one.get('threads', '?')} threads") for one in info.get("devices", [])]
    newest = [(one.get("id", "?"), one.get("state", "?"), one.get("created", "")) for one in (jobs or {}).get("jobs", [])]
    shown = table([("server", url), ("version", info.get("version", "?")), *devices])
    return shown + (table(newest, ("newest jobs", "state", "created")) if newest else "")
