// 50 wgmma: C = A B on Hopper's tensor cores, one pair of tiles at a time. F16.
//
// The idea     Four warps together, a warpgroup, give one instruction a product of 64 x 16 by 16 x TILE_N.
//              It reads both factors from shared memory by itself, while the warps go on: `wgmma` only
//              begins the work, `commit_group` closes a batch, and `wait_group` waits for it. The sums
//              stay in registers, TILE_N / 2 in each thread.
// Against 42   No ldmatrix, no fragments of A and B in registers, no padding: rows of 128 bytes lie one
//              after the other, and the 16-byte pieces of row r are exchanged by the lowest three bits of
//              r (128-byte swizzle), so that eight rows at one k meet all 32 banks. One stage: other
//              blocks on the same SM hide the copies.
// Look at      The copies into tile_a: eight lanes write one row, and no two rows put the same k into the
//              same bank. Between them and wgmma stands a fence: the tensor cores read shared memory on
//              another way (the async proxy) than the threads write it.
// Limits       K % 8 == 0 and N % 8 == 0, for copies of eight elements. Any M. Compute capability 9.0
//              alone (sm_90a).

#include <cuda_fp16.h>

#define THREADS (TILE_M * 2)
#define TILE_K 64
#define A_ROWS (THREADS * 8 / TILE_K)  // rows of A that the threads copy at a time, eight elements each
#define B_ROWS (THREADS * 8 / TILE_N)  // rows of B

__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

__device__ __forceinline__ void copy_async_8(half* to, const half* from, bool exists)
{
    int bytes = exists ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(shared_address(to)), "l"(from), "r"(bytes) : "memory");
}

// Where element (row, k) of a tile lies whose rows have 64 elements, 128 bytes: k / 8 is exchanged by row.
__device__ __forceinline__ int swizzled(int row, int k)
{
    return row * 64 + (k / 8 ^ row % 8) * 8 + k % 8;
}

// What wgmma is told of a tile: where it begins, how far its pieces of 8 x 128 bytes are apart, and
// that 16-byte pieces of a row are exchanged by the number of the row (128-byte swizzle).
__device__ __forceinline__ unsigned long long described(unsigned address, unsigned leading, unsigned stride)
{
    return (unsigned long long)((address & 0x3FFFF) >> 4) | (unsigned long long)(leading >> 4) << 16
         | (unsigned long long)(stride >> 4) << 32 | 1ull << 62;
}

#define SUMS_4(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define SUMS_16(i) SUMS_4(i), SUMS_4(i + 4), SUMS_4(i + 8), SUMS_4(i + 12)
#define SUMS_64(i) SUMS_16(i), SUMS_16(i + 16), SUMS_16(i + 32), SUMS_16(i + 48)
#define NAMES_32 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_64 NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, " \
    "%45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_128 NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, " \
    "%77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, " \
    "%95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, " \
    "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, " \
    "%126, %127"

// sums += a * b, 64 x 16 by 16 x TILE_N, by the four warps of a warpgroup; b's rows are rows of B.
__device__ __forceinline__ void multiply_add(float (&sums)[TILE_N / 2], unsigned long long a,
                                             unsigned long long b)
{
#if TILE_N == 64
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" NAMES_32 "}, "
                 "%32, %33, 1, 1, 1, 0, 1;" : SUMS_16(0), SUMS_16(16) : "l"(a), "l"(b));
#elif TILE_N == 128
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" NAMES_64 "}, "
                 "%64, %65, 1, 1, 1, 0, 1;" : SUMS_64(0) : "l"(a), "l"(b));
#else
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" NAMES_128 "}, "
                 "%128, %129, 1, 1, 1, 0, 1;" : SUMS_64(0), SUMS_64(64) : "l"(a), "l"(b));
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS)
wgmma(const half* A, const half* B, float* C, int M, int K, int N)
{
    __shared__ __align__(1024) half tile_a[TILE_M * TILE_K];
    __shared__ __align__(1024) half tile_b[TILE_K * TILE_N];

    int thread = threadIdx.x;
    int number = blockIdx.y * gridDim.x + blockIdx.x;  // GROUP rows of tiles at a time, as in 42
    int first_row = number / (GROUP * gridDim.x) * GROUP;
    int height = min(GROUP, gridDim.y - first_row);
    int tile_row = (first_row + number % (GROUP * gridDim.x) % height) * TILE_M;
    int tile_col = number % (GROUP * gridDim.x) / height * TILE_N;
    int a_row = thread * 8 / TILE_K, a_k = thread * 8 % TILE_K;
    int b_k = thread * 8 / TILE_N, b_col = thread * 8 % TILE_N;
    const half* a_from = A + (size_t)(tile_row + a_row) * K + a_k;
    const half* b_from = B + (size_t)b_k * N + tile_col + b_col;

    float sums[TILE_N / 2] = {};
    for (int first = 0; first < K; first += TILE_K) {
        #pragma unroll
        for (int i = 0; i < TILE_M; i += A_ROWS)
            copy_async_8(&tile_a[swizzled(a_row + i, a_k)], a_from + (size_t)i * K,
                         tile_row + a_row + i < M && first + a_k < K);
        #pragma unroll
        for (int i = 0; i < TILE_K; i += B_ROWS)
            copy_async_8(&tile_b[b_col / 64 * TILE_K * 64 + swizzled(b_k + i, b_col % 64)],
                         b_from + (size_t)i * N, first + b_k + i < K && tile_col + b_col < N);
        a_from += TILE_K;
        b_from += (size_t)TILE_K * N;
        asm volatile("cp.async.wait_all;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();

        unsigned a = shared_address(&tile_a[thread / 128 * 64 * TILE_K]);
        unsigned b = shared_address(tile_b);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int k = 0; k < TILE_K; k += 16)
            multiply_add(sums, described(a + k * 2, 16, 1024),
                         described(b + k * 128, TILE_K * 128, 1024));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }

    int row = tile_row + thread / 128 * 64 + thread % 128 / 32 * 16 + thread % 32 / 4;
    int col = tile_col + thread % 4 * 2;
    #pragma unroll
    for (int j = 0; j < TILE_N / 8; j++)
        #pragma unroll
        for (int i = 0; i < 2; i++)
            if (row + i * 8 < M && col + j * 8 < N)
                *(float2*)&C[(size_t)(row + i * 8) * N + col + j * 8] =
                    make_float2(sums[j * 4 + i * 2], sums[j * 4 + i * 2 + 1]);
}
