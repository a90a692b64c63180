// Reads, changes and writes back one field of a 16-byte struct, and copies another whole.
struct __align__(16) Cell { float value; int count; double weight; };

extern "C" __global__ void struct_update(Cell* cells, Cell* copy, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        cells[i].count += i;
        copy[n - 1 - i] = cells[i];
    }
}
