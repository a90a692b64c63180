// Accesses that leave their array, or are not aligned. `//!` marks what is to be found on a line.

//@ past_end_load grid=2 block=32 x=input:float32[64] y=output:float32[64]
extern "C" __global__ void past_end_load(const float* x, float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i + 1];  //! out_of_bounds x
}
extern "C" __global__ void past_end_load_ok(const float* x, float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = i + 1 < 64 ? x[i + 1] : 0.0f;
}

//@ past_end_store grid=2 block=32 y=output:float32[50]
extern "C" __global__ void past_end_store(float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = i;  //! out_of_bounds y
}
extern "C" __global__ void past_end_store_ok(float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 50)
        y[i] = i;
}

//@ before_start grid=1 block=32 x=input:int32[32] y=output:int32[32]
extern "C" __global__ void before_start(const int* x, int* y)
{
    int i = threadIdx.x;
    y[i] = x[i] - x[i - 1];  //! out_of_bounds x
}
extern "C" __global__ void before_start_ok(const int* x, int* y)
{
    int i = threadIdx.x;
    y[i] = i > 0 ? x[i] - x[i - 1] : x[i];
}

//@ off_by_one_loop grid=1 block=4 x=input:float32[4,8] y=output:float32[4]
extern "C" __global__ void off_by_one_loop(const float* x, float* y)
{
    float sum = 0.0f;
    for (int k = 0; k <= 8; k++)
        sum += x[threadIdx.x * 8 + k];  //! out_of_bounds x
    y[threadIdx.x] = sum;
}
extern "C" __global__ void off_by_one_loop_ok(const float* x, float* y)
{
    float sum = 0.0f;
    for (int k = 0; k < 8; k++)
        sum += x[threadIdx.x * 8 + k];
    y[threadIdx.x] = sum;
}

//@ wrong_guard grid=3 block=16 x=input:float32[40] y=output:float32[40] n=int32:40
extern "C" __global__ void wrong_guard(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        y[i] = x[i];  //! out_of_bounds x //! out_of_bounds y
}
extern "C" __global__ void wrong_guard_ok(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i];
}

//@ rows_for_columns grid=1 block=5,3 x=input:float32[3,5] y=output:float32[5,3]
extern "C" __global__ void rows_for_columns(const float* x, float* y)
{
    y[threadIdx.x * 5 + threadIdx.y] = x[threadIdx.y * 5 + threadIdx.x];  //! out_of_bounds y
}
extern "C" __global__ void rows_for_columns_ok(const float* x, float* y)
{
    y[threadIdx.x * 3 + threadIdx.y] = x[threadIdx.y * 5 + threadIdx.x];
}

//@ wild_index grid=1 block=8 x=input:int32[8] y=output:int32[8]
extern "C" __global__ void wild_index(const int* x, int* y)
{
    y[threadIdx.x] = x[threadIdx.x * 1000003];  //! out_of_bounds x
}
extern "C" __global__ void wild_index_ok(const int* x, int* y)
{
    y[threadIdx.x] = x[threadIdx.x * 1000003 % 8];
}

//@ null_pointer grid=1 block=4 y=output:int32[4]
extern "C" __global__ void null_pointer(int* y)
{
    int* p = threadIdx.x == 2 ? nullptr : y;
    p[threadIdx.x] = 1;  //! out_of_bounds
}
extern "C" __global__ void null_pointer_ok(int* y)
{
    int* p = threadIdx.x == 2 ? nullptr : y;
    if (p)
        p[threadIdx.x] = 1;
}

//@ past_end_atomic grid=1 block=32 x=input:uint32[32] bins=inout:int32[100]
extern "C" __global__ void past_end_atomic(const unsigned* x, int* bins)
{
    atomicAdd(&bins[x[threadIdx.x]], 1);  //! out_of_bounds bins
}
extern "C" __global__ void past_end_atomic_ok(const unsigned* x, int* bins)
{
    if (x[threadIdx.x] < 100)
        atomicAdd(&bins[x[threadIdx.x]], 1);
}

//@ past_end_vector grid=1 block=8 x=input:float32[30] y=output:float32[32]
extern "C" __global__ void past_end_vector(const float* x, float* y)
{
    reinterpret_cast<float4*>(y)[threadIdx.x] = reinterpret_cast<const float4*>(x)[threadIdx.x];  //! out_of_bounds x
}
extern "C" __global__ void past_end_vector_ok(const float* x, float* y)
{
    if (threadIdx.x < 7)
        reinterpret_cast<float4*>(y)[threadIdx.x] = reinterpret_cast<const float4*>(x)[threadIdx.x];
}

