// Particles as an array of structs (28 bytes): every field is a strided access.
struct Particle { float x, y, z, vx, vy, vz; short charge, kind; };

extern "C" __global__ void array_of_structs(const Particle* in, float* energy, int* kinds, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = in[i].vx * in[i].vx + in[i].vy * in[i].vy + in[i].vz * in[i].vz;
    energy[i] = 0.5f * v;
    kinds[i] = in[i].kind * 1000 + in[i].charge;
}
