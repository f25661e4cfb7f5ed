#include "CBuildRevision.h"

#ifndef CHATROOM_BUILD_REVISION
#define CHATROOM_BUILD_REVISION "unknown"
#endif

const char *chatroom_build_revision(void) { return CHATROOM_BUILD_REVISION; }
