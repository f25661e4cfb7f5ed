// Redis: each sender appends to a stream of its own (XADD). Answers come in the order of the commands (RESP2).
#ifndef BENCHMARKS_PEERS_REDIS_H
#define BENCHMARKS_PEERS_REDIS_H

#include "../common/sends.h"

struct redis_sender {
    struct sender sender;
    char *command;  // each send is the same one: the server makes the ID
    size_t count;
};

static struct sender *redis_open(int index) {
    struct redis_sender *s = calloc(1, sizeof *s);
    size_t size = (size_t)sends.text + 256;
    if (!s || !(s->command = malloc(size))) die("out of memory");
    char key[64];
    int key_count = snprintf(key, sizeof key, "sender-%d", index);
    s->count = (size_t)snprintf(
        s->command, size, "*5\r\n$4\r\nXADD\r\n$%d\r\n%s\r\n$1\r\n*\r\n$4\r\ntext\r\n$%d\r\n%s\r\n", key_count, key,
        sends.text, pad);
    s->sender.index = index;
    stream_connect(&s->sender.stream, index - 1, TCP_FAST);
    stream_watch(&s->sender.stream);
    return &s->sender;
}

static void redis_append(struct sender *sender) {
    struct redis_sender *s = (struct redis_sender *)sender;
    stream_append_bytes(&sender->stream, s->command, s->count);
}

static size_t redis_take(struct stream *stream, char *bytes, size_t count, uint64_t now) {
    struct sender *s = (struct sender *)stream;
    size_t taken = 0;
    for (;;) {
        char *line = bytes + taken, *end = memmem(line, count - taken, "\r\n", 2);
        if (!end) return taken;
        size_t used = (size_t)(end + 2 - line);
        if (*line == '$') {
            // The ID of the entry, as a string of that many bytes.
            long id_count = strtol(line + 1, NULL, 10);
            if (id_count < 1 || id_count > 64) die("redis answered %.*s", (int)(end - line), line);
            used += (size_t)id_count + 2;
            if (used > count - taken) return taken;
            send_acked(s, s->answered, now);
        } else if (*line == '-') {
            send_refused(s, s->answered, now, 1, line, (size_t)(end - line));
        } else {
            die("redis answered %.*s", (int)(end - line), line);
        }
        taken += used;
    }
}

static const struct send_protocol redis_protocol = {.open = redis_open, .append = redis_append, .take = redis_take};

#endif
