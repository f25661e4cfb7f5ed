#include <string.h>
#include <zlib.h>

// Functions for macros of zlib, which Swift cannot see. Negative window bits: raw DEFLATE (RFC 1951), no header.

// A window of 4 KB. Memory level 5 has room for the symbols of one, and takes 32 KB with the window.
static inline int chatroom_deflate_init(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, -12, 5, Z_DEFAULT_STRATEGY);
}

// With the header and the checksum of gzip (RFC 1952).
static inline int chatroom_gzip_init(z_stream *stream) {
    return deflateInit2(stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}

static inline int chatroom_are_equal(const void *one, const void *other, size_t count) {
    return memcmp(one, other, count) == 0;
}

static inline int chatroom_inflate_init(z_stream *stream) { return inflateInit2(stream, -15); }
