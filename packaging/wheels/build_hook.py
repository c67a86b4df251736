"""What goes into the wheels beside Python: stripped programs from KEDGE_BIN, the licences of what is inside them, and a list of it (an SBOM)."""
from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = ("kedged", "kedge", "kedge-worker")
BACKEND = "libkedge_cuda.so"
READER = "kedge-arrow"   # of Parquet and Arrow files; in the wheel where it has been built
# Of pyarrow's wheel in site-packages/pyarrow, seen from site-packages/kedge_server/bin.
ARROW_LIBRARIES = "$ORIGIN/../../pyarrow"
# CUDA's libraries in site-packages/nvidia/cu13/lib, seen from site-packages/kedge_server/lib. The worker looks in ../lib for the backend.
CUDA_LIBRARIES = "$ORIGIN/../../nvidia/cu13/lib"
# Debian's packages of what is compiled or linked statically into the programs; auditwheel writes a list of the libraries that it adds.
COMPILED_IN = ("libboost1.81-dev", "libopenblas-openmp-dev", "libcli11-dev", "libtomlplusplus-dev", "libfast-float-dev", "libpugixml-dev", "libbz2-dev", "libturbojpeg0-dev", "libminizip-dev", "libutf8proc-dev")


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        binaries = Path(os.environ.get("KEDGE_BIN", ROOT / "build" / "release" / "bin"))
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-linux_x86_64"   # auditwheel writes the one that tells the glibc
        self.folder = tempfile.TemporaryDirectory()
        made = Path(self.folder.name)
        if self.metadata.name == "kedge-server":
            files = {strip(binaries / name, made / name): f"kedge_server/bin/{name}" for name in PROGRAMS}
            build_data["sbom_files"].append(write_sbom(made / "compiled-in.cdx.json", self.metadata.version))
            files |= licences([binaries / name for name in PROGRAMS])
            if (binaries / READER).is_file():
                files |= {set_rpath(strip(binaries / READER, made / READER), ARROW_LIBRARIES): f"kedge_server/bin/{READER}"}
        else:
            library = set_rpath(strip(binaries / BACKEND, made / BACKEND), CUDA_LIBRARIES)
            files = {library: f"kedge_server/lib/{BACKEND}"}
        build_data["force_include"].update({str(file): place for file, place in files.items()})

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.folder.cleanup()


def strip(program: Path, to: Path) -> Path:
    if not program.is_file():
        raise SystemExit(f"there is no {program}: ./run.sh build makes it, KEDGE_BIN names another folder")
    subprocess.run(["strip", "--strip-unneeded", "-o", to, program], check=True)
    return to


def set_rpath(file: Path, place: str) -> Path:
    subprocess.run(["patchelf", "--force-rpath", "--set-rpath", place, file], check=True)
    return file


def output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def packages_of(programs: list[Path]) -> set[str]:
    """Debian's packages of all that the programs load, less glibc."""
    libraries = {found for program in programs for found in re.findall(r"=> (/\S+)", output("ldd", program))}
    return {_owner(library) for library in libraries} - {"libc6"}


def _owner(library: str) -> str:
    real = os.path.realpath(library)
    for path in (library, real, library.removeprefix("/usr"), real.removeprefix("/usr")):
        found = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    raise SystemExit(f"no package of Debian has {library}, so its licence is not known")


def licences(programs: list[Path]) -> dict[Path, str]:
    """One text for each source package."""
    packages = sorted(packages_of(programs) | set(COMPILED_IN))
    sources = output("dpkg-query", "-W", "-f", "${source:Package} ${Package}\n", *packages).splitlines()
    found = {source: Path(f"/usr/share/doc/{package}/copyright") for source, package in (line.split() for line in sources)}
    return {text: f"kedge_server/licences/{source}.txt" for source, text in found.items()}


def write_sbom(to: Path, version: str) -> str:
    components = []
    for line in output("dpkg-query", "-W", "-f", "${Package} ${source:Package} ${Version}\n", *COMPILED_IN).splitlines():
        package, source, release = line.split()
        components.append({"type": "library", "name": source, "version": release, "purl": f"pkg:deb/debian/{package}@{release}"})
    document = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
                "metadata": {"component": {"type": "application", "name": "kedge-server", "version": version, "purl": f"pkg:pypi/kedge-server@{version}"}},
                "components": components}
    to.write_text(json.dumps(document, indent=1) + "\n")
    return str(to)
