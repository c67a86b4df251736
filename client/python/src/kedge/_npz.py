"""An .npz file that is sent as it is made: a ZIP whose members are arrays, straight from their memory, never a whole copy."""
from __future__ import annotations

import functools
import io
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
PIECE = 1 << 20
# As of PKWARE's APPNOTE 6.3.10. Checksums come behind the members (flag 3), so that a member is read once; names are UTF-8 (flag 11).
_LOCAL, _ENTRY = struct.Struct("<4s5H3L2H"), struct.Struct("<4s6H3L5H2L")
_END64, _LOCATOR, _END = struct.Struct("<4sQ2H2L4Q"), struct.Struct("<4sLQL"), struct.Struct("<4s4H2LH")
_VERSION, _FLAGS, _DATE = 45, 1 << 3 | 1 << 11, 1 << 5 | 1   # of 1980, so that equal data are equal bytes
_IN_64 = 0xFFFFFFFF


@dataclass
class Member:
    """An array by parts, which lie one behind the other along the first dimension. They are of one type, as sent."""

    name: str
    parts: Sequence[Array]
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    crc: int | None = None   # once it has been sent, or counted

    @staticmethod
    def of(name: str, *parts: Array) -> Member:
        shape = (sum(part.shape[0] for part in parts), *parts[0].shape[1:]) if parts[0].shape else ()
        return Member(name, parts, as_sent(np.result_type(*parts) if len(parts) > 1 else parts[0].dtype), shape)

    @functools.cached_property
    def head(self) -> bytes:
        out = io.BytesIO()
        np.lib.format.write_array_header_1_0(out, {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": self.shape})
        return out.getvalue()

    @functools.cached_property
    def size(self) -> int:
        return len(self.head) + int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def pieces(self) -> Iterator[bytes | memoryview]:
        yield self.head
        for part in self.parts:
            yield from _pieces(part, self.dtype)


def as_sent(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What the server reads: little-endian, floats of 32 or 64 bits."""
    if dtype.kind == "f" and dtype.itemsize not in (4, 8):
        return np.dtype(np.float32 if dtype.itemsize < 4 else np.float64)
    return dtype.newbyteorder("<")


def _pieces(array: Array, dtype: np.dtype[Any]) -> Iterator[memoryview]:
    """In C order: of the array's own memory where that is so already, else of blocks of its rows."""
    if array.dtype == dtype and array.flags.c_contiguous:
        content = array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")
        for at in range(0, len(content), PIECE):
            yield content[at:at + PIECE]
        return
    rows = max(1, PIECE // max(1, int(np.prod(array.shape[1:], dtype=np.int64)) * dtype.itemsize))
    for at in range(0, len(array), rows):
        yield np.ascontiguousarray(array[at:at + rows], dtype).reshape(-1).view(np.uint8).data


class Archive:
    """The file of such members."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = members
        self.size = len(self._directory(0, [0] * len(members))) + sum(self._heads(member) + member.size for member in members)

    @staticmethod
    def _heads(member: Member) -> int:
        """Bytes in front of a member and behind it."""
        return _LOCAL.size + len(member.name) + 4 + 20 + 24

    def pieces(self) -> Iterator[bytes | memoryview]:
        for member in self.members:
            name = f"{member.name}.npy".encode()
            zip64 = struct.pack("<2H2Q", 1, 16, 0, 0)   # says that what follows the member has sizes of 64 bits
            yield _LOCAL.pack(b"PK\3\4", _VERSION, _FLAGS, 0, 0, _DATE, 0, _IN_64, _IN_64, len(name), len(zip64)) + name + zip64
            crc = 0
            for piece in member.pieces():
                if member.crc is None:
                    crc = zlib.crc32(piece, crc)
                yield piece
            member.crc = crc if member.crc is None else member.crc
            yield struct.pack("<4sLQQ", b"PK\7\x08", member.crc, member.size, member.size)
        begin = sum(self._heads(member) + member.size for member in self.members)
        yield self._directory(begin, [member.crc or 0 for member in self.members])

    def _directory(self, begin: int, crcs: list[int]) -> bytes:
        offset, parts = 0, []
        for member, crc in zip(self.members, crcs):
            name = f"{member.name}.npy".encode()
            zip64 = struct.pack("<2H3Q", 1, 24, member.size, member.size, offset)
            parts.append(_ENTRY.pack(b"PK\1\2", _VERSION, _VERSION, _FLAGS, 0, 0, _DATE, crc, _IN_64, _IN_64, len(name), len(zip64), 0, 0, 0, 0, _IN_64) + name + zip64)
            offset += self._heads(member) + member.size
        entries = b"".join(parts)
        count = len(self.members)
        return (entries + _END64.pack(b"PK\6\6", 44, _VERSION, _VERSION, 0, 0, count, count, len(entries), begin)
                + _LOCATOR.pack(b"PK\6\7", 0, begin + len(entries), 1) + _END.pack(b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, _IN_64, _IN_64, 0))
