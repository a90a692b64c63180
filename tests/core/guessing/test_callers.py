"""What callers of the launching function say of a launch, in the same file and in others."""

import pytest

from core.guessing.launch_guess import guess_launch
from core.host_program.run_to_launch import HostProgram
from core.recording.record_launch import record
from core.source.functions_and_calls import HostSyntax
from core.source.kernels_and_launches import host_launches
from core.user_files.launch_texts import file_workload

SCALE = """
__global__ void scale(float *out, const float *in, int rows, int cols) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows && j < cols) out[i * cols + j] = 2 * in[i * cols + j];
}
"""
RUN = """
void run(float *dst, float *src, int h, int w) {
  dim3 block(16, 8);
  scale<<<dim3((w + 15) / 16, (h + 7) / 8), block>>>(dst, src, h, w);
}
"""
ALLOCATED = "float *a, *b; cudaMalloc(&a, h * width * 4); cudaMalloc(&b, h * width * 4);"


def launched(source):
    """The numbers and bytes with which the first launch of a source is reached."""
    (launch,) = host_launches(source)
    return HostProgram(source, {}, {}, launch).before({})


def bytes_of(found, *names):
    return tuple(found.pointer(name)[0] for name in names)


def arguments(source, path="file.cu"):
    return dict(guess_launch(source, path).arguments)


def test_a_launch_has_what_its_caller_passes():
    main = f"int main() {{ int h = 480, width = 640; {ALLOCATED} run(b, a, h, width); }}"
    found = launched(SCALE + RUN + main)
    assert (found.numbers["h"], found.numbers["w"]) == (480, 640)
    assert bytes_of(found, "dst", "src") == (480 * 640 * 4, 480 * 640 * 4)
    assert found.formals == set()
    guess = arguments(SCALE + RUN + main)
    rows, cols = int(guess["rows"]), int(guess["cols"])
    assert 480 // rows in (8, 16, 32)  # each halved until the launch is small
    assert 640 // cols in (8, 16, 32)
    assert (480 % rows, 640 % cols) == (0, 0)
    assert guess["in"] == f"random:float32[{rows},{cols}]"


@pytest.mark.parametrize(
    ("declared", "defined", "call"),
    [
        ("void run(float *dst, float *src, int h, int w = 640, int s = 0);", "void run(", "run("),
        (
            "struct R { void run(float *to, float *from, int, int w = 640, int = 0); };",
            "void R::run(",
            "R r; r.run(",
        ),
    ],
)
def test_a_default_of_a_declaration_counts_where_a_caller_passes_less(declared, defined, call):
    own = RUN.replace("void run(", defined).replace("int w)", "int w, int s)")
    main = f"int main() {{ int h = 480, width = 640; {ALLOCATED} {call}b, a, h); }}"
    found = launched(SCALE + declared + own + main)
    assert (found.numbers["h"], found.numbers["w"]) == (480, 640)
    assert bytes_of(found, "dst", "src") == (480 * 640 * 4, 480 * 640 * 4)


CASES = """
template <int B> __global__ void fill(float *p, int n) {
  int i = blockIdx.x * B + threadIdx.x;
  if (i < n) p[i] = i;
}
struct Config { int n = 3000; int block = 128; };
class Filling {
  Config config;
  float *p;
 public:
  explicit Filling(const Config &c) : config(c) { cudaMalloc(&p, c.n * sizeof(float)); }
  void step() {
    int grid = (config.n + config.block - 1) / config.block;
    switch (config.block) {
      case 64: fill<64><<<grid, 64>>>(p, config.n); break;
      case 128: fill<128><<<grid, 128>>>(p, config.n); break;
    }
  }
};
"""


@pytest.mark.parametrize(
    "made",
    [
        "Filling f(c); f.step();",
        "auto f = std::make_unique<Filling>(c); f->step();",
        "std::shared_ptr<Filling> f = std::make_shared<Filling>(c); f->step();",
    ],
)
def test_the_case_of_a_member_is_the_one_that_the_object_has(made):
    guess = guess_launch(f"{CASES} int main() {{ Config c; {made} }}", "file.cu")
    assert (guess.kernel, guess.block) == ("fill<128>", "128")
    assert (int(guess.grid) - 1) * 128 < int(dict(guess.arguments)["n"]) <= int(guess.grid) * 128


