#!/usr/bin/env python3
"""Lays NVIDIA's packages of requirements.txt out as a CUDA toolkit that clang takes with --cuda-path.

assemble.py PACKAGES TOOLKIT: PACKAGES is what `pip install --target` has filled; TOOLKIT gets links to it, and `complete` when all are there.
"""
import pathlib
import sys


def link(target, place):
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(target.resolve())


def assemble(packages, toolkit):
    nvidia = packages / "nvidia"
    for part in ("cublas", "cuda_cccl", "cuda_nvcc", "cuda_runtime", "cusolver", "cusparse", "nvjitlink"):
        headers = nvidia / part / "include"
        if not headers.is_dir():
            sys.exit(f"assemble.py: {headers} is not there")
        for header in headers.rglob("*"):
            if header.is_file() and header.name != "__init__.py":
                link(header, toolkit / "include" / header.relative_to(headers))
    for library in [*nvidia.glob("*/lib/*.so.*"), *nvidia.glob("*/lib/*.a")]:
        link(library, toolkit / "lib64" / library.name)
    link(nvidia / "cuda_nvcc" / "nvvm" / "libdevice" / "libdevice.10.bc", toolkit / "nvvm" / "libdevice" / "libdevice.10.bc")
    ptxas = nvidia / "cuda_nvcc" / "bin" / "ptxas"
    ptxas.chmod(0o755)   # pip keeps no modes of files that are no scripts
    link(ptxas, toolkit / "bin" / "ptxas")
    place = toolkit / "bin" / "fatbinary"   # a copy: it finds its library beside it
    place.write_text((pathlib.Path(__file__).parent / "fatbinary").read_text())
    place.chmod(0o755)
    (toolkit / "complete").touch()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    assemble(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
