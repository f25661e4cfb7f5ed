// The reading half of permessage-deflate with context takeover (RFC 7692), one window for each connection.
#ifndef BENCHMARKS_INFLATE_H
#define BENCHMARKS_INFLATE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "measure.h"

enum { INFLATED_MAX = 1 << 20 };

// For chatroomd: it refers to no more than 4 KB (server_max_window_bits=12).
static inline z_stream *inflate_begin(void) {
    z_stream *z = calloc(1, sizeof *z);
    if (!z || inflateInit2(z, -12) != Z_OK) die("out of memory");
    return z;
}

// The message of a compressed frame, in memory that the next one takes.
static inline char *inflate_message(z_stream *z, char *payload, size_t *count) {
    static char message[INFLATED_MAX];
    static unsigned char tail[4] = {0, 0, 0xFF, 0xFF};
    z->next_out = (unsigned char *)message;
    z->avail_out = sizeof message;
    for (int part = 0; part < 2; part++) {
        z->next_in = part == 0 ? (unsigned char *)payload : tail;
        z->avail_in = part == 0 ? (unsigned)*count : sizeof tail;
        int status = inflate(z, Z_SYNC_FLUSH);
        if ((status != Z_OK && status != Z_BUF_ERROR) || z->avail_in > 0)
            die("a compressed frame can't be read: %s", z->msg ? z->msg : "its message is too long");
    }
    *count = sizeof message - z->avail_out;
    return message;
}

#endif
