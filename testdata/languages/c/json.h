/* As much of JSON as a tool needs that trusts its host to send it whole. */
#pragma once
#include <stddef.h>

struct text {
	char *at;
	size_t size;
};

/* Finds a member of an object. Its value is left as it is written. */
int json_member(struct text object, const char *name, struct text *value);

/* Reads a string, in its own place. */
int json_string(struct text value, struct text *out);

/* Writes a string with its quotes to a place with room for 6 * size + 2 bytes,
   and returns its end. */
char *json_quote(char *to, struct text s);
