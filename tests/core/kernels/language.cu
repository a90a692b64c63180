// Kernels as people write them: what C++ has to offer.
extern "C" __device__ int printf(const char*, ...);

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0) return n + 1;
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

__device__ __noinline__ void quicksort(int* a, int low, int high)
{
    if (low >= high) return;
    int pivot = a[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (a[i] < pivot) i++;
        while (a[j] > pivot) j--;
        if (i <= j) {
            int swap = a[i];
            a[i++] = a[j];
            a[j--] = swap;
        }
    }
    quicksort(a, low, j);
    quicksort(a, i, high);
}

extern "C" __global__ void recursion(unsigned* out, int* data)
{
    int t = threadIdx.x;
    out[t] = ackermann(t % 3, t / 3);
    int mine[12];
    for (int i = 0; i < 12; i++) mine[i] = data[t * 12 + i];
    quicksort(mine, 0, 11);
    for (int i = 0; i < 12; i++) data[t * 12 + i] = mine[i];
}

template <typename T, int N>
struct Polynomial {
    T c[N];
    __device__ __noinline__ T operator()(T x) const
    {
        T sum = 0;
        for (int i = N - 1; i >= 0; i--) sum = sum * x + c[i];
        return sum;
    }
};

template <typename T>
__device__ __noinline__ T clamped(T x, T low, T high) { return x < low ? low : x > high ? high : x; }

extern "C" __global__ void templates(double* out, const float* in)
{
    int t = threadIdx.x;
    Polynomial<double, 4> p = {{1, -2, 0.5, 3}};
    Polynomial<short, 3> q = {{7, 1, 2}};
    out[2 * t] = clamped<double>(p(in[t]), -10, 10);
    out[2 * t + 1] = clamped<short>(q((short)(in[t] * 10)), -300, 300);
}

struct Shape {
    __device__ virtual ~Shape() {}
    __device__ virtual float area() const = 0;
    __device__ virtual int corners() const { return 0; }
};
struct Circle : Shape {
    float r;
    __device__ explicit Circle(float radius) : r(radius) {}
    __device__ float area() const override { return 3.0f * r * r; }
};
struct Box : Shape {
    float a, b;
    __device__ Box(float x, float y) : a(x), b(y) {}
    __device__ float area() const override { return a * b; }
    __device__ int corners() const override { return 4; }
};

extern "C" __global__ void virtuals(float* out, const float* in)
{
    int t = threadIdx.x;
    Circle circle(in[t]);
    Box box(in[t], 2.0f + t);
    Shape* shape = t % 3 == 0 ? (Shape*)&circle : (Shape*)&box;
    Shape* made = t % 2 ? (Shape*)new Circle(t) : (Shape*)new Box(t, t);
    out[t] = shape->area() + 100 * shape->corners() + made->area();
    delete made;
}

__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ int negative(int x) { return -x; }
typedef int (*Function)(int);
__device__ Function table[] = {twice, square, negative};

extern "C" __global__ void pointers(int* out, const int* in)
{
    int t = threadIdx.x;
    Function local[2] = {t % 5 == 0 ? square : twice, negative};
    out[t] = table[in[t] % 3](t) + local[t & 1](in[t]);
}

struct Particle {
    double position;
    char kind;
    float speed[3];
    short age;
};  // with holes

__device__ __noinline__ Particle moved(Particle p, double by)
{
    p.position += by;
    p.age++;
    return p;
}

extern "C" __global__ void structures(Particle* out, const Particle* in, int n)
{
    __shared__ Particle pool[32];
    int t = threadIdx.x;
    Particle mine = in[t];
    mine.speed[t % 3] *= 2;
    pool[t] = moved(mine, t);
    __syncthreads();
    Particle other = pool[(t + 1) % n];
    Particle copy = other;
    copy.kind = 'a' + t % 26;
    out[t] = copy;
}

union Bits {
    float real;
    unsigned word;
    struct { unsigned fraction : 23, exponent : 8, sign : 1; } field;
};

extern "C" __global__ void bits(int* out, const float* in)
{
    int t = threadIdx.x;
    Bits b;
    b.real = in[t];
    b.field.exponent += 2;
    int kept = 0;
    for (int i = 0;; i++) {
        if (i % 3 == 1) continue;
        if (i > t) goto done;
        switch (i & 3) {
        case 0: kept += 1;
        case 1: kept += 10; break;
        case 2: kept -= 3; break;
        default: kept ^= 0x55;
        }
    }
done:
    out[2 * t] = (int)(b.real * 64);
    out[2 * t + 1] = kept;
}

extern "C" __global__ void wide(unsigned long long* out, const unsigned long long* in)
{
    int t = threadIdx.x;
    unsigned __int128 product = (unsigned __int128)in[2 * t] * in[2 * t + 1];
    __int128 difference = (__int128)in[2 * t] - (__int128)in[2 * t + 1];
    product += (unsigned __int128)(difference >> 3);
    product /= 12345678901ull;
    out[2 * t] = (unsigned long long)product;
    out[2 * t + 1] = (unsigned long long)(product >> 64);
}

extern "C" __global__ void prints(int* out, const int* in)
{
    int t = threadIdx.x;
    if (t % 16 == 3) printf("thread %d of %s: %5.2f, %lld, %c, %x\n", t, "many", in[t] / 4.0,
                            (long long)in[t] << 33, 'a' + t, in[t]);
    out[t] = in[t];
}
