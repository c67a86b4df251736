#!/usr/bin/env python3
"""Writes newsgroups_reference.inc: a small archive of the form that fetch_20newsgroups reads, and what it makes of it.

    python3 newsgroups_reference.py > newsgroups_reference.inc

Made with scikit-learn 1.9.1.
"""
import csv
import gzip
import hashlib
import io
import pathlib
import tarfile
import tempfile

import sklearn
import sklearn.datasets._twenty_newsgroups as module

FOLDERS = {"train": {"alt.atheism": ["9", "10", "100"], "comp.graphics": ["38", "37"], "sci.space": ["7", "61", "6"]},
           "test": {"alt.atheism": ["53"], "comp.graphics": ["5", "51"], "sci.space": ["2", "1"]}}


def text(subset, group, name):
    # Each has what some reader could get wrong: quotes and commas, all bytes of latin1, line ends of three kinds,
    # the size of one block of tar and a byte more, no byte at all.
    special = {"9": b'say "hi", "\n\n""', "10": bytes(range(1, 256)), "100": b"From: a\r\n\r\nbody\rend ", "38": b"b" * 512,
               "37": b"c" * 513, "7": b"", "6": b" \n", "53": b'"'}
    return special.get(name, f"Subject: {subset} {group}\n\nText {name}, to the end.\n".encode())


def archive():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        def add(name, content=None):
            info = tarfile.TarInfo(name)
            info.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            info.mode = 0o755 if content is None else 0o644
            info.size = len(content or b"")
            tar.addfile(info, io.BytesIO(content or b""))
        for subset, groups in FOLDERS.items():
            folder = f"20news-bydate-{subset}"
            add(folder)
            add(folder + "/README", b"a file beside the groups is none of their texts")
            for group in sorted(groups, reverse=True):   # an archive's order is that of a disk
                add(f"{folder}/{group}")
                for name in groups[group]:
                    add(f"{folder}/{group}/{name}", text(subset, group, name))
    return gzip.compress(out.getvalue(), mtime=0)


def table(home, subset):
    data = module.fetch_20newsgroups(data_home=home, subset=subset)
    out = io.StringIO(newline="")
    rows = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    rows.writerows((text, data.target_names[target]) for text, target in zip(data.data, data.target))
    return "text,target\n" + out.getvalue()


def literal(name, content):
    digits = content.hex()
    lines = [f'    "{digits[i:i + 120]}"' for i in range(0, len(digits), 120)]
    return f"constexpr std::string_view {name} =\n" + "\n".join(lines) + ";"


packed = archive()
with tempfile.TemporaryDirectory() as home:
    file = pathlib.Path(home) / "archive"
    file.write_bytes(packed)
    module.ARCHIVE = module.ARCHIVE._replace(url=file.as_uri(), checksum=hashlib.sha256(packed).hexdigest())
    print(f"// Made by newsgroups_reference.py with scikit-learn {sklearn.__version__}: in hexadecimal, archive and tables.")
    print(literal("kArchive", packed))
    for subset in ("train", "test", "all"):
        print(literal("k" + subset.capitalize(), table(home, subset).encode()))