@pytest.mark.parametrize("passed", ["draw", "&draw"])
def test_what_is_only_registered_is_called_behind_the_setup(passed):
    source = f"""
dim3 threads, blocks;
float *P, *V;
__global__ void step(float* p, const float* v, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += v[i];
}}
void draw() {{ step<<<blocks, threads>>>(P, V, 3000); }}
void setup()
{{
    threads.x = 192;
    blocks.x = (3000 - 1) / threads.x + 1;
    cudaMalloc(&P, 3000 * sizeof(float));
    cudaMalloc(&V, 3000 * sizeof(float));
}}
int main(int argc, char** argv)
{{
    callWhenShown({passed});
    setup();
    loopForever();
}}
"""
    launch = guess_launch(source, "file.cu")
    assert (launch.grid, launch.block) == ("16", "192")
    assert dict(launch.arguments)["p"] == "zeros:float32[3000]"


def test_without_a_caller_nothing_changes():
    prototype = "void run(float *dst, float *src, int h, int w);\n"
    text = prototype + SCALE + RUN
    (launch,) = host_launches(text)
    assert not HostProgram(text, {}, {}, launch).has_callers
    assert not HostSyntax(text).is_called("run")
    assert launched(text).formals == {"h", "w"}


@pytest.mark.parametrize(
    ("main", "h", "w"),
    [
        ("void f() { run(b, a, 96, 2 * 80); }", 96, 160),
        ("int main() { int w = 96, h = 160; run(b, a, w, h); }", 96, 160),  # the other way round
        ("int main() { int n = 96; run(b, a, n, n); }", 96, 96),
        ("void g(int n) { run(b, a, n, n / 2); } int main() { g(96); }", 96, 48),
        ("const int N = 96; void f() { run(b, a, N, N * 2); }", 96, 192),
        ("void f() { for (int i = 0; i < 4; i++) { if (i) { run(b, a, 96, 48); } } }", 96, 48),
        ("int main() { int block = 96; run(b, a, block, 48); }", 96, 48),  # a name of run's own
        ("struct S { int n; }; int main() { S s; s.n = 96; run(b, a, s.n, 48); }", 96, 48),
        ("int f() { return run(b, a, 96, 48), 0; }", 96, 48),
        ("int main() { int n = 3; run(b); } void f() { run(b, a, 96, 48); }", 96, 48),
    ],
)
def test_names_are_made_to_agree(main, h, w):
    found = launched(SCALE + RUN + main)
    assert (found.numbers["h"], found.numbers["w"]) == (h, w)


def test_what_the_first_caller_is_given_stays_open():
    found = launched(SCALE + RUN + "void f(int height, int n) { run(b, a, height, n * 2); }")
    assert found.formals == {"f::height", "f::n"}
    assert found.numbers["h"] == found.numbers["f::height"]
    assert found.numbers["w"] == 2 * found.numbers["f::n"]


def test_defaults_count_where_nothing_is_passed():
    run = RUN.replace("int w)", "int w = 48)")
    found = launched(SCALE + run + "int main() { run(b, a, 96); }")
    assert (found.numbers["h"], found.numbers["w"]) == (96, 48)


def test_bodies_of_functions_that_allocate():
    source = """
template <typename T> void allocate(T **p, int count) {
  int n = count * sizeof(T);
  cudaMalloc((void **)p, n);
}
void both(float **x, float **y, int n) { allocate(x, n); allocate(y, 2 * n); }
int main() { int n = 96; float *d, *e; both(&d, &e, n * n); run(d, e, n, n); }
"""
    found = launched(SCALE + RUN + source)
    assert bytes_of(found, "dst", "src") == (96 * 96 * 4, 2 * 96 * 96 * 4)
    assert found.numbers["h"] == 96  # the other functions have an n of their own


