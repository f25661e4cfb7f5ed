#include "CAllocator.h"

#include <jemalloc/jemalloc.h>
#include <stdint.h>
#include <stdlib.h>

// jemalloc reads these settings before main; MALLOC_CONF in the environment comes before them (jemalloc(3)).
//
// A turn needs again what the last one had, so nothing goes back to the system at once. Pages that nobody has needed for
// ten seconds go back by and by, and a thread of the allocator's does that: a loop makes no system call for it.
// muzzy_decay_ms:0 lets them go for good, so that the process's resident memory is what it needs.
const char *malloc_conf = "background_thread:true,dirty_decay_ms:10000,muzzy_decay_ms:0";

bool chatroom_allocator_is_ours(void) {
    uint64_t before = 0, after = 0;
    size_t size = sizeof before;
    if (mallctl("thread.allocated", &before, &size, NULL, 0) != 0) return false;
    void *volatile piece = malloc(64);
    free(piece);
    return mallctl("thread.allocated", &after, &size, NULL, 0) == 0 && after > before;
}
