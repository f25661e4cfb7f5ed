// The client's half of RFC 6455 as far as a load client needs it, over TCP, or TLS, to one IPv4 address.
#ifndef BENCHMARKS_WEBSOCKET_H
#define BENCHMARKS_WEBSOCKET_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "digest.h"
#include "measure.h"
#include "tls.h"

enum { OPCODE_CONTINUATION = 0, OPCODE_TEXT = 1, OPCODE_BINARY = 2, OPCODE_CLOSE = 8, OPCODE_PING = 9, OPCODE_PONG = 10 };
enum { CONTROL_MAX = 125 };  // payload bytes of a control frame (RFC 6455 section 5.5)

struct frame {
    int fin, opcode, is_compressed;
    char *payload;
    size_t count;
};

// Parses one server frame (never masked) at `data`. Returns its whole size, 0 when more bytes are needed.
static inline size_t frame_parse(char *data, size_t count, struct frame *frame) {
    const uint8_t *p = (const uint8_t *)data;
    if (count < 2) return 0;
    if (p[1] & 0x80) die("the server sent a masked frame");
    size_t header = 2;
    uint64_t length = p[1] & 0x7F;
    if (p[0] & 0x08 && (length > CONTROL_MAX || !(p[0] & 0x80))) die("the server sent a malformed control frame");
    if (length >= 126) {
        size_t extra = length == 126 ? 2 : 8;
        header += extra;
        if (count < header) return 0;
        length = 0;
        for (size_t i = 0; i < extra; i++) length = length << 8 | p[2 + i];
    }
    if (length > 64u << 20) die("the server sent a frame of %llu bytes", (unsigned long long)length);
    if (count < header + length) return 0;
    frame->fin = p[0] >> 7;
    frame->opcode = p[0] & 0x0F;
    frame->is_compressed = p[0] >> 6 & 1;
    frame->payload = data + header;
    frame->count = (size_t)length;
    return header + (size_t)length;
}

// Writes a masked client frame with the mask 0, which leaves the payload as it is (allowed on the wire, and costs the
// server the same work). `out` has room for count + 14. Returns its size.
static inline size_t frame_write(char *out, int opcode, const char *payload, size_t count) {
    uint8_t *p = (uint8_t *)out;
    size_t header = 2;
    p[0] = (uint8_t)(0x80 | opcode);
    if (count < 126) {
        p[1] = (uint8_t)(0x80 | count);
    } else if (count < 65536) {
        p[1] = 0x80 | 126;
        p[2] = (uint8_t)(count >> 8), p[3] = (uint8_t)count;
        header = 4;
    } else {
        p[1] = 0x80 | 127;
        for (int i = 0; i < 8; i++) p[2 + i] = (uint8_t)((uint64_t)count >> (56 - 8 * i));
        header = 10;
    }
    memset(p + header, 0, 4);
    memcpy(p + header + 4, payload, count);
    return header + 4 + count;
}

static inline void write_all(int fd, const char *data, size_t count) {
    while (count > 0) {
        ssize_t n = net_send(fd, data, count);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) die("the server does not take what is sent: %s", n < 0 ? strerror(errno) : "closed");
        data += n;
        count -= (size_t)n;
    }
}

// How fast a connection reads. A slow one tells its peer of an Ethernet's segments and a small window: with those of loopback
// the peer's system alone would keep megabytes for it.
enum tcp_pace { TCP_FAST, TCP_SLOW };

// Opens a blocking connection. `source` > 0 picks 127.0.s.s as the own address, so that ports do not run out and
// limits per address are not reached. Reads give up after 30 s.
static inline int tcp_connect(const struct sockaddr_in *server, int source, enum tcp_pace pace) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0) die("socket: %s", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct timeval patience = {.tv_sec = 30};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (pace == TCP_SLOW) {
        int window = 4096, segment = 1460;
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
        setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
    }
    if (source > 0) {
        setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        struct sockaddr_in own = {.sin_family = AF_INET};
        own.sin_addr.s_addr = htonl(0x7F000000u + 256u * (uint32_t)(1 + source / 250) + (uint32_t)(1 + source % 250));
        if (bind(fd, (struct sockaddr *)&own, sizeof own) < 0) die("bind to a source address: %s", strerror(errno));
    }
    if (connect(fd, (const struct sockaddr *)server, sizeof *server) < 0) die("connect: %s", strerror(errno));
    return fd;
}

// The opening handshake on a blocking connection. Reads the answer byte by byte past its end never: a frame that
// follows at once stays in the socket. `offers` permessage-deflate, which must then be accepted.
static inline void websocket_handshake(
    int fd, const char *host, int port, const char *path, const char *subprotocol, int offers) {
    static const char offer[] =
        "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits; server_max_window_bits=12\r\n";
    char request[1024], answer[4096];
    int count = snprintf(
        request, sizeof request,
        "GET %s HTTP/1.1\r\nHost: %s:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n%s%s%s%s\r\n",
        path, host, port, offers ? offer : "", subprotocol ? "Sec-WebSocket-Protocol: " : "", subprotocol ? subprotocol : "",
        subprotocol ? "\r\n" : "");
    write_all(fd, request, (size_t)count);
    size_t have = 0;
    for (;;) {
        ssize_t peeked = net_recv(fd, answer + have, sizeof answer - 1 - have, MSG_PEEK);
        if (peeked <= 0) die("handshake: %s", peeked < 0 ? strerror(errno) : "the server closed");
        size_t old = have;
        answer[have + (size_t)peeked] = 0;
        char *end = strstr(answer + (have > 3 ? have - 3 : 0), "\r\n\r\n");
        have = end ? (size_t)(end + 4 - answer) : have + (size_t)peeked;
        if (net_recv(fd, answer + old, have - old, 0) != (ssize_t)(have - old)) die("handshake: short read");
        if (end) break;
        if (have >= sizeof answer - 1) die("handshake: the answer is too long");
    }
    answer[have] = 0;
    // The accept value of the sample key, from RFC 6455 section 1.3.
    if (strncmp(answer, "HTTP/1.1 101 ", 13) || !strstr(answer, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
        die("the handshake was refused:\n%s", answer);
    if (offers && !strstr(answer, "permessage-deflate")) die("permessage-deflate was refused:\n%s", answer);
}

// Reads one frame on a blocking connection into `buffer`; `have` bytes of it are filled already, and what follows the
// frame is left at its place. Returns the size of the frame.
static inline size_t frame_read(int fd, char *buffer, size_t size, size_t *have, struct frame *frame) {
    for (;;) {
        size_t used = frame_parse(buffer, *have, frame);
        if (used > 0) return used;
        if (*have == size) die("a frame is larger than %zu bytes", size);
        ssize_t n = net_recv(fd, buffer + *have, size - *have, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) die("waiting for a frame: %s", n < 0 ? strerror(errno) : "the server closed");
        *have += (size_t)n;
    }
}

static inline void set_nonblocking(int fd) {
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0) die("fcntl: %s", strerror(errno));
}

#endif