def test_pointers_into_what_was_allocated():
    source = """
__global__ void k(float *a, const float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = b[i - 1] + b[i];
}
struct In { float *raw, *b, *a; };
void init(In *in, int n) {
  cudaMalloc(&in->raw, sizeof(float) * (n + 1));
  in->b = in->raw + 1;
  cudaMalloc((void **)&in->a, n * 4);
}
void go(const In &x, int size) { k<<<(size + 255) / 256, 256>>>(x.a, x.b, size); }
int main() { In in; int n = 2048; init(&in, n); go(in, n); }
"""
    guess = arguments(source)
    n = int(guess["n"])
    assert guess["a"] == f"zeros:float32[{n}]"
    assert guess["b"] == f"random:float32[{n + 1}]+1"


def test_the_caller_that_allocates_counts_before_others():
    first = "void draw() { run(p, q, 7, 7); }"
    second = f"void test() {{ int h = 96, width = 48; {ALLOCATED} run(b, a, h, width); }}"
    found = launched(SCALE + RUN + first + second)
    assert (found.numbers["h"], *bytes_of(found, "dst")) == (96, 96 * 48 * 4)


def test_functions_that_call_each_other_end():
    found = launched(
        SCALE + RUN + "void f(int n) { g(n); run(b, a, n, n); } void g(int n) { f(n); }"
    )
    assert found.numbers["h"] == found.numbers["w"]


def test_another_file_calls_what_launches(tmp_path):
    (tmp_path / ".git").mkdir()
    kernel = tmp_path / "kernel.cu"
    kernel.write_text(SCALE + 'extern "C"' + RUN)
    (tmp_path / "main.cpp").write_text(
        'extern "C" void run(float *, float *, int, int);\n'
        f"const int h = 96, width = h + 4;\nint main() {{ {ALLOCATED} run(a, b, h, width); }}"
    )
    guess = arguments(kernel.read_text(), str(kernel))
    rows, cols = int(guess["rows"]), int(guess["cols"])
    assert cols == rows + 4
    own = "void run(float *, float *, int, int) {}\n"  # that file calls its own
    (tmp_path / "main.cpp").write_text(
        f"{own}int main() {{ int h = 96, width = 100; {ALLOCATED} run(a, b, h, width); }}"
    )
    guess = arguments(kernel.read_text(), str(kernel))
    assert guess["rows"] == guess["cols"]


def test_names_of_calls():
    found = HostSyntax("int f(int a) { return g(a) + x.h<2>(2) + a::i(3); }")
    assert found.called == {"g", "h", "i"}
    assert found.by_name.keys() == {"f"}


def test_numbers_that_the_caller_does_not_know_stay_open():
    body = f"int h = atoi(v[1]), width = h; {ALLOCATED} run(b, a, h, h);"
    main = f"int main(int c, char **v) {{ {body} }}"
    guess = arguments(SCALE + RUN + main)
    assert guess["rows"] == guess["cols"]
    assert guess["out"] == f"zeros:float32[{guess['rows']},{guess['cols']}]"


def test_a_launch_that_unknown_numbers_make_impossible_is_not_taken():
    """Of 64 columns and as many to leave out at each side nothing is left: leave callers out."""
    run = "void run(float *a, float *b, int h, int w) { scale<<<4, 64>>>(a, b, h, w - 2); }"
    main = "void outer(float *a, float *b, int n, int skip) { run(a, b, n, n - 2 * skip); }"
    guess = arguments(SCALE + run + main)
    assert int(guess["cols"]) > 0


def test_numbers_that_arguments_of_the_program_have_by_default():
    main = """
    int read(int argc, char **argv, int at, int otherwise);
    int main(int argc, char **argv) {
      int h = 1 << read(argc, argv, 1, 10), width = read(argc, argv, 2, 640);
      %s run(b, a, h, width);
    }"""
    found = launched(SCALE + RUN + main % ALLOCATED)
    assert (found.numbers["h"], found.numbers["w"]) == (1024, 640)
    assert {"main::h", "main::width"} <= found.roots.keys()  # each may be halved


