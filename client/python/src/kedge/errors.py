"""What calls raise."""
from __future__ import annotations

from typing import Any


class KedgeError(Exception):
    """A call that failed. `code`: as the server names it, such as "INVALID_VALUE", or "CONNECTION"; `where`: the field that is wrong, such as
    "pipeline[0].params.n_clusters", or ""; `status`: of the HTTP answer, 0 without one."""

    def __init__(self, code: str, message: str, where: str = "", status: int = 0) -> None:
        self.code, self.message, self.where, self.status = code, message, where, status
        super().__init__(f"{message} [{code}{' at ' + where if where else ''}]")

    def __reduce__(self) -> tuple[type[KedgeError], tuple[Any, ...]]:
        return type(self), (self.code, self.message, self.where, self.status)


class ConnectionFailed(KedgeError):
    """No answer came, or the server is not to be trusted."""


class JobFailed(KedgeError):
    """The job has ended without a result: it failed, or was cancelled (code "CANCELLED")."""


def known(mapping: dict[str, Any]) -> tuple[str, str, str]:
    """Code, message and field of an error as the server describes one, in a job or as problem+json."""
    return str(mapping.get("code", "INTERNAL")), str(mapping.get("message", mapping.get("detail", ""))), str(mapping.get("where", ""))
