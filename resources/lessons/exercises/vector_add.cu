// C = A + B. The body is yours: one thread computes one element.
extern "C" __global__ void vector_add(const float* A, const float* B, float* C, int N)
{

}