@pytest.mark.parametrize(
    ("made", "nbytes"),
    [
        ("float *p = (float *)my_malloc(h * 4)", 384),
        ("auto p = allocate<double>(h)", 768),
        ("float *p = static_cast<float *>(calloc(h, sizeof(float)))", 384),
        ("p = ns::device_alloc<float>(h)", 384),
    ],
)
def test_what_helpers_of_the_program_allocate(made, nbytes):
    found = launched(f"{SCALE}{RUN}int main() {{ int h = 96; {made}; run(p, p, h, h); }}")
    assert bytes_of(found, "dst") == (nbytes,)


def test_a_number_of_an_object_is_open():
    main = "void f(Image &i) { int h = i.rows, w = i->cols(); run(a, b, h, w); }"
    found = launched(SCALE + RUN + main)
    assert found.formals == {"f::h", "f::w"}


def test_fewer_elements_may_have_fewer_threads():
    source = """
    __global__ void k(float *a, int n) {
      extern __shared__ float s[];
      s[threadIdx.x] = a[blockIdx.x * n + threadIdx.x % n];
      a[blockIdx.x * n + threadIdx.x % n] = s[threadIdx.x];
    }
    int main() {
      int n = 512, rows = 1024;
      float *a;
      cudaMalloc(&a, rows * n * sizeof(float));
      int threads = 256;
      if (n < threads) { threads = n; }
      k<<<rows, threads, threads * sizeof(float)>>>(a, n);
    }"""
    launch = guess_launch(source, "k.cu")
    assert int(launch.shared) == 4 * int(launch.block)


def test_an_array_that_an_unknown_number_decides_is_as_large_as_what_is_known():
    """`most` is the command line's, and the loop's first size is known to be no larger."""
    block = "scale<<<dim3(1, 1), dim3(16, 16)>>>(a, b, h, w);"
    run = f"void run(float *a, float *b, int h, int w) {{ {block} }}"
    main = """
    int main(int argc, char **argv) {
      int most = atoi(argv[1]);
      float *a, *b;
      cudaMalloc(&a, most * most * 4);
      cudaMalloc(&b, most * most * 4);
      for (int i = 256; i <= most; i += 256) run(a, b, i, i);
    }"""
    guess = arguments(SCALE + run + main)
    assert guess["out"] == f"zeros:float32[{guess['rows']},{guess['cols']}]"


def test_a_function_that_gets_the_kernel_launches_it():
    source = """
    template <int ROWS, int WARPS> __global__ void copy(const float *q, float *o, int n) {
      extern __shared__ float s[];
      s[threadIdx.x] = q[blockIdx.x * ROWS + threadIdx.x % ROWS];
      o[blockIdx.x * ROWS + threadIdx.x % ROWS] = s[threadIdx.x];
    }
    inline constexpr int WARP_SIZE = 32;
    template <typename T, typename... Args>
    void launch_kernel(T *kernel, int blocks, int threads, int shared, Args... args) {
      kernel<<<blocks, threads, shared>>>(args...);
    }
    void run(const float *q, float *o, int n) {
      const int ROWS = 64, WARPS = 4, threads = WARPS * WARP_SIZE;
      auto kernel = copy<ROWS, WARPS>;
      launch_kernel(kernel, n / ROWS, threads, threads * sizeof(float), q, o, n);
    }"""
    launch = guess_launch(source, "k.cu")
    assert launch.kernel == "copy<64, 4>"
    assert (launch.block, launch.shared) == ("128", "512")
    assert int(launch.grid) * 64 == int(dict(launch.arguments)["n"])


def test_template_arguments_of_host_functions_and_classes_are_passed_on():
    kernel = """
    template <typename T, int N> __global__ void k(T *a) { a[threadIdx.x] = N; }
    """
    through = """
    template <typename T, int DEPTH> void inner(T *a) { k<T, DEPTH><<<1, DEPTH>>>(a); }
    template <typename T, int SIZE> void outer(T *a) { inner<T, SIZE>(a); }
    void run(double *a) { outer<double, 64>(a); }
    """
    assert guess_launch(kernel + through, "k.cu").kernel == "k<double, 64>"
    assert guess_launch(kernel + through, "k.cu").block == "64"
    method = """
    template <int SIZE> struct Filter { void run(float *a) { k<float, SIZE><<<1, 32>>>(a); } };
    Filter<16> filter;
    """
    assert guess_launch(kernel + method, "k.cu").kernel == "k<float, 16>"
    apart = """
    template <int SIZE> class Filter { void run(float *a); };
    template <int SIZE> void Filter<SIZE>::run(float *a) { k<float, SIZE><<<1, 32>>>(a); }
    template class Filter<24>;
    """
    assert guess_launch(kernel + apart, "k.cu").kernel == "k<float, 24>"


