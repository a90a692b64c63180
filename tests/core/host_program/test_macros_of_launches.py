"""Host code with macros: launches in them, calls without a semicolon, a device's properties."""

from __future__ import annotations

from pathlib import Path

from core.guessing.launch_guess import completed
from core.user_files.launch_texts import FileLaunch

KERNEL = """
template <int ROWS, int COLUMNS>
__global__ void tile(float *out, const float *in, int n)
{
    int i = (blockIdx.y * ROWS + threadIdx.y) * n + blockIdx.x * COLUMNS + threadIdx.x;
    out[i] = in[i];
}
"""


def _launch(host: str, path: Path) -> FileLaunch:
    source = f"{KERNEL}{host}"
    return completed(source, FileLaunch(str(path / "k.cu"), "", "", "", "")).launch


def test_a_launch_in_a_macro_that_is_used_has_the_arguments_of_its_use(tmp_path):
    host = """
    #define CALL(ROWS, COLUMNS) \\
        else if (rows == ROWS) tile<ROWS, COLUMNS><<<2, dim3(COLUMNS, ROWS)>>>(out, in, n);
    void run(float *out, const float *in, int n, int rows)
    {
        if (false) {}
        CALL(4, 16)
        CALL(8, 8)
    }
    """
    launch = _launch(host, tmp_path)
    assert (launch.kernel, launch.block) == ("tile<4, 16>", "16,4")


def test_a_macro_called_without_a_semicolon_hides_no_declaration(tmp_path):
    host = """
    #define CHECK(x) if (!(x)) { throw 1; }
    void run(float *out, const float *in, int n)
    {
        CHECK(n > 0)
        constexpr int ROWS = 8;
        constexpr int COLUMNS = 32;
        dim3 block(COLUMNS / 2, ROWS / 2);
        tile<ROWS, COLUMNS><<<4, block>>>(out, in, n);
    }
    """
    assert _launch(host, tmp_path).block == "16,4"


def test_numbers_of_the_device_are_those_of_a_small_one(tmp_path):
    host = """
    cudaDeviceProp prop;
    void run(float *out, const float *in, int n)
    {
        const int threads = prop.maxThreadsPerMultiProcessor == 1536 ? 768 : 1024;
        dim3 block = {8, 4, (unsigned)threads / 256};
        tile<8, 8><<<prop.multiProcessorCount, block>>>(out, in, n);
    }
    """
    launch = _launch(host, tmp_path)
    assert (launch.block, launch.grid) == ("8,4,4", "4,1")


def test_a_macro_has_the_meaning_of_the_branch_that_is_taken(tmp_path):
    host = """
    #ifndef EMULATED
    #define LOG_WARP 5
    #else
    #define LOG_WARP 0
    #endif
    #ifdef THREADS_GIVEN
    #define THREADS THREADS_GIVEN
    #else
    #define THREADS (3 << LOG_WARP)
    #endif
    void run(float *out, const float *in, int n) { tile<8, 8><<<4, THREADS>>>(out, in, n); }
    """
    assert _launch(host, tmp_path).block.split(",")[0] == "96"
