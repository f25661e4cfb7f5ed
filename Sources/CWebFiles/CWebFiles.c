// The files of the pages, as they are in the repository: the compiler puts them into the program.
//
// With #embed (C23) that takes no time. The package manager's .embedInCode writes an array literal of Swift, which took the
// compiler 100 s for the same files.
#include "CWebFiles.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

// Served on the client port.

static const unsigned char page_chat_room_css[] = {
#embed "../Gateway/Web/chat-room.css"
};

static const unsigned char page_chat_room_js[] = {
#embed "../Gateway/Web/chat-room.js"
};

static const unsigned char page_chat_css[] = {
#embed "../Gateway/Web/chat.css"
};

static const unsigned char page_chat_js[] = {
#embed "../Gateway/Web/chat.js"
};

static const unsigned char page_chatroom_d_ts[] = {
#embed "../Gateway/Web/chatroom.d.ts"
};

static const unsigned char page_chatroom_js[] = {
#embed "../Gateway/Web/chatroom.js"
};

static const unsigned char page_dialogs_css[] = {
#embed "../Gateway/Web/dialogs.css"
};

static const unsigned char page_dialogs_js[] = {
#embed "../Gateway/Web/dialogs.js"
};

static const unsigned char page_figures_js[] = {
#embed "../Gateway/Web/figures.js"
};

static const unsigned char page_held_js[] = {
#embed "../Gateway/Web/held.js"
};

static const unsigned char page_index_html[] = {
#embed "../Gateway/Web/index.html"
};

static const unsigned char page_ledger_js[] = {
#embed "../Gateway/Web/ledger.js"
};

static const unsigned char page_page_js[] = {
#embed "../Gateway/Web/page.js"
};

static const unsigned char page_parts_js[] = {
#embed "../Gateway/Web/parts.js"
};

static const unsigned char page_people_css[] = {
#embed "../Gateway/Web/people.css"
};

static const unsigned char page_people_js[] = {
#embed "../Gateway/Web/people.js"
};

static const unsigned char page_polls_css[] = {
#embed "../Gateway/Web/polls.css"
};

static const unsigned char page_polls_js[] = {
#embed "../Gateway/Web/polls.js"
};

static const unsigned char page_qr_js[] = {
#embed "../Gateway/Web/qr.js"
};

static const unsigned char page_search_js[] = {
#embed "../Gateway/Web/search.js"
};

static const unsigned char page_seats_css[] = {
#embed "../Gateway/Web/seats.css"
};

static const unsigned char page_seats_js[] = {
#embed "../Gateway/Web/seats.js"
};

static const unsigned char page_stage_css[] = {
#embed "../Gateway/Web/stage.css"
};

static const unsigned char page_stage_js[] = {
#embed "../Gateway/Web/stage.js"
};

static const unsigned char page_words_en_js[] = {
#embed "../Gateway/Web/words-en.js"
};

static const unsigned char page_words_zh_js[] = {
#embed "../Gateway/Web/words-zh.js"
};

static const unsigned char page_words_js[] = {
#embed "../Gateway/Web/words.js"
};

static const struct chatroom_file page_files[] = {
    {"chat-room.css", page_chat_room_css, sizeof page_chat_room_css},
    {"chat-room.js", page_chat_room_js, sizeof page_chat_room_js},
    {"chat.css", page_chat_css, sizeof page_chat_css},
    {"chat.js", page_chat_js, sizeof page_chat_js},
    {"chatroom.d.ts", page_chatroom_d_ts, sizeof page_chatroom_d_ts},
    {"chatroom.js", page_chatroom_js, sizeof page_chatroom_js},
    {"dialogs.css", page_dialogs_css, sizeof page_dialogs_css},
    {"dialogs.js", page_dialogs_js, sizeof page_dialogs_js},
    {"figures.js", page_figures_js, sizeof page_figures_js},
    {"held.js", page_held_js, sizeof page_held_js},
    {"index.html", page_index_html, sizeof page_index_html},
    {"ledger.js", page_ledger_js, sizeof page_ledger_js},
    {"page.js", page_page_js, sizeof page_page_js},
    {"parts.js", page_parts_js, sizeof page_parts_js},
    {"people.css", page_people_css, sizeof page_people_css},
    {"people.js", page_people_js, sizeof page_people_js},
    {"polls.css", page_polls_css, sizeof page_polls_css},
    {"polls.js", page_polls_js, sizeof page_polls_js},
    {"qr.js", page_qr_js, sizeof page_qr_js},
    {"search.js", page_search_js, sizeof page_search_js},
    {"seats.css", page_seats_css, sizeof page_seats_css},
    {"seats.js", page_seats_js, sizeof page_seats_js},
    {"stage.css", page_stage_css, sizeof page_stage_css},
    {"stage.js", page_stage_js, sizeof page_stage_js},
    {"words-en.js", page_words_en_js, sizeof page_words_en_js},
    {"words-zh.js", page_words_zh_js, sizeof page_words_zh_js},
    {"words.js", page_words_js, sizeof page_words_js},
};

