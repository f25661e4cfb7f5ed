// etcd: each send puts a key of its own (etcdserverpb.KV/Put of gRPC). As much of HTTP/2 (RFC 9113) as that needs, by hand:
// the answers' headers are not decoded, because only an answer that grants a put has a message. The request's headers go
// once as literals and then, like a gRPC library's, as four references into the dynamic table (RFC 7541).
#ifndef BENCHMARKS_PEERS_ETCD_H
#define BENCHMARKS_PEERS_ETCD_H

#include "../common/sends.h"

enum { H2_DATA = 0, H2_HEADERS = 1, H2_RST_STREAM = 3, H2_SETTINGS = 4, H2_PING = 6, H2_GOAWAY = 7, H2_WINDOW_UPDATE = 8 };
enum { H2_ACK = 1, H2_END_STREAM = 1, H2_END_HEADERS = 4, H2_FRAME_HEADER = 9, H2_FIRST_WINDOW = 65535 };
enum { H2_WINDOW_STEP = 1 << 20 };  // so many bytes are taken before the server is told

struct etcd_sender {
    struct sender sender;
    uint64_t opening;        // puts before the first send
    bool granted[IN_FLIGHT_MAX];  // send n has got a message, at n % IN_FLIGHT_MAX
    bool opening_granted, opening_answered;
    int64_t window;          // bytes that the server takes now
    uint32_t taken;          // bytes of which it has not been told
    size_t put_count;        // size of a request's message
};

static void h2_append(struct stream *s, int type, int flags, uint32_t stream, const void *payload, size_t count) {
    uint8_t header[H2_FRAME_HEADER] = {
        (uint8_t)(count >> 16), (uint8_t)(count >> 8), (uint8_t)count, (uint8_t)type, (uint8_t)flags,
        (uint8_t)(stream >> 24), (uint8_t)(stream >> 16), (uint8_t)(stream >> 8), (uint8_t)stream};
    stream_append_bytes(s, header, sizeof header);
    stream_append_bytes(s, payload, count);
}

static void h2_append_window(struct stream *s, uint32_t bytes) {
    uint8_t payload[4] = {(uint8_t)(bytes >> 24), (uint8_t)(bytes >> 16), (uint8_t)(bytes >> 8), (uint8_t)bytes};
    h2_append(s, H2_WINDOW_UPDATE, 0, 0, payload, sizeof payload);
}

