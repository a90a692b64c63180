"""What the host's code says of the contents and the size of arrays."""

from __future__ import annotations

import pytest

from core.errors import ArgumentError
from core.guessing.launch_guess import completed, guess_launch
from core.guessing.trial_runs import fitted
from core.recording.record_launch import record
from core.user_files.launch_texts import FileLaunch, file_workload

LOCKED = """
struct Lock {{
    int *mutex;
    {made}
    __device__ void lock() {{ while (atomicCAS(mutex, 0, 1) != 0); __threadfence(); }}
    __device__ void unlock() {{ __threadfence(); atomicExch(mutex, 0); }}
}};
__global__ void total(Lock lock, float *c)
{{
    if (threadIdx.x == 0) {{ lock.lock(); *(volatile float *)c += 1; lock.unlock(); }}
}}
"""
CONSTRUCTOR = """Lock() {
        int state = 0; cudaMalloc((void **)&mutex, sizeof(int));
        cudaMemcpy(mutex, &state, sizeof(int), cudaMemcpyHostToDevice);
    }"""
MAIN = "int main() {{ float *c; Lock l; {} cudaMalloc(&c, 4); total<<<4, 32>>>(l, c); }}"


@pytest.mark.parametrize(
    ("made", "host"),
    [
        (CONSTRUCTOR, MAIN.format("")),
        ("", MAIN.format("cudaMalloc(&l.mutex, 4); cudaMemset(l.mutex, 0, 4);")),
        ("", ""),
    ],
)
def test_a_lock_in_a_structure_is_open_at_first(made, host):
    source = LOCKED.format(made=made) + host
    launch = guess_launch(source, "k.cu")
    assert dict(launch.arguments)["lock.mutex"].startswith("zeros:int32[")
    assert not record(file_workload(source, launch)).findings


@pytest.mark.parametrize(
    ("host", "fill"),
    [
        ("std::vector<int> h(n, -1); cudaMemcpy(x, h.data(), n * 4, {});", "ff"),
        ("std::vector<int> h(n, -1); h[0] = 0; cudaMemcpy(x, h.data(), n * 4, {});", "ff"),
        ("std::vector<int> h(n, 0); cudaMemcpy(x, &h[0], n * 4, {});", "zeros"),
        ("std::vector<int> h(n); std::fill(h.begin(), h.end(), 0);"
         "cudaMemcpy(x, h.data(), n * sizeof(int), {});", "zeros"),
        ("int *h = (int *)malloc(n * 4); memset(h, 0xff, n * 4); cudaMemcpy(x, h, n * 4, {});",
         "ff"),
        ("std::vector<int> h(n, 0); cudaMemcpy(x, h.data(), n * 2, {});", "zeros:128"),
        ("std::vector<int> h(n, 7); cudaMemcpy(x, h.data(), n * 4, {});", "random"),
        ("std::vector<int> h(n); cudaMemcpy(x, h.data(), n * 4, {});", "random"),
        ("std::vector<int> h(n, 0); for (int i = 0; i < n; i++) h[i] = i;"
         "cudaMemcpy(x, h.data(), n * 4, {});", "random"),
        ("std::vector<int> h(n, 0); for (auto &v : h) v = rand();"
         "cudaMemcpy(x, h.data(), n * 4, {});", "random"),
        ("std::vector<int> h(n, 0); set_up(h.data()); cudaMemcpy(x, h.data(), n * 4, {});",
         "random"),
    ],
)  # fmt: skip
def test_an_array_holds_the_one_value_that_the_host_copies_to_it(host, fill):
    source = f"""__global__ void k(int *x, int n) {{
        int i = threadIdx.x; if (i < n && x[i] == -1) x[i] = 1;
    }}
    int main() {{
        int n = 256, *x; cudaMalloc(&x, n * sizeof(int));
        {host.format("cudaMemcpyHostToDevice")}
        k<<<1, 256>>>(x, n);
    }}"""
    first, _, behind = dict(guess_launch(source, "k.cu").arguments)["x"].partition(":int32[256]")
    assert first + behind == fill


@pytest.mark.parametrize(
    "host",
    [
        "Task h[64]; cudaMalloc(&t, sizeof(h));",
        "Task h[64]; cudaMalloc(&t, 64 * sizeof(h[0]));",
        "std::vector<Task> h(64); cudaMalloc(&t, h.size() * sizeof(h[0]));",
    ],
)
def test_the_size_of_an_array_of_structures_counts_all_of_them(host):
    source = f"""struct Task {{ int begin, end; float weight; }};
    __global__ void k(const Task *t, int *to) {{ to[threadIdx.x] = t[threadIdx.x].end; }}
    int main() {{ Task *t; int *to; {host} cudaMalloc(&to, 64 * 4); k<<<1, 64>>>(t, to); }}"""
    launch = guess_launch(source, "k.cu")
    assert dict(launch.arguments)["t"] == "random:uint8[64,12]"
    assert not record(file_workload(source, launch)).findings


BATCHED = """
#include <vector>
__global__ void scale(float *const *x, const float *const *by, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[blockIdx.y][{index}] *= by[blockIdx.y][i * n];
}}
int main()
{{
    const int n = 100, batch = 6; std::vector<float *> h(batch), g(batch); float **x, **by;
    {rows}
    cudaMalloc(&x, batch * sizeof(float *)); cudaMalloc(&by, batch * sizeof(float *));
    cudaMemcpy(x, h.data(), batch * sizeof(float *), cudaMemcpyHostToDevice);
    cudaMemcpy(by, g.data(), batch * sizeof(float *), cudaMemcpyHostToDevice);
    scale<<<dim3((n + 63) / 64, {blocks}), 64>>>(x, by, n);
}}
"""
ROWS = """for (int i = 0; i < batch; ++i) {
        cudaMalloc(&h[i], n * sizeof(float)); cudaMalloc(&g[i], n * n * sizeof(float));
    }"""


