// C = R A, a row of numbers times a matrix. Tiles of 4 rows of A come through a ring of STAGES buffers,
// some of them copied while another one is used. Here one line stands too early.
#define ROWS 4
#define COLS 64  // of A, and threads

#define AT(place) ((unsigned)__cvta_generic_to_shared(place))
// Begins a copy of 16 bytes from global to shared memory, and does not wait for it.
#define COPY_ASYNC(to, from) \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(AT(to)), "l"(from) : "memory")
#define COMMIT_GROUP()   asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_GROUP(left) asm volatile("cp.async.wait_group %0;" :: "n"(left) : "memory")

extern "C" __global__ void row_times_matrix(const float* R, const float* A, float* C, int M)
{
    __shared__ __align__(16) float ring[STAGES][ROWS][COLS];

    int col = threadIdx.x;
    int tiles = M / ROWS;
    float value = 0.0f;

    auto fetch = [&](int tile) {  // a thread's part: 4 neighbours of one row
        float* stage = &ring[tile % STAGES][0][0];
        if (tile < tiles)
            COPY_ASYNC(&stage[4 * col], &A[tile * ROWS * COLS + 4 * col]);
        COMMIT_GROUP();
    };

    for (int tile = 0; tile < STAGES - 1; tile++)
        fetch(tile);

    for (int tile = 0; tile < tiles; tile++) {
        fetch(tile + STAGES - 1);
        WAIT_GROUP(LEFT);
        __syncthreads();
        for (int row = 0; row < ROWS; row++)
            value += R[tile * ROWS + row] * ring[tile % STAGES][row][col];
    }
    C[col] = value;
}
