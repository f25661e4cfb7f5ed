// Load client of the durable-send benchmark: M senders on one thread, each alone in a room of its own, each with up to
// W sends that are not acknowledged yet (common/sends.h). Checks that the acks of a room carry dense seqs, and that each
// sender gets its own pushes once and in order. Exit code 1 when a send was refused or a check failed. The rooms
// PREFIX-1 ... PREFIX-M have to exist.

#include "sends.h"

static const char usage_text[] =
    "usage: sendload --room-prefix P --secret-file F [options]\n" TARGET_USAGE
    "  --room-prefix P    required\n" SENDS_USAGE;

enum { FIRST_ID = 16 };  // requests before the sends have smaller IDs

static const char *room_prefix;

struct room_sender {
    struct sender sender;
    char room[128];
    int64_t ack_seq, push_seq;  // the last of each
};

static void append_send(struct sender *sender) {
    struct room_sender *s = (struct room_sender *)sender;
    char message[65536 + 512];
    int count = snprintf(
        message, sizeof message,
        "{\"id\":%llu,\"send\":{\"room\":\"%s\",\"clientId\":\"%s-%llu\",\"type\":\"TEXT\",\"text\":\"%s\"}}",
        (unsigned long long)(FIRST_ID + sender->sent), s->room, run_id, (unsigned long long)sender->sent, pad);
    stream_append(&sender->stream, OPCODE_TEXT, message, (size_t)count);
}

static void on_reply(struct room_sender *s, const char *object, size_t count, uint64_t now) {
    int64_t id = json_number(object, count, "id");
    if (id < FIRST_ID) die("a reply to nothing: %.*s", (int)count, object);
    uint64_t number = (uint64_t)id - FIRST_ID;
    if (memmem(object, count, "\"error\":", 8)) {
        send_refused(&s->sender, number, now, json_number(object, count, "code"), object, count);
        return;
    }
    int64_t seq = json_number(object, count, "seq");
    if (seq != s->ack_seq + 1)
        die("%s: ack of seq %lld after %lld", s->room, (long long)seq, (long long)s->ack_seq);
    s->ack_seq = seq;
    send_acked(&s->sender, number, now);
}

static void on_push(struct room_sender *s, const char *object, size_t count) {
    int64_t seq = json_number(object, count, "seq");
    if (seq < 0) return;  // a message that is not kept
    if (seq != s->push_seq + 1)
        die("%s: push of seq %lld after %lld", s->room, (long long)seq, (long long)s->push_seq);
    s->push_seq = seq;
}

static void on_object(struct stream *stream, char *p, size_t count, uint64_t now) {
    struct room_sender *s = (struct room_sender *)stream;
    if (starts_with(p, count, "{\"message\":")) on_push(s, p, count);
    else if (starts_with(p, count, "{\"gap\":")) die("a gap although the sender reads all: %.*s", (int)count, p);
    else if (memmem(p, count, "\"send\":", 7) || memmem(p, count, "\"error\":", 8)) on_reply(s, p, count, now);
}

static struct sender *open_sender(int index) {
    struct room_sender *s = calloc(1, sizeof *s);
    if (!s) die("out of memory");
    char user[64];
    s->sender.index = index;
    snprintf(user, sizeof user, "sender-%d", index);
    if (snprintf(s->room, sizeof s->room, "%s-%d", room_prefix, index) >= (int)sizeof s->room)
        die("--room-prefix is too long");
    // The first one goes to the first port.
    chatroom_open(&s->sender.stream, index - 1, user, TCP_FAST);
    s->ack_seq = s->push_seq = chatroom_enter(&s->sender.stream, s->room, index);
    stream_watch(&s->sender.stream);
    return &s->sender;
}

static void close_sender(struct sender *sender) { chatroom_leave(&sender->stream, ((struct room_sender *)sender)->room); }

int main(int argc, char **argv) {
    const struct setting settings[] = {TARGET_SETTINGS, SENDS_SETTINGS, {"--room-prefix", SETTING_TEXT, &room_prefix}, {0}};
    settings_read(argc, argv, settings, usage_text);
    if (!room_prefix || !target.secret_file) die("%s", usage_text);
    if (!sends_are_possible()) die("an option has a value that makes no sense\n%s", usage_text);
    websocket_object = on_object;
    static const struct send_protocol chatroom = {
        .open = open_sender, .append = append_send, .take = websocket_take, .close = close_sender};
    return sends_run(&chatroom);
}
