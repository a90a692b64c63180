// 02 copy_stride: C = every STRIDE-th element of A, one thread an element.
//
// The idea     Neighbouring lanes read floats that lie STRIDE apart. Memory moves whole sectors of
//              eight floats, whether they are wanted or not: with STRIDE = 2 half of what is moved is
//              waste, and from STRIDE = 8 on each lane costs a sector of its own, of which it uses an
//              eighth.
// Against 01   + OFFSET becomes * STRIDE.
// Look at      The load of A while STRIDE goes 1, 2, 4, 8, 16: 4, 8, 16, 32, 32 sectors a request, but
//              1, 2, 4, 8, 16 lines: lines go on growing until STRIDE is 32. Then 7 or 9: no stride
//              from 8 on is better than another.
// Limits       Any N, any STRIDE from 1. A is N times as long as its stride.

extern "C" __global__ void copy_stride(const float* A, float* C, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < N)
        C[i] = A[i * STRIDE];
}
