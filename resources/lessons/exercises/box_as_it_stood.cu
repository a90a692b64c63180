// C = A transposed, a box of 32 x 32 at a time: one thread orders it from the copy engine (TMA), then every
// lane takes one row of it, 16 bytes at a time.
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

extern "C" __global__ void tma_transpose(const __grid_constant__ TensorMap A, float* C, int M, int N)
{
    __shared__ __align__(1024) float tile[32][32];
    __shared__ unsigned long long full;  // an mbarrier

    int lane = threadIdx.x;
    int row = blockIdx.y * 32, col = blockIdx.x * 32;

    if (lane == 0) {
        INIT(full, 1);
        ARRIVE_AND_EXPECT(full, (int)sizeof tile);
        COPY_BOX(tile, A, col, row, full);
    }
    __syncwarp();
    WAIT(full, 0);

    for (int piece = 0; piece < 8; piece++) {
        float4 four = *(float4*)&tile[lane][4 * piece];
        float values[4] = {four.x, four.y, four.z, four.w};
        for (int i = 0; i < 4; i++)
            if (row + lane < M && col + 4 * piece + i < N)
                C[(col + 4 * piece + i) * M + row + lane] = values[i];
    }
}
