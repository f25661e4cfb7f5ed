// The protocol between a load client and chatroomd (docs/PROTOCOL.md): tokens, connect, enter, and a look into what
// comes.
#ifndef BENCHMARKS_CHATROOM_H
#define BENCHMARKS_CHATROOM_H

#include <ctype.h>

#include "websocket.h"

// Signing key of tokens: the ID and the secret, whose bytes are the HMAC key as they stand.
struct signing_key {
    const char *kid;
    char secret[256];
};

// The secret is the first word of a file (never an argument: those are seen by every user of the machine).
static inline void read_secret(const char *path, struct signing_key *key) {
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%255s", key->secret) != 1) die("cannot read a secret from %s", path);
    fclose(file);
}

// Writes a JWT (RFC 7519) for `user` that is valid for an hour.
static inline void make_token(const struct signing_key *key, const char *user, char *out, size_t size) {
    char header[160], claims[256], signature[64];
    uint8_t mac[32];
    int header_count = snprintf(header, sizeof header, "{\"alg\":\"HS256\",\"typ\":\"JWT\",\"kid\":\"%s\"}", key->kid);
    int claims_count = snprintf(
        claims, sizeof claims, "{\"sub\":\"%s\",\"nick\":\"%s\",\"exp\":%lld}", user, user, (long long)time(NULL) + 3600);
    if (size < 1024 || header_count >= (int)sizeof header || claims_count >= (int)sizeof claims) die("token too long");
    size_t n = base64((uint8_t *)header, (size_t)header_count, 1, out);
    out[n++] = '.';
    n += base64((uint8_t *)claims, (size_t)claims_count, 1, out + n);
    hmac_sha256(key->secret, strlen(key->secret), out, n, mac);
    base64(mac, sizeof mac, 1, signature);
    snprintf(out + n, size - n, ".%s", signature);
}

// The number after `"name":` in an object, or -1. The names that are looked for occur in none of our own texts.
static inline int64_t json_number(const char *object, size_t count, const char *name) {
    char wanted[64];
    int n = snprintf(wanted, sizeof wanted, "\"%s\":", name);
    const char *p = memmem(object, count, wanted, (size_t)n), *end = object + count;
    if (!p) return -1;
    p += n;
    while (p < end && *p == ' ') p++;
    if (p == end || !isdigit((unsigned char)*p)) return -1;
    int64_t value = 0;
    for (; p < end && isdigit((unsigned char)*p) && value < INT64_MAX / 10 - 10; p++) value = value * 10 + (*p - '0');
    return value;
}

static inline int starts_with(const char *object, size_t count, const char *prefix) {
    size_t n = strlen(prefix);
    return count >= n && memcmp(object, prefix, n) == 0;
}

// Set by a client that reads no messages any more: compressed frames may come before an answer.
static int passes_compressed;

// Sends one request on a blocking connection and waits for its answer; pushes that come before it are passed over.
// Bytes after the answer stay in `buffer`, `have` of them. Returns the answer's seq, or -1 when it has none.
static inline int64_t chatroom_request(
    int fd, const char *request, int64_t id, char *buffer, size_t size, size_t *have) {
    char out[4096];
    if (strlen(request) + 14 > sizeof out) die("request too long");
    write_all(fd, out, frame_write(out, OPCODE_TEXT, request, strlen(request)));
    for (;;) {
        struct frame frame;
        size_t used = frame_read(fd, buffer, size, have, &frame);
        int64_t seq = -2;
        if (frame.opcode == OPCODE_CLOSE) die("the server closed the connection after: %s", request);
        if (frame.is_compressed && !passes_compressed) die("a compressed frame came before the answer to: %s", request);
        if (frame.opcode == OPCODE_TEXT && !frame.is_compressed) {
            char *p = frame.payload, *end = p + frame.count;
            while (p < end) {
                char *newline = memchr(p, '\n', (size_t)(end - p)), *next = newline ? newline : end;
                size_t count = (size_t)(next - p);
                if (!starts_with(p, count, "{\"message\":") && json_number(p, count, "id") == id) {
                    if (memmem(p, count, "\"error\":", 8)) die("%s\nwas answered: %.*s", request, (int)count, p);
                    seq = json_number(p, count, "seq");
                }
                p = next + 1;
            }
        }
        memmove(buffer, buffer + used, *have - used);
        *have -= used;
        if (seq > -2) return seq;
    }
}

#endif
