#pragma once

#include <stdbool.h>

/// Whether `malloc` and `free` of this process are jemalloc's, as this target's settings want them. They are not when
/// another allocator comes first, for example by `LD_PRELOAD`.
bool chatroom_allocator_is_ours(void);
