// Keeps the positive elements of each warp, packed by ballots.
extern "C" __global__ void compact(const int* in, int* out, int* kept, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32;
    int v = i < n ? in[i] : -1;
    unsigned keep = __ballot_sync(0xffffffffu, v > 0);
    int rank = __popc(keep & ((1u << lane) - 1));
    if (v > 0)
        out[i - lane + rank] = v;
    if (lane == 0)
        kept[i / 32] = __popc(keep);
}
