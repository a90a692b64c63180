#ifndef TYPES_H
#define TYPES_H
struct Range { int first, count; };
const int SPARE = 3;
#endif
