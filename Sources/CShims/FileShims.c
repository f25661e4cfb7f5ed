#define _GNU_SOURCE
#include "CShims.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

int chatroom_begin_writing(int descriptor, int64_t offset, int64_t count) {
    return sync_file_range(descriptor, offset, count, SYNC_FILE_RANGE_WRITE) == 0 ? 0 : -errno;
}

int chatroom_open_direct(const char *path, uint32_t *block) {
#ifdef STATX_DIOALIGN
    struct statx status;
    int descriptor = open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
    if (descriptor < 0) return -errno;
    if (statx(descriptor, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 && (status.stx_mask & STATX_DIOALIGN) != 0) {
        uint32_t offsets = status.stx_dio_offset_align, memory = status.stx_dio_mem_align;
        *block = offsets > memory ? offsets : memory;
        if (offsets != 0 && memory != 0) return descriptor;
    }
    (void)close(descriptor);
#else
    (void)path;
    (void)block;
#endif
    return -EINVAL;
}

int64_t chatroom_write_direct(int descriptor, const void *bytes, size_t count, int64_t offset, int durable) {
    struct iovec piece = {.iov_base = (void *)bytes, .iov_len = count};
    ssize_t written = pwritev2(descriptor, &piece, 1, offset, durable ? RWF_DSYNC : 0);
    return written < 0 ? -errno : written;
}
