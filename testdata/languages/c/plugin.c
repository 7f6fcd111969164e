/* word_count in C as an Extism plugin, by its imports alone. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "count.h"

#define IMPORT(name) __attribute__((import_module("extism:host/env"), import_name(name)))

IMPORT("input_length") uint64_t input_length(void);
IMPORT("input_load_u64") uint64_t input_load_u64(uint64_t at);
IMPORT("input_load_u8") int input_load_u8(uint64_t at);
IMPORT("alloc") uint64_t extism_alloc(uint64_t size);
IMPORT("store_u64") void store_u64(uint64_t at, uint64_t value);
IMPORT("store_u8") void store_u8(uint64_t at, int value);
IMPORT("output_set") void output_set(uint64_t at, uint64_t size);
IMPORT("error_set") void error_set(uint64_t at);

static struct text input(void) {
	size_t size = input_length(), i = 0;
	char *at = malloc(size + 1);
	for (; i + 8 <= size; i += 8) {
		uint64_t v = input_load_u64(i);
		memcpy(at + i, &v, 8);
	}
	for (; i < size; i++)
		at[i] = input_load_u8(i);
	return (struct text){at, size};
}

static uint64_t store(const char *s, size_t size) {
	uint64_t to = extism_alloc(size), v;
	size_t i = 0;
	for (; i + 8 <= size; i += 8) {
		memcpy(&v, s + i, 8);
		store_u64(to + i, v);
	}
	for (; i < size; i++)
		store_u8(to + i, s[i]);
	return to;
}

__attribute__((export_name("word_count"))) int plugin(void) {
	static const char missing[] = "text is missing";
	struct text arguments = input();
	char *out = word_count(arguments);
	free(arguments.at);
	if (!out) {
		error_set(store(missing, sizeof missing - 1));
		return 1;
	}
	output_set(store(out, strlen(out)), strlen(out));
	free(out);
	return 0;
}
