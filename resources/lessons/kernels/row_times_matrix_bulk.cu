// C = R A by two kinds of warps: one lane of warp 0 has tiles of A copied into a ring, warps 1 and 2 use them.
#define COLS 64
#define TILE_BYTES (ROWS * COLS * 4)

typedef unsigned long long u64;

__device__ unsigned at(const void* place) { return (unsigned)__cvta_generic_to_shared(place); }

__device__ void init(u64* barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(barrier)), "r"(arrivals) : "memory");
}

__device__ void arrive(u64* barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(barrier)) : "memory");
}

__device__ void arrive_and_expect(u64* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(at(barrier)), "r"(bytes) : "memory");
}

// Until the phase with this parity is over: 0 for the first, the third … phase, 1 for the others.
__device__ void wait(u64* barrier, int parity)
{
    asm volatile("{ .reg .pred over; again: mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1; "
                 "@over bra done; bra again; done: }" :: "r"(at(barrier)), "r"(parity) : "memory");
}

// One thread has `bytes` bytes in a row copied; they are counted at the barrier as they come.
__device__ void copy_bulk(float* to, const float* from, int bytes, u64* barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(at(to)), "l"(from), "r"(bytes), "r"(at(barrier)) : "memory");
}

extern "C" __global__ void row_times_matrix_bulk(const float* R, const float* A, float* C, int M)
{
    __shared__ __align__(128) float ring[STAGES][ROWS][COLS];
    __shared__ unsigned long long full[STAGES], empty[STAGES];  // mbarriers

    int warp = threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    int tiles = M / ROWS;

    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) {
            init(&full[s], 1);
            init(&empty[s], COLS / 32);
        }
    __syncthreads();

    if (warp == 0) {  // the producer: one lane of it
        if (lane == 0)
            for (int tile = 0; tile < tiles; tile++) {
                int s = tile % STAGES, round = tile / STAGES;
                wait(&empty[s], (round + 1) % 2);
                arrive_and_expect(&full[s], EXPECTED);
                copy_bulk(&ring[s][0][0], &A[tile * ROWS * COLS], TILE_BYTES, &full[s]);
            }
    } else {  // the consumers
        int col = threadIdx.x - 32;
        float value = 0.0f;
        for (int tile = 0; tile < tiles; tile++) {
            int s = tile % STAGES, round = tile / STAGES;
            wait(&full[s], round % 2);
            for (int row = 0; row < ROWS; row++)
                value += R[tile * ROWS + row] * ring[s][row][col];
            __syncwarp();
            if (lane == 0)
                arrive(&empty[s]);
        }
        C[col] = value;
    }
}
