/// A file of the pages.
struct chatroom_file {
    const char *name;
    const unsigned char *bytes;
    unsigned long count;
};

/// The client port's.
const struct chatroom_file *chatroom_page_files(unsigned long *count);

/// The console's.
const struct chatroom_file *chatroom_console_files(unsigned long *count);
