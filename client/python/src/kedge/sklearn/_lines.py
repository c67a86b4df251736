"""The lines that a search or a cross-validation prints with verbose, as scikit-learn's own loop has them."""
from __future__ import annotations

from typing import Any

from joblib.logger import short_format_time


def line_of(fit: dict[str, Any], answer: dict[str, Any], seconds: float) -> str:
    """Of one fit that has ended, with its scores where verbose is above 2. fit: its arguments; answer: what _fit_and_score() gives."""
    parameters, is_detailed, progress = fit.get("parameters"), fit["verbose"] > 2, ""
    if is_detailed and fit.get("split_progress") is not None:
        progress = f" {fit['split_progress'][0] + 1}/{fit['split_progress'][1]}"
        if fit.get("candidate_progress") is not None and fit["verbose"] > 9:
            progress += f"; {fit['candidate_progress'][0] + 1}/{fit['candidate_progress'][1]}"
    said = ", ".join(f"{name}={parameters[name]}" for name in sorted(parameters)) if parameters is not None else ""
    said += ";" if said else ""
    if is_detailed:
        said += _scores(answer)
    said += f" total time={short_format_time(seconds)}"
    head = f"[CV{progress}] END "
    return head + "." * (80 - len(head) - len(said)) + said


def _scores(answer: dict[str, Any]) -> str:
    test, train = answer["test_scores"], answer.get("train_scores")
    if isinstance(test, dict):
        return "".join(f" {name}: ({'' if train is None else f'train={train[name]:.3f}, '}test={test[name]:.3f})" for name in sorted(test))
    return f", score={test:.3f}" if train is None else f", score=(train={train:.3f}, test={test:.3f})"