const struct chatroom_file *chatroom_page_files(unsigned long *count) {
    *count = sizeof page_files / sizeof page_files[0];
    return page_files;
}

// Served on the API port at /console.

static const unsigned char console_console_api_js[] = {
#embed "../ServerAPI/Console/console-api.js"
};

static const unsigned char console_console_audit_js[] = {
#embed "../ServerAPI/Console/console-audit.js"
};

static const unsigned char console_console_charts_js[] = {
#embed "../ServerAPI/Console/console-charts.js"
};

static const unsigned char console_console_cluster_js[] = {
#embed "../ServerAPI/Console/console-cluster.js"
};

static const unsigned char console_console_monitor_js[] = {
#embed "../ServerAPI/Console/console-monitor.js"
};

static const unsigned char console_console_overview_js[] = {
#embed "../ServerAPI/Console/console-overview.js"
};

static const unsigned char console_console_person_js[] = {
#embed "../ServerAPI/Console/console-person.js"
};

static const unsigned char console_console_polls_js[] = {
#embed "../ServerAPI/Console/console-polls.js"
};

static const unsigned char console_console_room_js[] = {
#embed "../ServerAPI/Console/console-room.js"
};

static const unsigned char console_console_rooms_js[] = {
#embed "../ServerAPI/Console/console-rooms.js"
};

static const unsigned char console_console_settings_js[] = {
#embed "../ServerAPI/Console/console-settings.js"
};

static const unsigned char console_console_ui_js[] = {
#embed "../ServerAPI/Console/console-ui.js"
};

static const unsigned char console_console_users_js[] = {
#embed "../ServerAPI/Console/console-users.js"
};

static const unsigned char console_console_words_js[] = {
#embed "../ServerAPI/Console/console-words.js"
};

static const unsigned char console_console_css[] = {
#embed "../ServerAPI/Console/console.css"
};

static const unsigned char console_console_html[] = {
#embed "../ServerAPI/Console/console.html"
};

static const unsigned char console_console_js[] = {
#embed "../ServerAPI/Console/console.js"
};

static const struct chatroom_file console_files[] = {
    {"console-api.js", console_console_api_js, sizeof console_console_api_js},
    {"console-audit.js", console_console_audit_js, sizeof console_console_audit_js},
    {"console-charts.js", console_console_charts_js, sizeof console_console_charts_js},
    {"console-cluster.js", console_console_cluster_js, sizeof console_console_cluster_js},
    {"console-monitor.js", console_console_monitor_js, sizeof console_console_monitor_js},
    {"console-overview.js", console_console_overview_js, sizeof console_console_overview_js},
    {"console-person.js", console_console_person_js, sizeof console_console_person_js},
    {"console-polls.js", console_console_polls_js, sizeof console_console_polls_js},
    {"console-room.js", console_console_room_js, sizeof console_console_room_js},
    {"console-rooms.js", console_console_rooms_js, sizeof console_console_rooms_js},
    {"console-settings.js", console_console_settings_js, sizeof console_console_settings_js},
    {"console-ui.js", console_console_ui_js, sizeof console_console_ui_js},
    {"console-users.js", console_console_users_js, sizeof console_console_users_js},
    {"console-words.js", console_console_words_js, sizeof console_console_words_js},
    {"console.css", console_console_css, sizeof console_console_css},
    {"console.html", console_console_html, sizeof console_console_html},
    {"console.js", console_console_js, sizeof console_console_js},
};

const struct chatroom_file *chatroom_console_files(unsigned long *count) {
    *count = sizeof console_files / sizeof console_files[0];
    return console_files;
}
