"""A kernel that another file of its repository launches takes grid, sizes and types from there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import TilescopeError
from core.guessing.launch_guess import completed
from core.user_files.launch_texts import FileLaunch
from core.user_files.repository_search import _files, at_its_kernels, program_of, user_of

KERNEL = """
__global__ void scale(const float *from, float *to, int n, int times) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = times * from[i];
}
"""
HOST = """
#include "{header}"
void run() {{
    const int n = 96;
    float *a, *b;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    scale<<<n / 48, 48>>>(a, b, n, 3);
}}
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A folder with a `.git`, and two folders in it."""
    root = tmp_path / "repository"
    for name in (".git", "src", "app"):
        (root / name).mkdir(parents=True)
    return root


def _guess(path: Path, kernel: str = "") -> FileLaunch:
    return completed(path.read_text(), FileLaunch(str(path), kernel, "", "", "")).launch


def test_the_launch_is_that_of_the_file_which_includes_the_kernels(repository) -> None:
    own = repository / "src" / "scale.cuh"
    own.write_text(KERNEL)
    (repository / "app" / "main.cu").write_text(HOST.format(header="../src/scale.cuh"))
    other = KERNEL + HOST.format(header="math.h").replace("48", "8")
    (repository / "src" / "other.cu").write_text(other)  # has a kernel of that name itself
    launch = _guess(own)
    assert (launch.grid, launch.block) == ("2", "48")
    assert dict(launch.arguments) == {
        "from": "random:float32[96]",
        "to": "zeros:float32[96]",
        "n": "96",
        "times": "3",
    }


def test_a_file_that_is_written_anew_is_read_anew(repository) -> None:
    own = repository / "src" / "scale.cuh"
    own.write_text(KERNEL)
    assert user_of(str(own), "scale") is None
    assert program_of(str(own)) is None
    main = repository / "app" / "main.cu"
    main.write_text(HOST.format(header="../src/scale.cuh"))
    assert _guess(own).block == "48"
    assert program_of(str(own)) == main
    main.write_text(HOST.format(header="../src/scale.cuh").replace("48", "32"))
    assert _guess(own).block == "32"


def test_a_type_of_the_file_that_includes_the_kernels_is_found(repository) -> None:
    own = repository / "src" / "scale.cuh"
    own.write_text(KERNEL.replace("int times", "Factor times").replace("times *", "times.x *"))
    host = "struct Factor { int x; };\n" + HOST.format(header="../src/scale.cuh")
    (repository / "app" / "main.cu").write_text(host.replace("n, 3", "n, Factor{3}"))
    launch = _guess(own)
    assert launch.block == "48"
    assert "main.cu" in launch.included
    assert "times.x" in dict(launch.arguments)


def test_an_instance_is_the_one_that_is_launched_elsewhere(repository) -> None:
    own = repository / "src" / "scale.cuh"
    own.write_text("template <int W, typename T>" + KERNEL.replace("float", "T"))
    host = HOST.format(header="../src/scale.cuh").replace("scale<<<", "scale<7, double><<<")
    (repository / "app" / "main.cu").write_text(host.replace("float", "double"))
    assert _guess(own).kernel == "scale<7, double>"


def test_no_file_outside_a_repository_is_read(tmp_path) -> None:
    own = tmp_path / "scale.cuh"
    own.write_text(KERNEL)
    (tmp_path / "main.cu").write_text(HOST.format(header="scale.cuh"))
    assert user_of(str(own), "scale") is None


def test_a_launch_by_the_driver_counts(repository) -> None:
    own = repository / "src" / "scale.cu"
    own.write_text(KERNEL.replace("__global__", 'extern "C" __global__'))
    host = """
    void run(CUmodule module, CUdeviceptr a, CUdeviceptr b) {
        dim3 threads(24, 1, 1);
        int n = 96, times = 5;
        CUfunction function;
        cuModuleGetFunction(&function, module, "scale");
        void *given[] = {(void *)&a, (void *)&b, &n, &times};
        cuLaunchKernel(function, 4, 1, 1, threads.x, threads.y, threads.z, 0, 0, &given[0], 0);
    }
    """.replace("&given[0]", "given")
    (repository / "app" / "main.cpp").write_text(host)
    launch = _guess(own)
    assert (launch.grid, launch.block) == ("4", "24")
    assert dict(launch.arguments)["times"] == "5"


@pytest.mark.parametrize("launch", ["scale<<<n / 48, 48>>>", "scale<< <n / 48, 48>> >"])
def test_the_first_kernel_is_one_that_somebody_launches(repository, launch) -> None:
    own = repository / "src" / "scale.cuh"
    own.write_text(f"__global__ void older(float *a) {{ a[threadIdx.x] = 0; }}\n{KERNEL}")
    host = HOST.format(header="../src/scale.cuh").replace("scale<<<n / 48, 48>>>", launch)
    host = host.replace("void run() {", "void run() {\n#if 0\n  older<<<1, 2000>>>(0);\n#endif")
    (repository / "app" / "main.cu").write_text(host)
    found = _guess(own)
    assert (found.kernel, found.grid, found.block) == ("scale", "2", "48")


@pytest.mark.parametrize("kernel", ["", "fill"])
def test_what_includes_a_file_with_launches_of_its_own_comes_before_it(repository, kernel) -> None:
    """Named or not: the launch that is told at the end can be asked for again."""
    own = repository / "src" / "fill.cu"
    own.write_text(
        "__global__ void fill(int *a) { if (threadIdx.x < n()) a[threadIdx.x] = 1; }\n"
        "__global__ void clear(int *a) { if (threadIdx.x < n()) a[threadIdx.x] = 0; }\n"
        "void run(int *a) { fill<<<1, 32>>>(a); }\n"
    )
    whole = repository / "src" / "fill.cuh"
    whole.write_text('__device__ int n() { return 9; }\n#include "fill.cu"\n')
    assert _guess(own, kernel).included == str(whole)


def test_sources_come_once_those_nearest_to_the_file_first(repository) -> None:
    own = repository / "src" / "own" / "k.cu"
    for name in (
        *("b.cu", "a.cuh", "notes.txt", "app/main.cpp", ".git/kept.cu", "src/y.inl", "src/x.hpp"),
        *("src/own/z.h", "src/own/k.cu", "src/deep/er/c.cc", "src/.hidden/d.cu"),
    ):
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text("")
    (repository / "src" / "own" / "again").symlink_to(repository, target_is_directory=True)
    found = [Path(file.path).relative_to(repository).as_posix() for file in _files(repository, own)]
    nearest = ["src/own/z.h", "src/x.hpp", "src/y.inl", "src/deep/er/c.cc"]
    assert found == [*nearest, "a.cuh", "b.cu", "app/main.cpp"]


LAUNCHER = (
    KERNEL
    + """
