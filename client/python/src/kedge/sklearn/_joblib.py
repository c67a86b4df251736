"""joblib's backend "kedge": within parallel_config(backend="kedge"), scikit-learn's batches and fits go to a server, and the rest runs as with loky."""
from __future__ import annotations

import weakref
from typing import Any

from joblib import parallel, register_parallel_backend
from joblib._parallel_backends import LokyBackend

from ..session import Session
from ._decide import Call, Settings
from ._hook import hook

THRESHOLD = 1 << 20


class KedgeBackend(LokyBackend):   # type: ignore[misc]
    """session, policy, fallback and threshold as of kedge.sklearn.patch(); more: as of loky."""

    def __init__(self, *arguments: Any, session: Session | None = None, policy: str = "auto", fallback: str = "warn", threshold: int = THRESHOLD,
                 **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.call = Call(Settings.of(session, policy=policy, fallback=fallback, threshold=threshold, quiet_below=threshold))
        hook.hold()
        hook.scopes.append(_active)   # one for each backend that lives
        weakref.finalize(self, _release)


def _active() -> Call | None:
    backend = parallel.get_active_backend()[0]
    return backend.call if isinstance(backend, KedgeBackend) else None


def _release() -> None:
    hook.scopes.remove(_active)
    hook.release()


register_parallel_backend("kedge", KedgeBackend)
