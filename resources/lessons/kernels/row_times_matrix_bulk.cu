// C = R A by two kinds of warps: one lane of warp 0 has tiles of A copied into a ring, warps 1 and 2 use them.
#define COLS 64
#define TILE_BYTES (ROWS * COLS * 4)
// EXTRA bytes are expected of a tile that never come: 0, unless you want to see what that does.

#define AT(place) ((unsigned)__cvta_generic_to_shared(place))
// An mbarrier, 8 bytes of shared memory: its phase is over when all arrivals and all expected bytes have come.
#define INIT(barrier, arrivals) \
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(AT(&barrier)), "r"(arrivals) : "memory")
#define ARRIVE(barrier) \
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(AT(&barrier)) : "memory")
#define ARRIVE_AND_EXPECT(barrier, bytes) \
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" \
                 :: "r"(AT(&barrier)), "r"(bytes) : "memory")
// Waits until the phase with this parity is over: 0 for the first, the third … phase, 1 for the others.
#define WAIT(barrier, parity) \
    asm volatile("{ .reg .pred over; again: mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1; " \
                 "@over bra done; bra again; done: }" :: "r"(AT(&barrier)), "r"(parity) : "memory")
// Has bytes that lie in a row copied, and counted at the barrier as they come.
#define COPY_BULK(to, from, bytes, barrier) \
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \
                 :: "r"(AT(to)), "l"(from), "r"(bytes), "r"(AT(&barrier)) : "memory")

extern "C" __global__ void row_times_matrix_bulk(const float* R, const float* A, float* C, int M)
{
    __shared__ __align__(128) float ring[STAGES][ROWS][COLS];
    __shared__ unsigned long long full[STAGES], empty[STAGES];  // mbarriers

    int warp = threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    int tiles = M / ROWS;

    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) {
            INIT(full[s], 1);
            INIT(empty[s], COLS / 32);
        }
    __syncthreads();

    if (warp == 0) {  // the producer: one lane of it
        if (lane == 0)
            for (int tile = 0; tile < tiles; tile++) {
                int s = tile % STAGES, round = tile / STAGES;
                WAIT(empty[s], (round + 1) % 2);
                ARRIVE_AND_EXPECT(full[s], TILE_BYTES + EXTRA);
                COPY_BULK(&ring[s][0][0], &A[tile * ROWS * COLS], TILE_BYTES, full[s]);
            }
    } else {  // the consumers
        int col = threadIdx.x - 32;
        float value = 0.0f;
        for (int tile = 0; tile < tiles; tile++) {
            int s = tile % STAGES, round = tile / STAGES;
            WAIT(full[s], round % 2);
            for (int row = 0; row < ROWS; row++)
                value += R[tile * ROWS + row] * ring[s][row][col];
            __syncwarp();
            if (lane == 0)
                ARRIVE(empty[s]);
        }
        C[col] = value;
    }
}
