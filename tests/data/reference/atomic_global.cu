// One global atomic for each thread at index[i] (negative: none). OPERATION is an expression that
// uses `place`, `v` and gives a value; RESULT says whether the old value is kept.
extern "C" __global__ void atomic_global(const int* index, ELEMENT* cells, ELEMENT* old, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || index[i] < 0)
        return;
    ELEMENT* place = cells + index[i];
    ELEMENT v = (ELEMENT)(i % 5 + 1);
#if RESULT
    old[i] = OPERATION;
#else
    OPERATION;
#endif
}
