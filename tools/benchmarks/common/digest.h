// Digests for the WebSocket handshake (SHA-1, RFC 6455 section 4.2.2) and for tokens (HMAC-SHA256, RFC 2104), and
// base64 (RFC 4648). Straight from FIPS 180-4, so that the load clients depend on nothing; not for other uses.
#ifndef BENCHMARKS_DIGEST_H
#define BENCHMARKS_DIGEST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t digest_rotate_left(uint32_t x, int n) { return (x << n) | (x >> (32 - n)); }
static inline uint32_t digest_rotate_right(uint32_t x, int n) { return (x >> n) | (x << (32 - n)); }

static inline uint32_t digest_load(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void digest_store(uint8_t *p, uint32_t x) {
    p[0] = (uint8_t)(x >> 24);
    p[1] = (uint8_t)(x >> 16);
    p[2] = (uint8_t)(x >> 8);
    p[3] = (uint8_t)x;
}

static inline void sha1_block(uint32_t state[8], const uint8_t *block) {
    uint32_t w[80];
    for (int i = 0; i < 16; i++) w[i] = digest_load(block + 4 * i);
    for (int i = 16; i < 80; i++) w[i] = digest_rotate_left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 80; i++) {
        uint32_t f, k;
        if (i < 20) f = (b & c) | (~b & d), k = 0x5A827999;
        else if (i < 40) f = b ^ c ^ d, k = 0x6ED9EBA1;
        else if (i < 60) f = (b & c) | (b & d) | (c & d), k = 0x8F1BBCDC;
        else f = b ^ c ^ d, k = 0xCA62C1D6;
        uint32_t t = digest_rotate_left(a, 5) + f + e + k + w[i];
        e = d, d = c, c = digest_rotate_left(b, 30), b = a, a = t;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

static inline void sha256_block(uint32_t state[8], const uint8_t *block) {
    static const uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t w[64];
    for (int i = 0; i < 16; i++) w[i] = digest_load(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = digest_rotate_right(w[i - 15], 7) ^ digest_rotate_right(w[i - 15], 18) ^ (w[i - 15] >> 3);
        uint32_t s1 = digest_rotate_right(w[i - 2], 17) ^ digest_rotate_right(w[i - 2], 19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    uint32_t v[8];
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = digest_rotate_right(v[4], 6) ^ digest_rotate_right(v[4], 11) ^ digest_rotate_right(v[4], 25);
        uint32_t t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
        uint32_t s0 = digest_rotate_right(v[0], 2) ^ digest_rotate_right(v[0], 13) ^ digest_rotate_right(v[0], 22);
        uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) state[i] += v[i];
}

// Feeds whole blocks of `data`, then the padded end; `before` bytes (a multiple of 64) went in earlier.
static inline void digest_finish(
    uint32_t state[8], void (*block)(uint32_t *, const uint8_t *), const uint8_t *data, size_t count, size_t before) {
    uint64_t bits = 8 * (uint64_t)(before + count);
    for (; count >= 64; data += 64, count -= 64) block(state, data);
    uint8_t end[128] = {0};
    memcpy(end, data, count);
    end[count] = 0x80;
    size_t size = count < 56 ? 64 : 128;
    digest_store(end + size - 8, (uint32_t)(bits >> 32));
    digest_store(end + size - 4, (uint32_t)bits);
    for (size_t i = 0; i < size; i += 64) block(state, end + i);
}

static inline void sha1(const void *data, size_t count, uint8_t out[20]) {
    uint32_t state[8] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    digest_finish(state, sha1_block, data, count, 0);
    for (int i = 0; i < 5; i++) digest_store(out + 4 * i, state[i]);
}

// SHA-256 of `prefix` (one block of 64 bytes, or NULL for none) followed by `data`.
static inline void sha256(const uint8_t *prefix, const void *data, size_t count, uint8_t out[32]) {
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    if (prefix) sha256_block(state, prefix);
    digest_finish(state, sha256_block, data, count, prefix ? 64 : 0);
    for (int i = 0; i < 8; i++) digest_store(out + 4 * i, state[i]);
}

static inline void hmac_sha256(const void *key, size_t key_count, const void *data, size_t count, uint8_t out[32]) {
    uint8_t block[64] = {0}, inner[64], outer[64], digest[32];
    if (key_count > 64) sha256(NULL, key, key_count, block);
    else memcpy(block, key, key_count);
    for (int i = 0; i < 64; i++) inner[i] = block[i] ^ 0x36, outer[i] = block[i] ^ 0x5c;
    sha256(inner, data, count, digest);
    sha256(outer, digest, sizeof digest, out);
}

// Writes the base64 of `data` and a zero; `out` has room for (count + 2) / 3 * 4 + 1. With `url`: the URL alphabet
// and no padding (RFC 4648 section 5). Returns the length.
static inline size_t base64(const uint8_t *data, size_t count, int url, char *out) {
    static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *alphabet = url ? safe : standard;
    char *start = out;
    for (size_t i = 0; i < count; i += 3) {
        size_t rest = count - i;
        uint32_t v = (uint32_t)data[i] << 16 | (rest > 1 ? (uint32_t)data[i + 1] << 8 : 0) | (rest > 2 ? data[i + 2] : 0);
        *out++ = alphabet[v >> 18];
        *out++ = alphabet[v >> 12 & 63];
        if (rest > 1) *out++ = alphabet[v >> 6 & 63];
        else if (!url) *out++ = '=';
        if (rest > 2) *out++ = alphabet[v & 63];
        else if (!url) *out++ = '=';
    }
    *out = 0;
    return (size_t)(out - start);
}

#endif
