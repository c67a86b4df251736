#!/usr/bin/env python3
"""Writes src/kedge/estimators.py from a server's catalogue: python3 client/python/generate.py http://127.0.0.1:5334 > client/python/src/kedge/estimators.py"""
import sys
import textwrap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "src"))
import kedge  # noqa: E402

HEAD = '''"""The estimators of the server, with scikit-learn's names, parameters and defaults. Written by client/python/generate.py from the catalogue."""
from __future__ import annotations

from typing import Any

from ._boosting_names import of_peers
from .steps import Estimator

# What is not set has the server's default.
UNSET: Any = type("Unset", (), {"__repr__": lambda self: "UNSET"})()


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in ("self", "__class__") and value is not UNSET}
'''
# These take LightGBM's and XGBoost's names as well.
WITH_PEERS = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
TYPES = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None"}


def python_type(forms):
    names = list(dict.fromkeys(TYPES.get(form.get("type"), "Any") for form in forms))
    return "Any" if "Any" in names or not names else " | ".join(names)


def wrapped(text, indent):
    return textwrap.fill(" ".join(text.split()), 150, initial_indent=indent, subsequent_indent=indent + "    ")


def written(estimator):
    arguments = "".join(f",\n                 {p['name']}: {python_type(p['forms'])} = UNSET" for p in estimator["params"])
    doc = [wrapped(estimator["doc"].replace("\\", "\\\\"), "    ").strip(), ""]
    doc += [wrapped(f"{p['name']}: {p['doc']} Default {p['defaultValue']!r}.".replace("\\", "\\\\"), "    ") for p in estimator["params"]]
    given = "_given(locals())"
    if estimator["name"] in WITH_PEERS:
        arguments += ",\n                 **others: Any"
        doc.append("    others: LightGBM's and XGBoost's names of these parameters, such as num_leaves and reg_lambda.")
        given = f'of_peers("{estimator["name"]}", {given})'
    star = ", *" if estimator["params"] else ""
    return (f"\n\nclass {estimator['name']}(Estimator):\n    \"\"\"" + "\n".join(doc).rstrip() + f"\n    \"\"\"\n\n"
            f"    def __init__(self{star}{arguments}) -> None:\n        super().__init__(**{given})\n")


def module(session):
    return HEAD + "".join(written(estimator) for estimator in sorted(session.estimators(), key=lambda e: e["name"]))


if __name__ == "__main__":
    sys.stdout.write(module(kedge.connect(sys.argv[1])))
