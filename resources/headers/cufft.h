#pragma once
typedef float cufftReal; typedef double cufftDoubleReal; typedef float2 cufftComplex;
typedef double2 cufftDoubleComplex; typedef int cufftHandle;
