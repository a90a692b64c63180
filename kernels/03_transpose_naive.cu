// 03 transpose_naive: C = Aᵀ, A is M x N, one thread an element.
//
// The idea     A thread reads A[row][col] and writes C[col][row]. The lanes of a warp have neighbouring
//              columns, so that their reads lie side by side and their writes lie M floats apart: one
//              of the two must stride, whichever way the threads are numbered.
// Against 02   Two indices a thread in place of one; the stride is on the store's side, and it is M.
// Look at      The load of A: 4 sectors for a full warp. The store of C: 32.
// Limits       Any M and N. A block is TILE_WIDTH x TILE_WIDTH threads.

extern "C" __global__ void transpose_naive(const float* A, float* C, int M, int N)
{
    int row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int col = blockIdx.x * TILE_WIDTH + threadIdx.x;

    if (row < M && col < N)
        C[col * M + row] = A[row * N + col];
}
