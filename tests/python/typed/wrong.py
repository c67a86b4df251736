"""A fault in each function: a checker of types must find each."""
from __future__ import annotations

import kedge
from kedge.estimators import LogisticRegression


def a_parameter_that_there_is_not() -> None:
    LogisticRegression(c=10)


def a_number_for_a_text() -> None:
    kedge.builtin(7)


def a_text_for_a_result(job: kedge.Job) -> str:
    return job.result()


def a_method_that_there_is_not(session: kedge.Session) -> None:
    session.sumbit


def a_name_that_the_package_does_not_have() -> None:
    kedge.conect()
