#!/usr/bin/env python3
"""Writes faces_reference.inc: a small archive of the form that fetch_lfw_people reads, and what it makes of it.

    python3 faces_reference.py > faces_reference.inc

Made with scikit-learn 1.9.1 and Pillow 13.0.0 (libjpeg-turbo 3.2.0).
"""
import gzip
import hashlib
import io
import pathlib
import tarfile
import tempfile

import numpy as np
import PIL
import sklearn
import sklearn.datasets._lfw as module
from PIL import Image

PEOPLE = {"Zoe_Last": 2, "Aaron_First": 1, "Bea_Middle_Name": 3}


def picture(seed):
    """Waves of three colours and one hard edge: JPEG of each form of its colours."""
    y, x = np.mgrid[0:250, 0:250]
    r = np.random.default_rng(seed)
    waves = [128 + 127 * np.sin(x / r.uniform(9, 40) + y / r.uniform(9, 40)) for _ in range(3)]
    pixels = np.stack(waves, axis=2).astype(np.uint8)
    pixels[100 + seed:130, 100:140] = (255, 0, 10 * seed)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=30, subsampling=seed % 3)
    return out.getvalue()


def archive():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        def add(name, content):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        add("lfw_funneled/pairs_01.txt", b"a file beside the people is none of their pictures")
        seed = 0
        for person, pictures in PEOPLE.items():
            for number in range(pictures, 0, -1):   # an archive's order is that of a disk
                add(f"lfw_funneled/{person}/{person}_{number:04}.jpg", picture(seed))
                seed += 1
    return gzip.compress(out.getvalue(), mtime=0)


def literal(name, content):
    digits = content.hex()
    lines = [f'    "{digits[i:i + 120]}"' for i in range(0, len(digits), 120)]
    return f"constexpr std::string_view {name} =\n" + "\n".join(lines) + ";"


packed = archive()
with tempfile.TemporaryDirectory() as home:
    file = pathlib.Path(home) / "archive"
    file.write_bytes(packed)
    module.FUNNELED_ARCHIVE = module.FUNNELED_ARCHIVE._replace(url=file.as_uri(), checksum=hashlib.sha256(packed).hexdigest())
    module.TARGETS = ()
    print(f"// Made by faces_reference.py with scikit-learn {sklearn.__version__} and Pillow {PIL.__version__}.")
    print(literal("kArchive", packed))
    print("// Of each call: the options, columns, people of the rows, SHA-256 of the values as float32.")
    print("struct Expected {\n  std::string_view options;\n  std::int64_t columns;\n  std::string_view people, sha256;\n};")
    print("constexpr std::array kExpected{")
    for options, faces, resize in (("", 0, 0.5), ("/2", 2, 0.5), ("/0/0.4", 0, 0.4), ("/3/1", 3, None)):
        data = module.fetch_lfw_people(data_home=home, min_faces_per_person=faces, resize=resize)
        people = ";".join(data.target_names[i] for i in data.target)
        digest = hashlib.sha256(data.data.astype("<f4").tobytes()).hexdigest()
        print(f'    Expected{{"{options}", {data.data.shape[1]}, "{people}",\n             "{digest}"}},')
    print("};")