static uint32_t h2_number(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

// ---------------------------------------------------------------------------------------------------------------------
// Output

// A literal that goes into the dynamic table: `name` is an index of the static table.
static size_t hpack_literal(uint8_t *out, int name, const char *value) {
    size_t count = strlen(value);
    out[0] = (uint8_t)(0x40 | name);
    out[1] = (uint8_t)count;
    memcpy(out + 2, value, count);
    return 2 + count;
}

static size_t protobuf_length(uint8_t *out, size_t n) {
    size_t count = 0;
    for (; n > 127; n >>= 7) out[count++] = (uint8_t)(n | 0x80);
    out[count++] = (uint8_t)n;
    return count;
}

// The gRPC message of PutRequest {key = 1, value = 2}.
static size_t etcd_message(uint8_t *out, int index, uint64_t number) {
    char key[96];
    size_t key_count = (size_t)snprintf(
        key, sizeof key, "sends/%s/%05d/%012llu", run_id, index, (unsigned long long)number);
    size_t n = 5;
    out[n++] = 1 << 3 | 2;
    n += protobuf_length(out + n, key_count);
    memcpy(out + n, key, key_count);
    n += key_count;
    out[n++] = 2 << 3 | 2;
    n += protobuf_length(out + n, (size_t)sends.text);
    memcpy(out + n, pad, (size_t)sends.text);
    n += (size_t)sends.text;
    out[0] = 0;  // not compressed
    for (int i = 0; i < 4; i++) out[1 + i] = (uint8_t)((n - 5) >> (24 - 8 * i));
    return n;
}

// Put number `number` of the connection, from 0, opening ones included.
static void etcd_append_put(struct etcd_sender *s, uint64_t number) {
    struct stream *stream = &s->sender.stream;
    uint8_t headers[256], message[65536];
    uint32_t id = (uint32_t)(2 * number + 1);
    size_t n = 0;
    headers[n++] = 0x80 | 3;  // :method POST
    headers[n++] = 0x80 | 6;  // :scheme http
    if (number == 0) {
        n += hpack_literal(headers + n, 4, "/etcdserverpb.KV/Put");  // :path
        n += hpack_literal(headers + n, 1, target.host);             // :authority
        n += hpack_literal(headers + n, 31, "application/grpc");     // content-type
        memcpy(headers + n, "\x40\2te\10trailers", 13);
        n += 13;
    } else {
        // The newest one of the dynamic table has the number 62.
        for (int i = 65; i >= 62; i--) headers[n++] = (uint8_t)(0x80 | i);
    }
    h2_append(stream, H2_HEADERS, H2_END_HEADERS, id, headers, n);
    s->put_count = etcd_message(message, s->sender.index, number);
    s->window -= (int64_t)s->put_count;
    h2_append(stream, H2_DATA, H2_END_STREAM, id, message, s->put_count);
}

static void etcd_append(struct sender *sender) {
    struct etcd_sender *s = (struct etcd_sender *)sender;
    etcd_append_put(s, s->opening + sender->sent);
}

static bool etcd_has_room(const struct sender *sender) {
    const struct etcd_sender *s = (const struct etcd_sender *)sender;
    return s->window >= (int64_t)s->put_count;
}

// ---------------------------------------------------------------------------------------------------------------------
// Input

static bool *etcd_granted(struct etcd_sender *s, uint32_t stream) {
    uint64_t number = (stream - 1) / 2;
    return number < s->opening ? &s->opening_granted : &s->granted[(number - s->opening) % IN_FLIGHT_MAX];
}

// The answer to the put of a stream is whole.
static void etcd_on_end(struct etcd_sender *s, uint32_t stream, uint64_t now) {
    static const char refused[] = "etcd did not grant a put";
    bool *granted = etcd_granted(s, stream), was_granted = *granted;
    uint64_t number = (stream - 1) / 2;
    if (number < s->opening) {
        s->opening_answered = true;
        return;
    }
    *granted = false;
    if (was_granted) send_acked(&s->sender, number - s->opening, now);
    else send_refused(&s->sender, number - s->opening, now, 1, refused, sizeof refused - 1);
}

static size_t etcd_take(struct stream *stream, char *bytes, size_t count, uint64_t now) {
    struct etcd_sender *s = (struct etcd_sender *)stream;
    const uint8_t *p = (const uint8_t *)bytes;
    bool answers = false;
    size_t taken = 0;
    while (count - taken >= H2_FRAME_HEADER) {
        const uint8_t *header = p + taken, *payload = header + H2_FRAME_HEADER;
        size_t size = (size_t)header[0] << 16 | (size_t)header[1] << 8 | header[2];
        if (count - taken < H2_FRAME_HEADER + size) break;
        taken += H2_FRAME_HEADER + size;
        int flags = header[4];
        uint32_t id = h2_number(header + 5);
        switch (header[3]) {
        case H2_DATA:
            if (size >= 5) *etcd_granted(s, id) = true;
            s->taken += (uint32_t)size;
            if (s->taken >= H2_WINDOW_STEP) {
                h2_append_window(stream, s->taken);
                s->taken = 0;
                answers = true;
            }
            if (flags & H2_END_STREAM) etcd_on_end(s, id, now);
            break;
        case H2_HEADERS:
            if (flags & H2_END_STREAM) etcd_on_end(s, id, now);
            break;
        case H2_RST_STREAM: etcd_on_end(s, id, now); break;
        case H2_SETTINGS:
        case H2_PING:
            if (flags & H2_ACK) break;
            h2_append(stream, header[3], H2_ACK, 0, payload, header[3] == H2_PING ? size : 0);
            answers = true;
            break;
        case H2_GOAWAY: die("etcd ends a connection: %.*s", size > 8 ? (int)size - 8 : 0, (const char *)payload + 8);
        case H2_WINDOW_UPDATE:
            if (id == 0 && size == 4) s->window += h2_number(payload);
            break;
        default: break;
        }
    }
    if (answers) stream_flush(stream);
    return taken;
}

// ---------------------------------------------------------------------------------------------------------------------

// Puts until one is granted, for up to 30 s: a new cluster has no leader yet.
static struct sender *etcd_open(int index) {
    struct etcd_sender *s = calloc(1, sizeof *s);
    if (!s) die("out of memory");
    struct stream *stream = &s->sender.stream;
    s->sender.index = index;
    s->window = H2_FIRST_WINDOW;
    stream_connect(stream, index - 1, TCP_FAST);
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    stream_append_bytes(stream, preface, sizeof preface - 1);
    h2_append(stream, H2_SETTINGS, 0, 0, "", 0);
    h2_append_window(stream, 1u << 30);
    for (uint64_t until = now_ns() + 30000000000u; !s->opening_granted;) {
        if (now_ns() > until) die("etcd grants no put");
        if (s->opening > 0) usleep(100000);
        etcd_append_put(s, s->opening++);
        s->opening_answered = false;
        stream_flush(stream);
        while (!s->opening_answered && now_ns() <= until) stream_read(stream, etcd_take);
    }
    stream_watch(stream);
    return &s->sender;
}

static const struct send_protocol etcd_protocol = {
    .open = etcd_open, .append = etcd_append, .has_room = etcd_has_room, .take = etcd_take};

#endif
