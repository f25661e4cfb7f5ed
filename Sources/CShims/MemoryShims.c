#define _GNU_SOURCE
#include "CShims.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

int64_t chatroom_resident_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) return -1;
    long long total = 0, resident = 0;
    int found = fscanf(file, "%lld %lld", &total, &resident);
    (void)fclose(file);
    return found == 2 ? resident * sysconf(_SC_PAGESIZE) : -1;
}

int64_t chatroom_allocated_bytes(void) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 33))
    struct mallinfo2 info = mallinfo2();
    return (int64_t)(info.uordblks + info.hblkhd);
#else
    return -1;
#endif
}

void chatroom_give_memory_back(size_t kept) {
#ifdef __GLIBC__
    (void)malloc_trim(kept);
#else
    (void)kept;
#endif
}
