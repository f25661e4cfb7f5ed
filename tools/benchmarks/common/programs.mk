# Builds the load clients of a directory: PROGRAMS, each of one C file. OUT is where they go.
CC ?= cc
CFLAGS ?= -O2 -g
STRICT := -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -I../common
OUT ?= ../../../.build/benchmarks
HEADERS := $(wildcard ../common/*.h *.h)

all: $(PROGRAMS:%=$(OUT)/%)

$(OUT)/%: %.c $(HEADERS)
	@mkdir -p $(OUT)
	$(CC) $(STRICT) $(CFLAGS) -o $@ $< -Wl,--as-needed -lssl -lcrypto -lz

clean:
	rm -f $(PROGRAMS:%=$(OUT)/%)

.PHONY: all clean