void scaled(const float *from, float *to, int n, int times) {
    scale<<<n / 48, 48>>>(from, to, n, times);
}
"""
)
CALLER = """
void scaled(const float *from, float *to, int n, int times);
int main() {
    const int n = 96;
    float *a, *b;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    scaled(a, b, n, 3);
}
"""


@pytest.mark.parametrize("included", ["", "src/scale.cu"])
def test_a_program_without_kernels_is_launched_where_what_it_calls_launches_one(
    repository, included
) -> None:
    own, place = repository / "main.cu", repository / "src" / "scale.cu"
    own.write_text(CALLER)
    place.write_text(LAUNCHER)
    (repository / "src" / "other.cu").write_text(LAUNCHER.replace("scaled(", "halved("))
    given = str(repository / included) if included else ""
    asked = FileLaunch(str(own), "", "", "", "", included=given)
    source, found = at_its_kernels(CALLER, asked)
    assert (found.path, found.kernel) == (str(place), "scale")
    assert found.included == str(own), "a file is not included into itself"
    launch = completed(source, found).launch
    assert (launch.grid, launch.block) == ("2", "48")
    assert dict(launch.arguments)["n"] == "96"


def test_a_program_that_calls_no_launch_stays_without_a_kernel(repository) -> None:
    own = repository / "main.cu"
    own.write_text(CALLER.replace("scaled", "other"))
    (repository / "src" / "scale.cu").write_text(LAUNCHER)
    asked = FileLaunch(str(own), "", "", "", "")
    assert at_its_kernels(own.read_text(), asked)[1] == asked
    with pytest.raises(TilescopeError, match="it has none"):
        completed(own.read_text(), replace(asked, kernel="scale"))
