#ifndef CSHIMS_H
#define CSHIMS_H
int chatroom_shim(void);
#endif
