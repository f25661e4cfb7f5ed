// NATS JetStream: each sender publishes to a subject of its own; one stream of files has them all. A send is acked by the
// stream's answer to the send's own reply subject.
#ifndef BENCHMARKS_PEERS_NATS_H
#define BENCHMARKS_PEERS_NATS_H

#include "../common/sends.h"

static int nats_replicas = 1;

// A message or a line of the protocol.
struct nats_frame {
    char *line;
    size_t line_count;  // without its end
    char *payload;      // of a message; else NULL
    size_t payload_count;
    int64_t reply;      // the last part of a message's subject: what it answers
};

// Parses one at `bytes`. Returns its whole size, 0 when more bytes are needed.
static size_t nats_parse(char *bytes, size_t count, struct nats_frame *frame) {
    char *end = memmem(bytes, count, "\r\n", 2);
    if (!end) return 0;
    *frame = (struct nats_frame){.line = bytes, .line_count = (size_t)(end - bytes)};
    if (!starts_with(bytes, frame->line_count, "MSG ")) return frame->line_count + 2;
    // MSG subject sid [reply-to] bytes
    char *last = end, *subject_end = memchr(bytes + 4, ' ', frame->line_count - 4), *dot = subject_end;
    while (last > bytes && last[-1] != ' ') last--;
    if (!subject_end) die("nats sent %.*s", (int)frame->line_count, bytes);
    while (dot > bytes && dot[-1] != '.') dot--;
    frame->reply = strtoll(dot, NULL, 10);
    frame->payload = end + 2;
    frame->payload_count = strtoul(last, NULL, 10);
    size_t used = frame->line_count + 2 + frame->payload_count + 2;
    return used <= count ? used : 0;
}

static void nats_on_line(struct stream *s, const struct nats_frame *frame) {
    if (starts_with(frame->line, frame->line_count, "PING")) {
        stream_append_bytes(s, "PONG\r\n", 6);
        stream_flush(s);
    } else if (starts_with(frame->line, frame->line_count, "-ERR")) {
        die("nats: %.*s", (int)frame->line_count, frame->line);
    }
}

static void nats_publish(struct stream *s, int index, const char *subject, int64_t reply, const char *payload, size_t count) {
    char line[256];
    int n = snprintf(line, sizeof line, "PUB %s _INBOX.%s.%d.%lld %zu\r\n", subject, run_id, index, (long long)reply, count);
    stream_append_bytes(s, line, (size_t)n);
    stream_append_bytes(s, payload, count);
    stream_append_bytes(s, "\r\n", 2);
}

static size_t nats_take(struct stream *stream, char *bytes, size_t count, uint64_t now) {
    struct sender *s = (struct sender *)stream;
    struct nats_frame frame;
    size_t taken = 0, used;
    while ((used = nats_parse(bytes + taken, count - taken, &frame)) > 0) {
        taken += used;
        if (!frame.payload) {
            nats_on_line(stream, &frame);
        } else if (frame.reply >= 0) {  // else a late answer to a request of the beginning
            if (json_number(frame.payload, frame.payload_count, "seq") > 0
                && !memmem(frame.payload, frame.payload_count, "\"error\"", 7)) {
                send_acked(s, (uint64_t)frame.reply, now);
            } else {
                send_refused(s, (uint64_t)frame.reply, now, json_number(frame.payload, frame.payload_count, "code"),
                             frame.payload, frame.payload_count);
            }
        }
    }
    return taken;
}

// Asks until it is granted, for up to 30 s: a new cluster has no leader yet, and interest in subjects spreads. Requests
// have negative numbers. Blocking, before the connection is watched.
static void nats_ask(struct stream *s, int index, const char *subject, const char *payload) {
    static int64_t number;
    uint64_t until = now_ns() + 30000000000u;
    char last[512] = "nothing";
    while (now_ns() < until) {
        nats_publish(s, index, subject, --number, payload, strlen(payload));
        stream_flush(s);
        uint64_t again = now_ns() + 500000000u;
        for (uint64_t now; (now = now_ns()) < again;) {
            struct pollfd input = {.fd = s->fd, .events = POLLIN};
            if (poll(&input, 1, (int)((again - now) / 1000000) + 1) <= 0) break;
            if (s->rest_count > 0) memcpy(stream_buffer, s->rest, s->rest_count);
            ssize_t n = recv(s->fd, stream_buffer + s->rest_count, STREAM_READ_SIZE, 0);
            if (n <= 0) die("nats closed a connection");
            size_t count = s->rest_count + (size_t)n, taken = 0, used;
            bool granted = false;
            struct nats_frame frame;
            while ((used = nats_parse(stream_buffer + taken, count - taken, &frame)) > 0) {
                taken += used;
                if (!frame.payload) {
                    nats_on_line(s, &frame);
                } else if (frame.reply == number) {
                    granted = !memmem(frame.payload, frame.payload_count, "\"error\"", 7);
                    snprintf(last, sizeof last, "%.*s", (int)frame.payload_count, frame.payload);
                }
            }
            stream_keep(s, stream_buffer + taken, count - taken);
            if (granted) return;
        }
    }
    die("nats does not grant %s: %s", subject, last);
}

static struct sender *nats_open(int index) {
    struct sender *s = calloc(1, sizeof *s);
    if (!s) die("out of memory");
    s->index = index;
    stream_connect(&s->stream, index - 1, TCP_FAST);
    char hello[256], subject[64], create[512];
    int n = snprintf(hello, sizeof hello,
                     "CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"c\",\"version\":\"1\",\"protocol\":1}\r\n"
                     "SUB _INBOX.%s.%d.* 1\r\n", run_id, index);
    stream_append_bytes(&s->stream, hello, (size_t)n);
    if (index == 1) {
        snprintf(create, sizeof create,
                 "{\"name\":\"SENDS\",\"subjects\":[\"sends.*\"],\"retention\":\"limits\",\"storage\":\"file\","
                 "\"discard\":\"old\",\"max_msgs\":-1,\"max_bytes\":-1,\"max_consumers\":-1,\"num_replicas\":%d}", nats_replicas);
        nats_ask(&s->stream, index, "$JS.API.STREAM.CREATE.SENDS", create);
    }
    snprintf(subject, sizeof subject, "sends.%d", index);
    nats_ask(&s->stream, index, subject, "first");
    stream_watch(&s->stream);
    return s;
}

static void nats_append(struct sender *s) {
    char subject[64];
    snprintf(subject, sizeof subject, "sends.%d", s->index);
    nats_publish(&s->stream, s->index, subject, (int64_t)s->sent, pad, (size_t)sends.text);
}

static const struct send_protocol nats_protocol = {.open = nats_open, .append = nats_append, .take = nats_take};

#endif
