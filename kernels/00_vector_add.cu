// 00 vector_add: C = A + B, one thread an element.
//
// The idea     A warm-up. Thread numbers and element numbers go hand in hand, so the 32 threads of a
//              warp touch 32 neighbouring floats: 128 bytes, one line, four sectors, nothing wasted.
// Look at      The warp view: every lane points straight down. Then choose an N that is no multiple
//              of the block and see the last warp's idle lanes stay out of the request.
// Limits       One addition for twelve bytes moved: memory alone decides how fast this runs.

extern "C" __global__ void vector_add(const float* A, const float* B, float* C, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < N)
        C[i] = A[i] + B[i];
}