@pytest.mark.parametrize(
    ("rows", "index", "blocks", "length", "array"),
    [
        (ROWS, "i", "batch", lambda n: n, ""),
        (ROWS, "i + 1", "batch", lambda n: n, "x"),
        (ROWS, "i", "batch + 1", lambda n: n, "x (pointers)"),
        ("make(h, g);", "2 * i", "batch", lambda n: 2 * n - 1, ""),  # as far as it reaches
    ],
)
def test_rows_behind_pointers_are_as_many_and_as_long_as_the_host_says(
    rows, index, blocks, length, array
):
    source = BATCHED.format(rows=rows, index=index, blocks=blocks)
    launch = fitted(source, completed(source, FileLaunch("k.cu", "", "", "", "")))
    given = dict(launch.arguments)
    assert given["x"] == f"pointers(random:float32[6,{length(int(given['n']))}])"
    trace = record(file_workload(source, launch), blocks="all")
    out_of = [f.message for f in trace.findings if f.kind == "out_of_bounds"]
    assert bool(out_of) == bool(array)
    assert not array or any(f" of {array}" in message for message in out_of)


@pytest.mark.parametrize("more", ["+ 1", "+ 2"])
def test_starts_of_rows_are_as_many_as_the_host_allocates(more):
    source = f"""__global__ void k(const int *row_ptr, const float *v, float *to, int rows) {{
        int r = blockIdx.x * blockDim.x + threadIdx.x;
        if (r >= rows) return;
        float sum = 0;
        for (int j = row_ptr[r + 1]; j < row_ptr[r + 2]; ++j) sum += v[j];
        to[r] = sum;
    }}
    int main() {{
        int rows = 300, *p; float *v, *o;
        cudaMalloc(&p, (rows {more}) * sizeof(int)); cudaMalloc(&v, 5000 * sizeof(float));
        cudaMalloc(&o, rows * sizeof(float));
        k<<<(rows + 127) / 128, 128>>>(p, v, o, rows);
    }}"""
    findings = record(file_workload(source, guess_launch(source, "k.cu"))).findings
    assert [f.array for f in findings if f.kind == "out_of_bounds"] == ["row_ptr"] * (more == "+ 1")


@pytest.mark.parametrize(
    ("index", "step"),
    [("y * step + x", "32"), ("(size_t)step * y + x", "32"), ("(x + 64 * y) * step", "1")],
)
def test_a_step_from_row_to_row_is_a_row(index, step):
    source = f"""__global__ void k(const unsigned char *in, unsigned char *to,
                                   int cols, int rows, int step) {{
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
        if (x < cols && y < rows) to[{index}] = in[{index}] + 1 + x;
    }}"""
    launch = fitted(source, completed(source, FileLaunch("k.cu", "", "", "", "")))
    assert dict(launch.arguments)["step"] == step
    assert not record(file_workload(source, launch)).findings


@pytest.mark.parametrize("taken", ["Function f", "float (*f)(float)", "Table f"])
def test_a_pointer_to_a_function_is_refused_by_its_name(taken):
    source = f"""typedef float (*Function)(float);
    struct Table {{ int n; Function of; }};
    __device__ float square(float x) {{ return x * x; }}
    __device__ Function d_square = square;
    __global__ void apply({taken}, float *x) {{
        x[threadIdx.x] = {"f.of" if "Table" in taken else "f"}(x[threadIdx.x]);
    }}
    int main() {{
        Function h; float *x; cudaMemcpyFromSymbol(&h, d_square, 8); cudaMalloc(&x, 128);
        apply<<<1, 32>>>({"{1, h}" if "Table" in taken else "h"}, x);
    }}"""
    name = "f.of" if "Table" in taken else "f"
    with pytest.raises(ArgumentError, match=f"takes a pointer to a function, {name}, which"):
        guess_launch(source, "k.cu")
    assert dict(guess_launch(source, "k.cu", given={name: "null"}).arguments)[name] == "null"


WIDE = """
__global__ void wide(float *A, float *B, float *C, int n)
{
    A += blockIdx.x * n; B += blockIdx.x * n; C += blockIdx.x * n;
    float4 t = reinterpret_cast<float4 *>(&A[threadIdx.x * 4])[0];
    float4 u = ((float4 *)(&B[threadIdx.x * 4]))[0];
    t.x += u.x;
    reinterpret_cast<float4 *>(&C[threadIdx.x * 4])[0] = t;
}
int main() { int n = 256; float *a, *b, *c; cudaMalloc(&a, 4 * n * 4); cudaMalloc(&b, 4 * n * 4);
    cudaMalloc(&c, 4 * n * 4); wide<<<4, 64>>>(a, b, c, n); }
"""


def test_elements_that_are_read_and_stored_as_another_type_are_read_and_stored():
    fills = {n: t.partition(":")[0] for n, t in dict(guess_launch(WIDE, "w.cu").arguments).items()}
    assert (fills["A"], fills["B"], fills["C"]) == ("random", "random", "zeros")