def test_the_first_kernel_is_the_first_that_is_launched():
    source = "__global__ void old(float *a, int n) { a[n] += threadIdx.x; }\n" + SCALE + RUN
    assert guess_launch(source, "k.cu").kernel == "scale"
    assert guess_launch(source.replace("<<<", "("), "k.cu").kernel == "old"


def test_enumerations_stay_what_they_are():
    """What has a value in an `enum` is no size to halve: the kernel has it, too."""
    source = """
    enum { SIDE = 512 };
    __global__ void k(int *a) { a[blockIdx.x * SIDE + threadIdx.x] = SIDE; }
    int main() { int *a; cudaMalloc(&a, 8 * SIDE * 4); k<<<8, SIDE>>>(a); }
    """
    launch = guess_launch(source, "k.cu")
    assert (launch.block, launch.defines) == ("512", "")
    assert dict(launch.arguments)["a"] == "zeros:int32[4096]"


def test_the_size_of_an_instance_that_the_host_names_by_its_constants():
    source = """
    template <int ROWS, int STAGES> struct Stages { float tile[STAGES][ROWS * 4]; int full; };
    template <int ROWS, int STAGES> __global__ void k(float *a) {
      extern __shared__ char raw[];
      Stages<ROWS, STAGES> &s = *reinterpret_cast<Stages<ROWS, STAGES> *>(raw);
      s.tile[STAGES - 1][threadIdx.x] = a[threadIdx.x];
      a[threadIdx.x] = s.tile[STAGES - 1][threadIdx.x];
    }
    void run(float *a) {
      constexpr int ROWS = 16, STAGES = 3;
      size_t bytes = sizeof(Stages<ROWS, STAGES>);
      k<ROWS, STAGES><<<1, 64, bytes>>>(a);
    }"""
    assert guess_launch(source, "k.cu").shared == str(3 * 64 * 4 + 4)


@pytest.mark.parametrize("chosen", ["fast ? k<64> : k<128>", "fast ? &k<64> : &k<128>", "k<64>"])
def test_the_kernel_of_a_condition_is_its_first(chosen):
    source = f"""
    template <int N> __global__ void k(float *a) {{ a[threadIdx.x] = N; }}
    void run(float *a, bool fast) {{ auto *kernel = {chosen}; kernel<<<1, 32>>>(a); }}
    """
    assert guess_launch(source, "k.cu").kernel == "k<64>"


def test_what_is_divided_stays_divisible():
    """96 tiles of 100 rows become 3: half of 300 rows would be one tile and a half."""
    source = """
    __global__ void k(float *a, int rows) {
      for (int t = blockIdx.x; t < rows / 100; t += gridDim.x)
        for (int i = threadIdx.x; i < 100; i += blockDim.x) a[t * 100 + i] = t;
    }
    int main() {
      int rows = 9600 * 2;
      float *a;
      cudaMalloc(&a, rows * sizeof(float));
      k<<<4, 32>>>(a, rows);
    }"""
    rows = int(arguments(source)["rows"])
    assert rows % 100 == 0
    assert 100 <= rows < 9600


