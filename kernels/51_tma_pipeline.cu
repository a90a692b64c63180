// 51 tma_pipeline: C = A B on Hopper, tiles brought by the tensor memory accelerator, some ahead. F16.
//
// The idea     One thread orders whole tiles: the copy engine (TMA) knows the matrix from a tensor map,
//              computes all addresses, swizzles, fills in zeros beyond the edge, and counts the bytes that
//              have arrived at a barrier in shared memory (mbarrier). No thread's registers are on the way.
//              STAGES tiles form a ring, each with a barrier of its own: while the tensor cores read one,
//              the one that they read before is filled again (`wait_group 1` leaves one batch under way).
// Against 50   Copies of boxes instead of loads and stores, a ring of stages, `full` barriers instead of
//              fence and __syncthreads: what the copy engine writes, the tensor cores may read at once.
//              The products of one phase begin before those of the phase before are known to be done.
// Look at      A stage's life: ordered, full, read, free. The parity says which round of the ring a barrier
//              is waited for: without it a fast warp would take the last round's tiles for this one's.
// Limits       As 50; the box of a tensor map begins anywhere, so any M, but rows begin at multiples of 16
//              bytes.

#include <cuda_fp16.h>

#define THREADS (TILE_M * 2)
#define TILE_K 64

struct alignas(64) TensorMap { unsigned long long words[16]; };

__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

__device__ __forceinline__ void wait_for(unsigned barrier, unsigned parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra ready;\n"
                 "bra again;\n"
                 "ready:\n"
                 "}" :: "r"(barrier), "r"(parity) : "memory");
}

__device__ __forceinline__ void expect_bytes(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void copy_box(unsigned to, const TensorMap* map, int x, int y, unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];"
                 :: "r"(to), "l"(map), "r"(x), "r"(y), "r"(barrier) : "memory");
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
tma_pipeline(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, float* C, int M, int K,
             int N)
{
    extern __shared__ __align__(1024) char shared[];
    // 1024 bytes, of which STAGES words are used: with -G the compiler of CUDA 13.0 lays `shared` right behind
    // them, whatever alignment it asks for, and a swizzled tile begins at a multiple of 1024 bytes.
    __shared__ __align__(1024) unsigned long long full[128];
    half (*tile_a)[TILE_M * TILE_K] = (half (*)[TILE_M * TILE_K])shared;
    half (*tile_b)[TILE_K * TILE_N] = (half (*)[TILE_K * TILE_N])(tile_a + STAGES);

    int thread = threadIdx.x;
    int number = blockIdx.y * gridDim.x + blockIdx.x;  // GROUP rows of tiles at a time, as in 42
    int first_row = number / (GROUP * gridDim.x) * GROUP;
    int height = min(GROUP, gridDim.y - first_row);
    int tile_row = (first_row + number % (GROUP * gridDim.x) % height) * TILE_M;
    int tile_col = number % (GROUP * gridDim.x) / height * TILE_N;
    int phases = (K + TILE_K - 1) / TILE_K;

    if (thread == 0) {
        for (int stage = 0; stage < STAGES; stage++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(shared_address(&full[stage])));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    auto fetch_tiles = [&](int phase) {
        int stage = phase % STAGES;
        unsigned barrier = shared_address(&full[stage]);
        expect_bytes(barrier, (TILE_M + TILE_N) * TILE_K * sizeof(half));
        copy_box(shared_address(tile_a[stage]), &A, phase * TILE_K, tile_row, barrier);
        for (int j = 0; j < TILE_N; j += 64)
            copy_box(shared_address(&tile_b[stage][j * TILE_K]), &B, tile_col + j, phase * TILE_K, barrier);
    };
    if (thread == 0)
        for (int phase = 0; phase < min(STAGES - 1, phases); phase++)
            fetch_tiles(phase);

    float sums[TILE_N / 2] = {};
    int phase = 0;
    do {  // at least once, as K > 0: otherwise the compiler makes every product wait
        int stage = phase % STAGES;
        wait_for(shared_address(&full[stage]), phase / STAGES % 2);
        unsigned a = shared_address(&tile_a[stage][thread / 128 * 64 * TILE_K]);
        unsigned b = shared_address(tile_b[stage]);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int k = 0; k < TILE_K; k += 16)
            multiply_add(sums, described(a + k * 2, 16, 1024),
                         described(b + k * 128, TILE_K * 128, 1024));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        __syncthreads();  // nobody reads the tiles of the phase before any more: fill their buffers again
        if (thread == 0 && phase + STAGES - 1 < phases)
            fetch_tiles(phase + STAGES - 1);
    } while (++phase < phases);
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");

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