//@ shared_past_end grid=2 block=32 y=output:float32[64]
extern "C" __global__ void shared_past_end(float* y)
{
    __shared__ float s[32];
    s[threadIdx.x + 1] = threadIdx.x;  //! out_of_bounds s
    __syncthreads();
    if (threadIdx.x > 0)
        y[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void shared_past_end_ok(float* y)
{
    __shared__ float s[33];
    s[threadIdx.x + 1] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x > 0)
        y[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];
}

//@ shared_before_start grid=1 block=64 y=output:float32[64]
extern "C" __global__ void shared_before_start(float* y)
{
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = s[(int)threadIdx.x - 1];  //! out_of_bounds s
}
extern "C" __global__ void shared_before_start_ok(float* y)
{
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = s[(threadIdx.x + 63) % 64];
}

//@ dynamic_shared_too_small grid=1 block=64 shared=128 y=output:float32[64]
extern "C" __global__ void dynamic_shared_too_small(float* y)
{
    extern __shared__ float few[];
    few[threadIdx.x] = 2.0f * threadIdx.x;  //! out_of_bounds few
    __syncthreads();
    y[threadIdx.x] = few[threadIdx.x];  //! out_of_bounds few
}
extern "C" __global__ void dynamic_shared_too_small_ok(float* y)
{
    extern __shared__ float few[];
    few[threadIdx.x / 2] = 2.0f * (threadIdx.x / 2);
    __syncthreads();
    y[threadIdx.x] = few[threadIdx.x / 2];
}

//@ local_past_end grid=1 block=32 y=output:int32[32] n=int32:5
extern "C" __global__ void local_past_end(int* y, int n)
{
    int a[4];
    for (int k = 0; k < n; k++)
        a[k] = k;  //! out_of_bounds a
    y[threadIdx.x] = a[threadIdx.x % 4];
}
extern "C" __global__ void local_past_end_ok(int* y, int n)
{
    int a[5];
    for (int k = 0; k < n; k++)
        a[k] = k;
    y[threadIdx.x] = a[threadIdx.x % 4];
}

//@ local_by_thread grid=1 block=32 y=output:int32[32]
extern "C" __global__ void local_by_thread(int* y)
{
    int a[8] = {3, 1, 4, 1, 5, 9, 2, 6};
    y[threadIdx.x] = a[threadIdx.x / 2];  //! out_of_bounds a
}
extern "C" __global__ void local_by_thread_ok(int* y)
{
    int a[8] = {3, 1, 4, 1, 5, 9, 2, 6};
    y[threadIdx.x] = a[threadIdx.x / 4];
}

//@ local_in_callee grid=1 block=32 y=output:int32[32]
__device__ __noinline__ int third(const int* a, int i) { return a[3 * i]; }  //! out_of_bounds local_memory
extern "C" __global__ void local_in_callee(int* y)
{
    int a[6] = {1, 2, 3, 4, 5, 6};
    y[threadIdx.x] = third(a, threadIdx.x % 4);
}
__device__ __noinline__ int third_ok(const int* a, int i) { return a[3 * i]; }
extern "C" __global__ void local_in_callee_ok(int* y)
{
    int a[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    y[threadIdx.x] = third_ok(a, threadIdx.x % 4);
}

//@ misaligned_load grid=1 block=8 x=input:float32[40] y=output:float32[8]
extern "C" __global__ void misaligned_load(const float* x, float* y)
{
    double both = *reinterpret_cast<const double*>(x + threadIdx.x);  //! misaligned x
    y[threadIdx.x] = both;
}
extern "C" __global__ void misaligned_load_ok(const float* x, float* y)
{
    double both = *reinterpret_cast<const double*>(x + 2 * threadIdx.x);
    y[threadIdx.x] = both;
}

//@ misaligned_store grid=1 block=4 y=inout:uint8[64]
extern "C" __global__ void misaligned_store(unsigned char* y)
{
    *reinterpret_cast<int*>(y + 4 * threadIdx.x + 2) = 7;  //! misaligned y
}
extern "C" __global__ void misaligned_store_ok(unsigned char* y)
{
    *reinterpret_cast<int*>(y + 4 * threadIdx.x) = 7;
}

//@ misaligned_shared grid=1 block=4 y=output:float64[4]
extern "C" __global__ void misaligned_shared(double* y)
{
    __shared__ double s[8];
    s[2 * threadIdx.x] = s[2 * threadIdx.x + 1] = 1.0;
    __syncthreads();
    y[threadIdx.x] = *reinterpret_cast<double*>(reinterpret_cast<char*>(s) + 8 * threadIdx.x + 4);  //! misaligned s
}
extern "C" __global__ void misaligned_shared_ok(double* y)
{
    __shared__ double s[8];
    s[2 * threadIdx.x] = s[2 * threadIdx.x + 1] = 1.0;
    __syncthreads();
    y[threadIdx.x] = *reinterpret_cast<double*>(reinterpret_cast<char*>(s) + 8 * threadIdx.x);
}

//@ misaligned_beyond_the_end grid=1 block=4 y=inout:uint8[16]
extern "C" __global__ void misaligned_beyond_the_end(unsigned char* y)
{
    *reinterpret_cast<int*>(y + 4 * threadIdx.x + 2) = 7;  //! misaligned y //! out_of_bounds y
}
extern "C" __global__ void misaligned_beyond_the_end_ok(unsigned char* y)
{
    *reinterpret_cast<int*>(y + 4 * threadIdx.x) = 7;
}
