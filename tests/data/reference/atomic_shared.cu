// One shared atomic for each thread at index[t] (negative: none); the cells are then written out.
extern "C" __global__ void atomic_shared(const int* index, ELEMENT* cells, ELEMENT* old, int n_cells)
{
    __shared__ ELEMENT own[1024];
    int t = threadIdx.x;
    for (int c = t; c < n_cells; c += blockDim.x)
        own[c] = (ELEMENT)(3);
    __syncthreads();
    if (index[t] >= 0) {
        ELEMENT* place = own + index[t];
        ELEMENT v = (ELEMENT)(t % 5 + 1);
#if RESULT
        old[t] = OPERATION;
#else
        OPERATION;
#endif
    }
    __syncthreads();
    for (int c = t; c < n_cells; c += blockDim.x)
        cells[c] = own[c];
}
