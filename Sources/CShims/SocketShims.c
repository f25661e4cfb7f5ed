#define _GNU_SOURCE
#include "CShims.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

static int set_flag(int descriptor, int level, int option) {
    int on = 1;
    return setsockopt(descriptor, level, option, &on, sizeof on);
}

/// Closes the descriptor and returns what errno was before.
static int fail(int descriptor) {
    int error = errno;
    close(descriptor);
    return -error;
}

int chatroom_listen(const struct sockaddr *address, socklen_t length, int reuse_port, int backlog) {
    int descriptor = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    if (set_flag(descriptor, SOL_SOCKET, SO_REUSEADDR) != 0) return fail(descriptor);
    if (reuse_port && set_flag(descriptor, SOL_SOCKET, SO_REUSEPORT) != 0) return fail(descriptor);
    if (bind(descriptor, address, length) != 0) return fail(descriptor);
    if (listen(descriptor, backlog) != 0) return fail(descriptor);
    return descriptor;
}

int chatroom_outgoing_socket(int family, const struct sockaddr *source, socklen_t length) {
    int descriptor = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    if (set_flag(descriptor, IPPROTO_TCP, TCP_NODELAY) != 0) return fail(descriptor);
    if (source != NULL) {
        // Without it bind() takes a port that no other connection of that source may share, whatever its peer.
        // A kernel that refuses it only gives fewer ports.
        (void)set_flag(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT);
        if (bind(descriptor, source, length) != 0) return fail(descriptor);
    }
    return descriptor;
}

int chatroom_accept(int listener) {
    int descriptor;
    do {
        descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) return -errno;
    if (set_flag(descriptor, IPPROTO_TCP, TCP_NODELAY) != 0) {
        // The peer may have gone already: one lost connection, not a fault of the listener.
        close(descriptor);
        return -ECONNABORTED;
    }
    return descriptor;
}

int chatroom_reserve_descriptor(void) {
    int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

void chatroom_close(int descriptor) { (void)close(descriptor); }
