#!/usr/bin/env python3
"""Writes rcv1_reference.inc: small files of the form that fetch_rcv1 reads, and what it makes of them, as libsvm text.

    python3 rcv1_reference.py > rcv1_reference.inc

fetch_rcv1 has the real numbers of documents and topics in its code; they are replaced by those of these files.
"""
import gzip
import hashlib
import inspect
import pathlib
import tempfile

import sklearn
import sklearn.datasets._rcv1 as module

TOPICS = """CCAT 2286 1
E11 2286 1
MCAT 2287 1
CCAT 2288 1
E11 2289 1
CCAT 2289 1
MCAT 2290 1
C15 26150 1
CCAT 26150 1
E11 26151 1
CCAT 26152 1
a line of more than three words, which is none
"""
TRAIN = "2286  864:0.0497399253756197 1523:0.044664135988103\n2287  1:0.5 47000:0.0673871572152868\n"
TEST = ["2288  7:0.25\n2290  7:1 8:0.123456789012345\n", "2289  9:0.0625 47236:0.125\n", "26152  3:1\n",
        "26151  864:0.1\n26150  2:0.2 864:0.3\n"]
FILES = [TOPICS, TRAIN, *TEST]   # in the order of digests

source = inspect.getsource(module)
for name, real, here in (("N_SAMPLES", 804414, 8), ("N_CATEGORIES", 103, 4), ("N_TRAIN", 23149, 2)):
    assert f"{name} = {real}\n" in source
    source = source.replace(f"{name} = {real}\n", f"{name} = {here}\n")
exec(compile(source, module.__file__, "exec"), module.__dict__)


def remote(folder, metadata, text):
    file = pathlib.Path(folder) / metadata.filename
    file.write_bytes(gzip.compress(text.encode()))
    return metadata._replace(url=file.as_uri(), checksum=hashlib.sha256(file.read_bytes()).hexdigest())


def libsvm(home, subset, topic):
    data = module.fetch_rcv1(data_home=home, subset=subset)
    target = data.target[:, [list(data.target_names).index(topic)]].toarray().ravel()
    lines = []
    for i, label in enumerate(target):
        row = data.data[[i], :]
        pairs = sorted(zip(row.indices + 1, row.data))
        lines.append(f"{label} " + " ".join(f"{index}:{value:.15g}" for index, value in pairs))
    return "\n".join(lines) + "\n"


print(f"// Made by rcv1_reference.py with scikit-learn {sklearn.__version__}: files, and tables as libsvm text.")
print("constexpr std::array<std::string_view, 6> kFiles{")
for text in FILES:
    print(f'    R"({text})",')
print("};")
with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as files:
    module.TOPICS_METADATA = remote(files, module.TOPICS_METADATA, TOPICS)
    module.XY_METADATA = tuple(remote(files, metadata, text) for metadata, text in zip(module.XY_METADATA, [*TEST, TRAIN]))
    for name, subset, topic in (("kAllCcat", "all", "CCAT"), ("kTrainMcat", "train", "MCAT"), ("kTestE11", "test", "E11")):
        print(f'constexpr std::string_view {name} = R"({libsvm(home, subset, topic)})";')
