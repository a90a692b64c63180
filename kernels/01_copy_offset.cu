// 01 copy_offset: C = A shifted by OFFSET elements, one thread an element.
//
// The idea     A warp still reads 32 neighbouring floats, but they need not begin where a line begins.
//              Memory is cut into sectors of 32 bytes and lines of 128 at fixed places: a run of 128
//              bytes that starts anywhere else touches five sectors of two lines instead of four of
//              one. With OFFSET = 8 the run starts at a sector, and only the second line is left.
// Against 00   One array is copied in place of two being added, and the index of A has + OFFSET.
// Look at      The load of A while OFFSET goes from 0 to 32: 4 or 5 sectors, 1 or 2 lines. Then the
//              store of C, which stays aligned throughout.
// Limits       Any N, any OFFSET from 0. The fifth sector is the first of the next warp's, so that a
//              cache gives most of it back: alignment is worth less than coalescing.

extern "C" __global__ void copy_offset(const float* A, float* C, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < N)
        C[i] = A[i + OFFSET];
}
