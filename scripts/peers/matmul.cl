/* The coalesced matrix product, one work-item an element of C. */
kernel void coalesced(global const float *A, global const float *B, global float *C, int n)
{
    int column = get_global_id(0), row = get_global_id(1);
    if (row < n && column < n) {
        float value = 0;
        for (int k = 0; k < n; k++)
            value += A[row * n + k] * B[k * n + column];
        C[row * n + column] = value;
    }
}
