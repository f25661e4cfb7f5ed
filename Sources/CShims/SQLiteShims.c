#include "CShims.h"

#include <sqlite3.h>
#include <stddef.h>

int chatroom_sqlite_no_checkpoint_on_close(struct sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

int chatroom_sqlite_trusted_schema_off(struct sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
}
