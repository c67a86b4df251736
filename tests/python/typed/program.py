"""What a program with types does with the client: mypy --strict and pyright's strict mode must find nothing in it, and a fault in each line of wrong.py."""
from __future__ import annotations

import asyncio
from pathlib import Path

import kedge
import kedge.aio
import numpy as np
from kedge.estimators import KNeighborsClassifier, LogisticRegression, RandomForestClassifier, StandardScaler


def scores(session: kedge.Session) -> dict[str, float]:
    means: dict[str, float] = {}
    for name, model in {"forest": RandomForestClassifier(n_estimators=10), "neighbours": KNeighborsClassifier(n_neighbors=3)}.items():
        job: kedge.Job = session.submit(kedge.builtin("iris"), [StandardScaler(), model], kedge.cross_validate(cv=5, scoring=["accuracy"]))
        for event in job.events():
            print(event.kind, event[event.kind])
        result: kedge.Result = job.result(timeout=60)
        means[name] = result.mean("accuracy")
    return means


def search(session: kedge.Session) -> kedge.Model:
    grid = kedge.grid_search({"model__C": [0.1, 1.0]}, kedge.cross_validate(cv=3))
    found = session.submit(kedge.builtin("iris"), [("scale", StandardScaler()), ("model", LogisticRegression(C=10))], grid)
    return found.model()


def own_data(session: kedge.Session) -> int:
    X = np.random.default_rng(0).normal(size=(100, 3))
    y = (X[:, 0] > 0).astype(np.int64)
    data: kedge.Dataset = session.dataset(X, y, sample_weight=np.ones(100))
    stored = session.upload("churn", Path("churn.csv"), progress=lambda done, total: print(done, total))
    print(stored["name"])
    model: kedge.Model = session.submit(data.select(columns=["x0", "x1"]), [LogisticRegression()], kedge.fit()).model()
    answers = model.predict(X[:3])
    print(model.contributions(X[:3]).columns, model.contributions(X[:3], background=X[3:9]).expected)
    pairs: kedge.Interactions = model.interactions(X[:3])
    print(pairs.values.shape, pairs.columns)
    members = dict(model.members())
    return int(answers.shape[0]) + len(members)


async def together() -> None:
    session = kedge.aio.connect()
    job = await session.submit(kedge.builtin("iris"), ["GaussianNB"], kedge.cross_validate())
    result = await job
    print(result.mean("accuracy"))


def main() -> None:
    try:
        with kedge.server() as session:
            print(scores(session), search(session).id, own_data(session))
    except kedge.KedgeError as error:
        print(error.code, error.message, error.where)
    asyncio.run(together())


if __name__ == "__main__":
    main()
