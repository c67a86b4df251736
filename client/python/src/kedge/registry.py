"""Registered models: names, integer versions, aliases and tags, in MLflow's words."""
from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from ._http import JSON, Call, Transport
from .model import Model


class Registry:
    """The registry of a server. A version is a stored model under a name and a number; an alias names a version and can be moved.
    session.model("iris@champion") asks what is registered."""

    def __init__(self, transport: Transport, pages: Callable[[str, str, int], Iterator[dict[str, Any]]]) -> None:
        self._transport, self._pages = transport, pages

    def __call__(self, page_size: int = 50) -> Iterator[dict[str, Any]]:
        """All registered models, by name."""
        return self._pages("/v1/registry", "models", page_size)

    def get(self, name: str) -> dict[str, Any]:
        """A registered model: its aliases, its latest version, its tags."""
        return self._call("GET", _path(name))

    def versions(self, name: str, page_size: int = 50) -> Iterator[dict[str, Any]]:
        """The highest first."""
        return self._pages(_path(name, "versions"), "versions", page_size)

    def version(self, name: str, version: int) -> dict[str, Any]:
        return self._call("GET", _path(name, "versions", version))

    def alias(self, name: str, alias: str) -> dict[str, Any]:
        """The version that an alias names."""
        return self._call("GET", _path(name, "aliases", alias))

    def add(self, name: str, model: Model | str, *, description: str = "", tags: dict[str, str] | None = None) -> dict[str, Any]:
        """Gives a stored model the next version of a name, which the first one creates. The same model again gets the same version."""
        body = {"model": getattr(model, "id", model), **({"description": description} if description else {}), **({"tags": tags} if tags else {})}
        return self._call("POST", _path(name, "versions"), body)

    def set_alias(self, name: str, alias: str, version: int) -> dict[str, Any]:
        """In one step, which is on disk when this returns: requests mean either the version before or this one."""
        return self._call("PUT", _path(name, "aliases", alias), {"version": version})

    def remove_alias(self, name: str, alias: str) -> None:
        self._transport.call(Call("DELETE", _path(name, "aliases", alias)))

    def edit(self, name: str, version: int | None = None, *, description: str | None = None, tags: dict[str, str | None] | None = None) -> dict[str, Any]:
        """The description and the tags of a name or of a version; a tag that is None is removed, others stay."""
        body = {**({} if description is None else {"description": description}), **({"tags": tags} if tags else {})}
        return self._call("PATCH", _path(name) if version is None else _path(name, "versions", version), body)

    def remove(self, name: str, version: int | None = None) -> None:
        """A version that has no alias, or a name with all its versions. The stored models stay."""
        self._transport.call(Call("DELETE", _path(name) if version is None else _path(name, "versions", version)))

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        call = Call(method, path, json.dumps(body).encode() if body is not None else None, content_type=JSON if body is not None else "")
        found: dict[str, Any] = self._transport.call(call).json()
        return found


def _path(*parts: str | int) -> str:
    return "/v1/registry/" + "/".join(quote(str(part), safe="") for part in parts)
