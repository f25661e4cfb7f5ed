// The least that a WebSocket broadcast server can do: one thread, one epoll, no room, no order of anything, nothing
// kept. It is the measure for deliveries of chatroomd per second of CPU.
//
//   reference [--port P = 7490] [--tick] [--tls FILE]
//
// With TLS, FILE is a PEM file with certificate and key: then a write to a subscriber is one SSL_write.
//
// A client that asks for the path /publish is the publisher; everybody else is a subscriber. Each frame of the
// publisher goes to all subscribers, unmasked: with one write per subscriber and frame, or with --tick one write per
// subscriber for everything that one read of the publisher brought. Nothing is allocated on delivery, unless a
// subscriber's socket is full: the rest then waits in a queue of its own (at most 16 MB, then the subscriber is
// dropped).

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "digest.h"
#include "measure.h"
#include "tls.h"

enum { CONNECTIONS_MAX = 20000, READ_SIZE = 256 * 1024, QUEUE_MAX = 16 << 20, REQUEST_MAX = 2048 };

enum phase { PHASE_CLOSED, PHASE_HANDSHAKE, PHASE_SUBSCRIBER, PHASE_PUBLISHER };

struct connection {
    enum phase phase;
    int place;      // index in subscribers
    char *input;    // an unfinished request, or an unfinished frame of the publisher
    size_t input_count;
    char *queue;    // what the socket did not take
    size_t queue_begin, queue_end, queue_size;
};

static struct connection connections[CONNECTIONS_MAX];  // by descriptor
static int subscribers[CONNECTIONS_MAX], subscriber_count;
static int epoll_fd, tick;
static SSL_CTX *tls;
static char read_buffer[2 * READ_SIZE + 1];                // what was left over, then what was read
static char write_buffer[2 * READ_SIZE];                // frames of a turn, without masks: never larger than what was read

static void watch(int fd, uint32_t events, int operation) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    if (epoll_ctl(epoll_fd, operation, fd, &event) < 0) die("epoll_ctl: %s", strerror(errno));
}

static void drop(int fd) {
    struct connection *c = &connections[fd];
    if (c->phase == PHASE_SUBSCRIBER) {
        int last = subscribers[--subscriber_count];
        subscribers[c->place] = last;
        connections[last].place = c->place;
    }
    free(c->input);
    free(c->queue);
    *c = (struct connection){0};
    tls_end(fd);
    close(fd);
}

// Keeps what a full socket did not take. Returns 0 when the queue is full.
static int enqueue(int fd, const char *data, size_t count) {
    struct connection *c = &connections[fd];
    if (c->queue_end + count > c->queue_size) {
        size_t waiting = c->queue_end - c->queue_begin;
        if (waiting + count > QUEUE_MAX) return 0;
        size_t size = 2 * (waiting + count);
        char *larger = malloc(size);
        if (!larger) return 0;
        memcpy(larger, c->queue + c->queue_begin, waiting);
        free(c->queue);
        c->queue = larger, c->queue_begin = 0, c->queue_end = waiting, c->queue_size = size;
    }
    if (c->queue_begin == c->queue_end) watch(fd, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
    memcpy(c->queue + c->queue_end, data, count);
    c->queue_end += count;
    return 1;
}

static void drain(int fd) {
    struct connection *c = &connections[fd];
    ssize_t n = net_send(fd, c->queue + c->queue_begin, c->queue_end - c->queue_begin);
    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR) drop(fd);
        return;
    }
    c->queue_begin += (size_t)n;
    if (c->queue_begin < c->queue_end) return;
    c->queue_begin = c->queue_end = 0;
    watch(fd, EPOLLIN, EPOLL_CTL_MOD);
}

static void deliver(const char *data, size_t count) {
    // Backwards: a dropped subscriber is replaced by the last one, which has been served.
    for (int i = subscriber_count - 1; i >= 0; i--) {
        int fd = subscribers[i];
        struct connection *c = &connections[fd];
        size_t sent = 0;
        if (c->queue_begin == c->queue_end) {
            ssize_t n = net_send(fd, data, count);
            if (n < 0 && errno != EAGAIN) {
                drop(fd);
                continue;
            }
            if (n > 0) sent = (size_t)n;
        }
        if (sent < count && !enqueue(fd, data + sent, count - sent)) drop(fd);
    }
}

