#include "CShims.h"

#include <string.h>

#if defined(__x86_64__)

int chatroom_has_crc32c(void) { return __builtin_cpu_supports("sse4.2") != 0; }

__attribute__((target("sse4.2"))) uint32_t chatroom_crc32c(uint32_t remainder, const void *bytes, size_t count) {
    const unsigned char *next = bytes;
    uint64_t wide = remainder;
    for (; count >= 8; count -= 8, next += 8) {
        uint64_t word;
        memcpy(&word, next, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    remainder = (uint32_t)wide;
    for (; count > 0; count--, next++) remainder = __builtin_ia32_crc32qi(remainder, *next);
    return remainder;
}

#else

int chatroom_has_crc32c(void) { return 0; }

uint32_t chatroom_crc32c(uint32_t remainder, const void *bytes, size_t count) {
    (void)bytes;
    (void)count;
    return remainder;
}

#endif
