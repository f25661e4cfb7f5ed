// Load client for other servers that sync before they ack: the same senders, schedule and figures as sendload
// (common/sends.h), in the protocols of Redis, NATS JetStream and etcd. Checks that each send is answered once. Exit code
// 1 when one was refused.

#include "etcd.h"
#include "nats.h"
#include "redis.h"

static const char usage_text[] =
    "usage: peerload --peer redis|nats|etcd [options]\n" TARGET_USAGE
    "  --peer P           required: whose protocol\n"
    "  --replicas N       of the stream of NATS, which is made when it is not there (1)\n" SENDS_USAGE;

int main(int argc, char **argv) {
    const char *peer = "";
    const struct setting settings[] = {
        TARGET_SETTINGS, SENDS_SETTINGS, {"--peer", SETTING_TEXT, &peer}, {"--replicas", SETTING_INT, &nats_replicas}, {0}};
    settings_read(argc, argv, settings, usage_text);
    if (!sends_are_possible()) die("an option has a value that makes no sense\n%s", usage_text);
    if (!strcmp(peer, "redis")) return sends_run(&redis_protocol);
    if (!strcmp(peer, "nats")) return sends_run(&nats_protocol);
    if (!strcmp(peer, "etcd")) return sends_run(&etcd_protocol);
    die("%s", usage_text);
}
