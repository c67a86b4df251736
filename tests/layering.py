#!/usr/bin/env python3
"""Enforces which folder may include which, the one home of each third-party header, and what code above the backend may not do."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A folder may include itself and what is listed here. The longest matching prefix of a file's path decides.
ALLOWED = {
    "schemas": [],
    "crypto": ["schemas"],
    "transfer": ["schemas"],
    "engine/faults": ["schemas"],
    "engine/core": ["schemas", "engine/faults", "engine/backend/backend.h"],   # a context names its device
    "engine/comm": ["schemas"],
    "engine/generate": ["schemas", "engine/core"],
    "engine/open_model": ["schemas", "engine/core"],
    "engine/imported": ["schemas", "engine/core", "engine/backend/host/row_chunks.h", "engine/backend/host/tree_shap.h"],
    "engine/backend": ["schemas", "engine/core", "engine/comm"],   # its sums over rows are dealt over ranks
    "engine/estimators": ["schemas", "engine/core", "engine/comm", "engine/backend", "engine/metrics"],
    "engine/metrics": ["schemas", "engine/core", "engine/backend"],
    "engine/model_selection": ["schemas", "engine/faults", "engine/core", "engine/comm", "engine/backend", "engine/estimators", "engine/metrics"],
    "engine/job": ["schemas", "engine/generate", "engine/comm", "engine/table/row_filter.h", "engine/table/typed_columns.h", "engine/faults", "engine/core", "engine/backend", "engine/estimators", "engine/metrics", "engine/model_selection"],
    "engine/table": ["schemas", "engine/core", "engine/comm", "engine/backend", "engine/estimators", "engine/model_selection"],
    "engine/memory": ["schemas", "engine/core", "engine/comm", "engine/backend/linked_tables.h", "engine/estimators", "engine/model_selection", "engine/job", "engine/table"],
    "engine/model": ["schemas", "engine/core", "engine/comm", "engine/backend", "engine/estimators", "engine/model_selection", "engine/job", "engine/table",
                     "engine/memory", "engine/imported", "engine/version.h"],
    "engine/arrow": ["schemas", "engine/core", "engine/worker/confine.h", "engine/version.h"],
    "engine/worker": ["schemas", "engine"],
    "engine": ["schemas", "engine"],
    "server/http": ["schemas", "crypto", "engine/faults"],
    "server/data": ["schemas", "crypto", "transfer", "engine/arrow/channel.h", "engine/generate", "engine/core", "engine/faults"],
    "server/auth": ["schemas", "crypto", "engine/faults", "server/http", "server/store/sqlite.h"],
    "server/observe": ["schemas", "server/http", "server/jobs/job_observer.h"],
    "server/store": ["schemas", "crypto", "engine/core", "engine/faults", "server/data/inline_data.h"],
    "server/jobs": ["schemas", "crypto", "engine", "server/data", "server/store"],
    "server/models": ["schemas", "crypto/random.h", "engine", "server/data/tenant_bytes.h", "server/jobs", "server/observe/exposition.h", "server/store/clock.h"],
    "server/api": ["schemas", "crypto", "engine", "server"],
    "server": ["schemas", "crypto", "engine", "server"],
    "provisioning": ["schemas", "crypto", "transfer", "provisioning"],
    "client": ["schemas", "crypto", "transfer", "provisioning", "kedge"],
    "gpu_check": ["schemas", "engine", "tests/parity/cases.h"],
    "examples": ["kedge"],
    "tests/parity": ["schemas", "engine", "tests/support/launch_log.h"],
    "tests": ["schemas", "crypto", "transfer", "engine", "server", "provisioning", "client", "kedge", "tests"],
}

# Header prefix -> the only places that may name it.
HOMES = {
    "capnp/": ["schemas", "tests/unit/schemas"],
    "kj/": ["schemas"],
    "simdjson": ["schemas"],
    "curl/": ["transfer", "server/data/fetch", "client/sdk/transport_tls"],
    "boost/": ["server/http", "server/api", "server/auth", "server/main.cc", "engine/estimators/selection/tail_probabilities", "tests"],
    "sqlite3": ["server/store", "tests/unit/server_store", "tests/support/power_cut"],
    "isa-l/": ["server/data/inflate", "server/data/mat_file", "server/data/zip_reader", "server/http/compress"],
    "zstd": ["server/data/upload_decoder", "server/http/compress", "tests"],
    "turbojpeg": ["server/data/picture"],
    "bzlib": ["server/data/upload_decoder", "tests"],
    "openssl/": ["crypto", "server/http", "provisioning/providers/sigv4", "provisioning/providers/google_token", "provisioning/ssh_key",
                 "tests"],
    "mpi.h": ["engine/comm/plugin"],   # one file, which a site builds against its own MPI
    "cblas": ["engine/backend/cpu"],
    "lapack": ["engine/backend/cpu", "engine/backend/emulated"],
    "cuda": ["engine/backend/cuda"],
    "cublas": ["engine/backend/cuda"],
    "cusolver": ["engine/backend/cuda"],
    "cub/": ["engine/backend/cuda"],
    "spdlog": ["server/main.cc", "server/log"],
    "CLI/": ["server/config", "server/admin", "client/cli", "engine/worker", "gpu_check"],
    "toml++": ["server/config"],
    "pugixml": ["provisioning/providers/xml", "server/data/object_store"],
    "arrow/": ["engine/arrow"],
    "parquet/": ["engine/arrow"],
}
# What one device alone has. Only the backend and tests may include it; the rest is written on the ops and runs on every device.
BODIES = ["engine/backend/cpu", "engine/backend/cuda", "engine/backend/emulated", "engine/backend/raw.h"]
MAY_SEE_BODIES = ["engine/backend", "tests"]

# Here the code may not ask which device it is on. DeviceTraits say what a device is good at.
BLIND = ["engine/estimators", "engine/metrics", "engine/model_selection"]
ASKS = re.compile(r"\bDeviceKind\b|\bdevice\.info\(\)")

# What gives the pointer behind a view. Everywhere else a host peek does not compile; memcpy takes any address.
NAMES_VIEW_ACCESS = ["engine/core/view.h", "engine/core/host_view.h", "engine/backend/raw.h"]
COPIES_FROM_VIEW = re.compile(r"\bmemcpy\([^;]*\.data\b(?!\()")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def longest(prefixes, path):
    return max((p for p in prefixes if path == p or path.startswith(p + "/")), key=len, default=None)


def faults(path, text):
    own = longest(ALLOWED, path)
    is_blind, sees_bodies = longest(BLIND, path), longest(MAY_SEE_BODIES, path)
    for number, line in enumerate(text.splitlines(), 1):
        if is_blind and ASKS.search(line):
            yield f"{path}:{number}: {is_blind} may not ask which device it is on; ask device.traits()"
        if not sees_bodies and COPIES_FROM_VIEW.search(line) or "ViewAccess" in line and path not in NAMES_VIEW_ACCESS:
            yield f"{path}:{number}: a view's pointer is the backend's; use host_view() or download the cells"
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, header = match.groups()
        if not sees_bodies and (body := longest(BODIES, header)):
            yield f"{path}:{number}: {own} may not include {header}; {body} belongs to one device"
        if quote == '"' and "/" in header and own:
            if not any(header == a or header.startswith(a + "/") for a in [own, *ALLOWED[own]]):
                yield f"{path}:{number}: {own} may not include {header}"
        for prefix, homes in HOMES.items():
            if header.startswith(prefix) and not any(path.startswith(h) for h in homes) and quote == "<":
                yield f"{path}:{number}: <{header}> belongs to {', '.join(homes)}"


def main():
    if "--self-test" in sys.argv:   # the check must be able to fail
        assert list(faults("schemas/a.cc", '#include "engine/core/view.h"\n'))
        assert list(faults("engine/estimators/a.cc", "#include <cuda_runtime.h>\n"))
        assert list(faults("engine/comm/a.cc", "#include <mpi.h>\n"))
        assert list(faults("server/http/a.cc", '#include "server/jobs/job_service.h"\n'))
        assert list(faults("engine/metrics/a.h", '#include "engine/backend/cpu/blas.h"\n'))
        assert list(faults("engine/job/a.cc", '#include "engine/backend/emulated/shim.h"\n'))
        assert list(faults("engine/estimators/linear/a.cc", "  if (ctx.device.info().threads > 2) return;\n"))
        assert list(faults("engine/model_selection/a.cc", "  return info.kind == DeviceKind::kCpu;\n"))
        assert list(faults("engine/estimators/linear/a.cc", '#include "engine/backend/raw.h"\n'))
        assert list(faults("engine/estimators/linear/a.cc", "  std::memcpy(host, X.data, bytes);\n"))
        assert list(faults("engine/backend/cpu/a.h", "  T* const cells = ViewAccess::address(X.data);\n"))
        assert not list(faults("engine/backend/cpu/a.h", "  std::memcpy(host, X.data, bytes);\n"))
        assert not list(faults("engine/estimators/linear/a.cc", "  std::memcpy(host, bytes.data(), n);\n"))
        assert not list(faults("engine/backend/host/a.cc", '#include "engine/backend/cpu/blas.h"\n'))
        assert not list(faults("engine/metrics/a.h", '#include "engine/backend/simd.h"\n'))
        assert not list(faults("server/api/a.cc", '#include "server/jobs/job_service.h"\n'))
    paths = sorted(p for folder in {a.split("/")[0] for a in ALLOWED} for p in (ROOT / folder).rglob("*"))
    found = []
    for path in paths:
        if path.suffix in {".h", ".cc", ".cu", ".cuh"}:
            name, text = str(path.relative_to(ROOT)), path.read_text()
            found += faults(name, text)
            if not text.startswith("//"):
                found.append(f"{name}:1: the first line must say what the file is for")
            if (lines := text.count("\n")) > 600:
                found.append(f"{name}: {lines} lines, must be at most 600")
    print("\n".join(found) or "layering: no faults")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
