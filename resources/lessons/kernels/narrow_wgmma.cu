// C = A B', 64 x K by K x 8, by one warpgroup: four warps that give an instruction together. F16.
// B lies with its columns in rows of memory. Tiles 64 deep come through a ring of STAGES buffers.
#include <cuda_fp16.h>

struct alignas(64) TensorMap { unsigned long long words[16]; };

#define AT(place) ((unsigned)__cvta_generic_to_shared(place))
// An mbarrier, 8 bytes of shared memory: its phase is over when all arrivals and all expected bytes have come.
#define INIT(barrier, arrivals) \
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(AT(&barrier)), "r"(arrivals) : "memory")
#define ARRIVE_AND_EXPECT(barrier, bytes) \
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" \
                 :: "r"(AT(&barrier)), "r"(bytes) : "memory")
// Waits until the phase with this parity is over: 0 for the first, the third … phase, 1 for the others.
#define WAIT(barrier, parity) \
    asm volatile("{ .reg .pred over; again: mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1; " \
                 "@over bra done; bra again; done: }" :: "r"(AT(&barrier)), "r"(parity) : "memory")
// Has a box copied that a tensor map describes: where the matrix lies, how large it is, how large the box.
#define COPY_BOX(to, map, col, row, barrier) \
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes " \
                 "[%0], [%1, {%2, %3}], [%4];" \
                 :: "r"(AT(to)), "l"(&map), "r"(col), "r"(row), "r"(AT(&barrier)) : "memory")
// What wgmma is told of a tile: where it begins, how its pieces lie, and that it is swizzled by 128 bytes.
#define DESCRIBED(tile) ((unsigned long long)((AT(tile) & 0x3FFFF) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62)
// Begins sums += a * b, 64 x 16 by 16 x 8: 4 sums in each of 128 threads.
#define MULTIPLY_ADD(sums, a, b) asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " \
    "{%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" \
    : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) : "l"(a), "l"(b) : "memory")
#define FENCE()          asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT_GROUP()   asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT_GROUP(left) asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(left) : "memory")

extern "C" __global__ void narrow_wgmma(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B,
                                        float* C, int K)
{
    __shared__ __align__(1024) half tile_a[STAGES][64 * 64], tile_b[STAGES][8 * 64];
    __shared__ unsigned long long full[STAGES];  // mbarriers

    int thread = threadIdx.x;
    int tiles = (K + 63) / 64;

    if (thread == 0)
        for (int s = 0; s < STAGES; s++)
            INIT(full[s], 1);
    __syncthreads();

    auto fetch = [&](int tile) {
        int s = tile % STAGES;
        if (thread != 0 || tile >= tiles)
            return;
        ARRIVE_AND_EXPECT(full[s], (int)(sizeof tile_a[s] + sizeof tile_b[s]));
        COPY_BOX(tile_a[s], A, tile * 64, 0, full[s]);
        COPY_BOX(tile_b[s], B, tile * 64, 0, full[s]);
    };
    for (int tile = 0; tile < STAGES - 1; tile++)
        fetch(tile);

    float sums[4] = {};
    for (int tile = 0; tile < tiles; tile++) {
        int s = tile % STAGES;
        WAIT(full[s], tile / STAGES % 2);
        FENCE();
        for (int k = 0; k < 64; k += 16)
            MULTIPLY_ADD(sums, DESCRIBED(&tile_a[s][k]), DESCRIBED(&tile_b[s][k]));
        COMMIT_GROUP();
        WAIT_GROUP(LEFT);
        __syncthreads();
        fetch(tile + STAGES - 1);  // into the buffer of the tile before
    }
    WAIT_GROUP(0);

    int row = thread / 32 * 16 + thread % 32 / 4, col = thread % 4 * 2;
    for (int i = 0; i < 4; i++)
        C[(row + i / 2 * 8) * 8 + col + i % 2] = sums[i];
}
