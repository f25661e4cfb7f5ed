// Command lines of the form --name value, read by a table. A text where a number is wanted ends the program.
#ifndef BENCHMARKS_SETTINGS_H
#define BENCHMARKS_SETTINGS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

enum { LIST_MAX = 16 };
struct list {
    int count, list[LIST_MAX];
};

struct setting {
    const char *name;
    enum { SETTING_TEXT, SETTING_INT, SETTING_DOUBLE, SETTING_LIST, SETTING_FLAG } kind;
    void *into;  // const char *, int, double, struct list, bool
};

static inline double setting_number(const char *name, const char *value, char ends_with, char **end) {
    double number = strtod(value, end);
    if (*end == value || (**end && **end != ends_with)) die("%s needs a number, not '%s'", name, value);
    return number;
}

static inline void setting_take(const struct setting *setting, const char *value) {
    char *end;
    switch (setting->kind) {
    case SETTING_TEXT: *(const char **)setting->into = value; break;
    case SETTING_INT: *(int *)setting->into = (int)setting_number(setting->name, value, 0, &end); break;
    case SETTING_DOUBLE: *(double *)setting->into = setting_number(setting->name, value, 0, &end); break;
    case SETTING_LIST: {
        struct list *list = setting->into;
        list->count = 0;
        for (const char *p = value; p; p = *end ? end + 1 : NULL) {
            if (list->count == LIST_MAX) die("%s takes at most %d numbers", setting->name, LIST_MAX);
            list->list[list->count++] = (int)setting_number(setting->name, p, ',', &end);
        }
        break;
    }
    case SETTING_FLAG: *(bool *)setting->into = true; break;
    }
}

// Reads all arguments by `settings`, which end with one without a name.
static inline void settings_read(int argc, char **argv, const struct setting *settings, const char *usage) {
    for (int i = 1; i < argc; i++) {
        const struct setting *setting = settings;
        while (setting->name && strcmp(setting->name, argv[i])) setting++;
        if (!setting->name) die("unknown option %s\n%s", argv[i], usage);
        if (setting->kind != SETTING_FLAG && ++i == argc) die("%s needs a value\n%s", argv[i - 1], usage);
        setting_take(setting, argv[i]);
    }
}

#endif