def test_what_is_left_of_a_size_stays_above_zero():
    """The filter is not halved with the row that it goes over."""
    guess = arguments("""
    __global__ void filtered(const float *from, const float *filters, float *to,
                             int depth, int part, int row, int left) {
      int across = (left + 15) / 16;
      int x = blockIdx.z % across * 16 + threadIdx.x, y = blockIdx.z / across * 16 + threadIdx.y;
      if (x >= left || y >= left) return;
      float sum = 0;
      for (int d = 0; d < depth; d++)
        for (int j = 0; j < part; j++)
          for (int i = 0; i < part; i++)
            sum += from[((blockIdx.x * depth + d) * row + y + j) * row + x + i]
              * filters[((blockIdx.y * depth + d) * part + j) * part + i];
      to[((blockIdx.x * gridDim.y + blockIdx.y) * left + y) * left + x] = sum;
    }
    void run(int images, int depth, int made, int row, int part) {
      const int left = row - part + 1;
      float *from, *filters, *to;
      cudaMalloc(&from, images * depth * row * row * 4);
      cudaMalloc(&filters, made * depth * part * part * 4);
      cudaMalloc(&to, images * made * left * left * 4);
      int across = (left + 15) / 16;
      dim3 grid(images, made, across * across);
      filtered<<<grid, dim3(16, 16, 1)>>>(from, filters, to, depth, part, row, left);
    }
    """)
    row, part, left = (int(guess[name]) for name in ("row", "part", "left"))
    assert left == row - part + 1 > 0


def test_a_given_number_says_what_the_variable_is_that_it_comes_from():
    """The file's arrays are of `most`, as rows and columns are."""
    allocated = ALLOCATED.replace("h * width", "most * most")
    body = f"int most = 2048, h = most, width = most; {allocated} run(b, a, h, width);"
    given = {"rows": "96", "cols": "96"}
    launch = guess_launch(f"{SCALE}{RUN}int main() {{ {body} }}", "k.cu", None, given)
    assert dict(launch.arguments)["out"] == "zeros:float32[96,96]"


OFF_BY_ONE = """
__global__ void twice(const float *a, float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i CHECK n) b[i] = 2 * a[i];
}
extern "C" void solve(const float *a, float *b, int n) {
  int threads = 256, blocks = (n + threads - 1) / threads;
  twice<<<blocks, threads>>>(a, b, n);
}
"""


@pytest.mark.parametrize(("check", "faults"), [("<", set()), ("<=", {"out_of_bounds"})])
def test_threads_lie_beyond_a_number_that_the_kernel_checks(check, faults):
    """Nobody says n: of 1,024, four whole blocks, no thread would come to `i <= n`'s fault."""
    source = OFF_BY_ONE.replace("CHECK", check)
    launch = guess_launch(source, "k.cu")
    assert (launch.grid, dict(launch.arguments)["a"]) == ("4", "random:float32[992]")
    assert {f.kind for f in record(file_workload(source, launch)).findings} == faults


def test_a_kernel_without_a_check_gets_whole_blocks():
    source = OFF_BY_ONE.replace("if (i CHECK n)", "")
    launch = guess_launch(source, "k.cu")
    assert dict(launch.arguments)["n"] == "1024"
    assert not record(file_workload(source, launch)).findings


TILES = """
template <int TILES_OF_K>
__global__ void sums(const float *in, float *out, int n, int length) {
  int tiles = length / 16 / TILES_OF_K;
  for (int t = 0; t < tiles; t++)
    out[blockIdx.x * n + threadIdx.x] += in[t * n + threadIdx.x];
}
"""


@pytest.mark.parametrize(
    "launching",
    [
        "",
        "void run(float *in, float *out, int n, int length, int sms) {\n"
        "  sums<32><<<sms, 64>>>(in, out, n, length);\n}\n",
    ],
    ids=["alone", "launched"],
)
def test_a_size_is_not_less_than_the_tile_that_the_kernel_divides_it_by(launching):
    instance = "template __global__ void sums<32>(const float *, float *, int, int);\n"
    assert int(arguments(TILES + instance + launching)["length"]) >= 512


def test_a_function_of_the_calls_own_namespace_is_meant():
    """Several versions of a kernel lie in namespaces of their own, with helpers of one name."""
    source = """
namespace first {
int side(int n) { return n; }
namespace own { int side(int n) { return n + 2; } }
void scaled(int n);
}
namespace second {
int side(int n) { return 8 * n; }
__global__ void scale(float *out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 2; }
void run(int n) {
  int here = side(n), there = first::side(n), far = first::own::side(n);
  scale<<<here, 32>>>(nullptr);
}
}
int main() { second::run(5); }
"""
    numbers = launched(source).numbers
    assert (numbers["here"], numbers["there"], numbers["far"]) == (40, 5, 7)
