// One atomic a lane at address[lane] of `cells`, in bytes; below zero the lane is idle. OPERATION is
// an expression that uses `place`; RESULT says whether the old value is kept.
extern "C" __global__ void scattered_atomic(const long long* address, char* cells, ELEMENT* old)
{
    long long from = address[threadIdx.x];
    if (from < 0)
        return;
    ELEMENT* place = (ELEMENT*)(cells + from);
#if RESULT
    old[threadIdx.x] = OPERATION;
#else
    OPERATION;
#endif
}
