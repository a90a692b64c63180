"""PyCUDA and NVML on a machine with an NVIDIA driver.

PyCUDA has no wheels for Linux. It is built from its source on PyPI with the headers of a CUDA
toolkit or, where there is none, of NVIDIA's packages on PyPI, and linked with the driver's own
libcuda. When that fails everything but timing on the GPU works all the same.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sysconfig
import tomllib
from pathlib import Path

import debian

ROOT = Path(__file__).resolve().parents[1]
_LOCK = ROOT / "scripts" / "requirements-gpu.lock"
_FAILED = "PyCUDA could not be built ({reason}), so `tilescope bench` will not work; all else does."
_RETRY = "Try again with: python3 scripts/setup.py --retry-gpu"
_HEADERS = ("cuda.h", "cudaProfiler.h")
_HEADER_PACKAGES = ("nvidia-cuda-runtime", "nvidia-cuda-profiler-api")
_LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/cuda/compat",
)


def has_driver() -> bool:
    """Whether an NVIDIA driver is here."""
    if Path("/dev/nvidiactl").exists():
        return True
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def fingerprint() -> str:
    """Changes when another attempt might end differently."""
    parts = [shutil.which("g++"), toolkit_headers(), driver_library(), has_python_headers()]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def install(python: Path, build: Path) -> str:
    """Install the `gpu` extra into the environment of `python`; a sentence on how it went."""
    quiet = ["-qq", "--disable-pip-version-check", "--no-input"]
    pip = [str(python), "-m", "pip", "install", *quiet, "--constraint", str(_LOCK)]
    wheels, pycuda = _requirements()
    subprocess.run([*pip, *wheels], check=False)
    if _run([str(python), "-c", "import pycuda"]).returncode == 0:
        return "An NVIDIA driver is here, and PyCUDA is installed."
    print("An NVIDIA driver is here: building PyCUDA (about two minutes) ...", flush=True)
    if reason := _missing_compiler():
        return f"{_FAILED.format(reason=reason)} {_RETRY}"
    library = driver_library()
    if library is None:
        return f"{_FAILED.format(reason='the driver has no libcuda.so.1')} {_RETRY}"
    shutil.rmtree(build, ignore_errors=True)
    headers = toolkit_headers() or _fetch_headers(python, build)
    if headers is None:
        return f"{_FAILED.format(reason='cuda.h was not found')} {_RETRY}"
    environment = _configure(build, headers, library)
    done = _run([*pip, pycuda], environment)
    if done.returncode == 0:
        shutil.rmtree(build, ignore_errors=True)
        return "PyCUDA is built and installed."
    log = build / "pip.log"
    log.write_text(done.stdout + done.stderr, encoding="utf-8")
    return f"{_FAILED.format(reason=f'see {log}')} {_RETRY}"


def toolkit_headers() -> Path | None:
    """The include folder of a CUDA toolkit, if there is one."""
    nvcc = shutil.which("nvcc")
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    if nvcc:
        homes.insert(2, str(Path(nvcc).resolve().parents[1]))
    folders = [Path(home) / "include" for home in homes if home] + [Path("/usr/include")]
    return next(
        (folder for folder in folders if all((folder / h).is_file() for h in _HEADERS)), None
    )


def driver_library() -> Path | None:
    """The driver's libcuda.so.1."""
    found = [Path(folder) / "libcuda.so.1" for folder in _LIBRARY_FOLDERS]
    ldconfig = shutil.which("ldconfig") or "/sbin/ldconfig"
    if Path(ldconfig).exists():
        lines = _run([ldconfig, "-p"]).stdout.splitlines()
        found += [Path(x.split("=> ")[1]) for x in lines if "libcuda.so.1 " in x and "=> " in x]
    return next((path for path in found if path.exists()), None)


def has_python_headers() -> bool:
    """Whether extensions can be compiled for this Python."""
    return (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file()


def _requirements() -> tuple[list[str], str]:
    """The `gpu` extra in pyproject.toml: what has wheels, and PyCUDA."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra: list[str] = project["optional-dependencies"]["gpu"]
    (pycuda,) = (requirement for requirement in extra if requirement.startswith("pycuda"))
    return [requirement for requirement in extra if requirement != pycuda], pycuda


def _missing_compiler() -> str | None:
    packages = [] if shutil.which("g++") else ["g++"]
    if not has_python_headers():
        packages.append(f"python{sysconfig.get_python_version()}-dev")
    if debian.install(packages, "Building PyCUDA"):
        return None
    return f"{' and '.join(packages)} missing"


def _fetch_headers(python: Path, build: Path) -> Path | None:
    """CUDA's headers from PyPI, unpacked into the build folder."""
    target = build / "headers"
    command = [str(python), "-m", "pip", "install", "-qq", "--no-deps", "--target", str(target)]
    done = _run([*command, "--constraint", str(_LOCK), *_HEADER_PACKAGES])
    headers = [h.parent for h in target.rglob("cuda.h")] if done.returncode == 0 else []
    return headers[0] if headers else None


def _configure(build: Path, headers: Path, library: Path) -> dict[str, str]:
    """Environment in which PyCUDA's setup finds headers and driver.

    It reads settings from ~/.aksetup-defaults.py, so it gets a home of its own; pip's settings and
    cache stay where they are.
    """
    libraries = build / "lib"
    libraries.mkdir(parents=True, exist_ok=True)
    (libraries / "libcuda.so").symlink_to(library)
    settings = {
        "CUDA_INC_DIR": [str(headers)],
        "CUDADRV_LIB_DIR": [str(libraries)],
        "CUDA_ENABLE_CURAND": False,
    }
    text = "".join(f"{name} = {value!r}\n" for name, value in settings.items())
    (build / ".aksetup-defaults.py").write_text(text, encoding="utf-8")
    home = Path.home()
    environment = {**os.environ, "HOME": str(build)}
    environment.setdefault("PIP_CACHE_DIR", str(home / ".cache" / "pip"))
    for config in (home / ".config/pip/pip.conf", home / ".pip/pip.conf"):
        if config.is_file():
            environment.setdefault("PIP_CONFIG_FILE", str(config))
    return environment


def _run(
    command: list[str], environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
