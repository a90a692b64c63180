#include <cuda_runtime.h>
typedef struct __align__(8) {
    int n;
    float dt;
    float3 origin;
    float coeff[4];
} SimParams;
__constant__ SimParams params;
struct Particles { float4 *pos; float4 *vel; const float *mass; };
__global__ void integrate(Particles p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= params.n) return;
    float4 x = p.pos[i], v = p.vel[i];
    float a = 0.f;
    for (int k = 0; k < 4; ++k) a += params.coeff[k] * powf(p.mass[i], (float)k);
    v.x += params.dt * a;
    x.x += params.dt * v.x + params.origin.x; x.y += params.dt * v.y + params.origin.y; x.z += params.dt * v.z + params.origin.z;
    p.pos[i] = x; p.vel[i] = v;
}
void setup(SimParams *h) { cudaMemcpyToSymbol(params, h, sizeof(SimParams)); }
