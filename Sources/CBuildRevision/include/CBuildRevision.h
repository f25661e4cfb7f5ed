#ifndef CHATROOM_BUILD_REVISION_H
#define CHATROOM_BUILD_REVISION_H

// The revision of the source that this was built from; "unknown" where the source was no Git checkout. A string that
// lives as long as the process. Package.swift hands it over as a definition, so that a new revision compiles one file.
const char *chatroom_build_revision(void);

#endif
