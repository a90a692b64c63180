#pragma once
#include <string>
#include "more/types.h"
#define BLOCK 64
inline std::string greeting(const char *name) { return std::string("hello ") + name; }
template <typename T> __device__ T twice(T x) { return x + x; }
static void report(int n) { printf("%d\n", n); }
