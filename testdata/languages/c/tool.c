/* The tools in C, which speak the wagent ABI themselves. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count.h"

#define EXPORT(name) __attribute__((export_name(name)))

static volatile unsigned calls;
static char *last; /* the answer that the host reads after the call */

static char *counter(struct text arguments) {
	(void)arguments;
	char *out = malloc(16);
	calls++;
	sprintf(out, "%u", calls);
	return out;
}

static char *spin(struct text arguments) {
	for (;;)
		calls += arguments.size;
}

static unsigned down(unsigned n) { return calls > 1 << 30 ? n : down(n + 1) * 31 ^ n; }

static char *dive(struct text arguments) {
	char *out = malloc(16);
	sprintf(out, "%u", down(arguments.size));
	return out;
}

static const struct tool {
	const char *name, *about, *schema;
	char *(*call)(struct text);
} tools[] = {
	{"word_count", "Counts the words of a text.", "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]}", word_count},
	{"counter", "Says how often this guest was called.", "{\"type\":\"object\"}", counter},
	{"spin", "Never ends.", "{\"type\":\"object\"}", spin},
	{"dive", "Calls itself without an end.", "{\"type\":\"object\"}", dive},
};
enum { TOOLS = sizeof tools / sizeof *tools };

static uint64_t give(char *out) {
	free(last);
	last = out;
	return (uint64_t)(uintptr_t)out << 32 | strlen(out);
}

EXPORT("wagent_abi") int wagent_abi(void) { return 1; }

EXPORT("wagent_alloc") void *wagent_alloc(int size) { return malloc(size ? size : 1); }

EXPORT("wagent_describe") uint64_t wagent_describe(void) {
	char *out = malloc(2048), *to = out;
	to += sprintf(to, "{\"tools\":");
	for (int i = 0; i < TOOLS; i++)
		to += sprintf(to, "%c{\"name\":\"%s\",\"description\":\"%s\",\"inputSchema\":%s}", i ? ',' : '[', tools[i].name, tools[i].about, tools[i].schema);
	strcpy(to, "]}");
	return give(out);
}

static char *answer(struct text request) {
	struct text name, arguments;
	if (!json_member(request, "tool", &name) || !json_member(request, "arguments", &arguments) || !json_string(name, &name))
		return strdup("{\"v\":1,\"error\":{\"kind\":\"internal\",\"message\":\"the request is not whole\"}}");
	for (int i = 0; i < TOOLS; i++) {
		if (strlen(tools[i].name) == name.size && !memcmp(tools[i].name, name.at, name.size)) {
			char *out = tools[i].call(arguments);
			return out ? out : strdup("{\"v\":1,\"error\":{\"kind\":\"input\",\"message\":\"text is missing\"}}");
		}
	}
	return strdup("{\"v\":1,\"error\":{\"kind\":\"not_found\",\"message\":\"no such tool\"}}");
}

EXPORT("wagent_call") uint64_t wagent_call(char *at, int size) {
	char *out = answer((struct text){at, size});
	free(at);
	return give(out);
}