// Takes the client frames at `data` apart and delivers them. Returns how many bytes were whole frames, -1 on an error.
static ssize_t publish(uint8_t *data, size_t count) {
    size_t taken = 0, written = 0;
    while (count - taken >= 2) {
        uint8_t *p = data + taken;
        size_t left = count - taken, header = 2;
        uint64_t length = p[1] & 0x7F;
        if (!(p[1] & 0x80)) return -1;
        if (length >= 126) {
            size_t extra = length == 126 ? 2 : 8;
            header += extra;
            if (left < header) break;
            length = 0;
            for (size_t i = 0; i < extra; i++) length = length << 8 | p[2 + i];
        }
        if (length > READ_SIZE / 2) return -1;
        if (left < header + 4 + length) break;
        if ((p[0] & 0x0F) == 8) return -1;
        uint8_t *mask = p + header, *payload = mask + 4, *out = (uint8_t *)write_buffer + written;
        memcpy(out, p, header);
        out[1] &= 0x7F;
        for (uint64_t i = 0; i < length; i++) out[header + i] = payload[i] ^ mask[i & 3];
        taken += header + 4 + (size_t)length;
        written += header + (size_t)length;
        if (!tick) {
            deliver(write_buffer, written);
            written = 0;
        }
    }
    if (written > 0) deliver(write_buffer, written);
    return (ssize_t)taken;
}

// Answers an opening handshake that is complete. Returns 0 when it is none.
static int answer_handshake(int fd, char *request) {
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    char *key = strcasestr(request, "\r\nSec-WebSocket-Key:");
    if (strncmp(request, "GET ", 4) || !key) return 0;
    key += strlen("\r\nSec-WebSocket-Key:");
    while (*key == ' ') key++;
    char text[128], accept[32], answer[256];
    uint8_t digest[20];
    int n = snprintf(text, sizeof text, "%.*s%s", (int)strcspn(key, " \r\n"), key, guid);
    if (n >= (int)sizeof text) return 0;
    sha1(text, (size_t)n, digest);
    base64(digest, sizeof digest, 0, accept);
    n = snprintf(
        answer, sizeof answer,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: %s\r\n\r\n",
        accept);
    if (net_send(fd, answer, (size_t)n) != n) return 0;
    struct connection *c = &connections[fd];
    if (!strncmp(request, "GET /publish ", 13)) {
        c->phase = PHASE_PUBLISHER;
    } else {
        c->phase = PHASE_SUBSCRIBER;
        c->place = subscriber_count;
        subscribers[subscriber_count++] = fd;
    }
    return 1;
}

static void receive(int fd) {
    struct connection *c = &connections[fd];
    size_t old = c->input_count;
    if (old > 0) memcpy(read_buffer, c->input, old);
    ssize_t n = net_recv(fd, read_buffer + old, READ_SIZE, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        drop(fd);
        return;
    }
    size_t count = old + (size_t)n, taken = count;  // what subscribers send is not looked at
    if (c->phase == PHASE_HANDSHAKE) {
        read_buffer[count] = 0;
        char *end = strstr(read_buffer, "\r\n\r\n");
        taken = end ? (size_t)(end + 4 - read_buffer) : 0;
        if (count > REQUEST_MAX || (end && !answer_handshake(fd, read_buffer))) {
            drop(fd);
            return;
        }
    } else if (c->phase == PHASE_PUBLISHER) {
        ssize_t whole = publish((uint8_t *)read_buffer, count);
        if (whole < 0) {
            drop(fd);
            return;
        }
        taken = (size_t)whole;
    }
    c->input_count = count - taken;
    if (c->input_count > 0) {
        if (!c->input && !(c->input = malloc(READ_SIZE))) die("out of memory");
        memcpy(c->input, read_buffer + taken, c->input_count);
    } else if (c->input) {
        free(c->input);
        c->input = NULL;
    }
}

static void accept_all(int listener) {
    for (int fd, on = 1; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        if (fd >= CONNECTIONS_MAX) {
            close(fd);
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        connections[fd] = (struct connection){.phase = PHASE_HANDSHAKE};
        if (tls) tls_begin(fd, tls, 1);
        watch(fd, EPOLLIN, EPOLL_CTL_ADD);
    }
}

int main(int argc, char **argv) {
    int port = 7490;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--tick")) tick = 1;
        else if (!strcmp(argv[i], "--port") && i + 1 < argc) port = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--tls") && i + 1 < argc) tls = tls_context(argv[++i]);
        else die("usage: reference [--port P] [--tick] [--tls FILE]");
    }
    signal(SIGPIPE, SIG_IGN);

    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 1024) < 0)
        die("port %d: %s", port, strerror(errno));
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    watch(listener, EPOLLIN, EPOLL_CTL_ADD);

    struct epoll_event events[512];
    for (;;) {
        int n = epoll_wait(epoll_fd, events, 512, -1);
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                accept_all(listener);
                continue;
            }
            // An event may be older than a drop in the same turn.
            if (connections[fd].phase != PHASE_CLOSED && events[i].events & EPOLLOUT) drain(fd);
            if (connections[fd].phase != PHASE_CLOSED && events[i].events & ~(uint32_t)EPOLLOUT) receive(fd);
        }
    }
}
