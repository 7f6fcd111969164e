/* word_count: a tool without an SDK. It is a WASI program: asked with --describe
 * it prints what it offers; else it reads a request as JSON from standard input
 * and prints its answer. It uses no library, so the module is small. In Go, with
 * the SDK, the same tool has twenty lines and a module of some megabytes:
 * https://github.com/wagent-dev/wagent/tree/main/sdk
 *
 *   clang --target=wasm32 -O2 -nostdlib -Wl,--no-entry -Wl,--export=_start \
 *     -Wl,--strip-all -o word_count.wasm word_count.c
 */
typedef unsigned int u32;
typedef struct { const void *at; u32 len; } iovec;

#define WASI(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name)))
WASI(fd_read) u32 fd_read(u32 fd, const iovec *v, u32 n, u32 *done);
WASI(fd_write) u32 fd_write(u32 fd, const iovec *v, u32 n, u32 *done);
WASI(args_sizes_get) u32 args_sizes_get(u32 *count, u32 *bytes);
WASI(args_get) u32 args_get(char **argv, char *bytes);
WASI(proc_exit) _Noreturn void proc_exit(u32 code);

static char request[1 << 20];
static const char *p, *end;

static u32 length(const char *s) {
	u32 n = 0;
	while (s[n]) n++;
	return n;
}

static void print(u32 fd, const char *s) {
	iovec v = {s, length(s)};
	u32 done;
	fd_write(fd, &v, 1, &done);
}

static _Noreturn void fail(const char *why) {
	print(2, why);
	proc_exit(1);
}

static int space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static void skip_space(void) {
	while (p < end && space(*p)) p++;
}

static void want(char c) {
	skip_space();
	if (p >= end || *p++ != c) fail("the request is not the JSON that was expected\n");
}

/* Moves past a string whose opening quote was read. */
static void skip_string(void) {
	while (p < end && *p != '"') p += *p == '\\' ? 2 : 1;
	want('"');
}

/* Moves past a value of any kind. */
static void skip_value(void) {
	u32 depth = 0;
	do {
		skip_space();
		if (p >= end) fail("the request ends too soon\n");
		char c = *p++;
		if (c == '"') skip_string();
		else if (c == '{' || c == '[') depth++;
		else if (c == '}' || c == ']') depth--;
		else while (p < end && *p != ',' && *p != '}' && *p != ']' && !space(*p) && c != ',' && c != ':') p++;
	} while (depth);
}

static const char broken[] = "a string of the request is broken\n";

static char next(void) {
	if (p >= end) fail(broken);
	return *p++;
}

/* Reads the four digits of a \u escape. */
static u32 hex(void) {
	u32 value = 0;
	for (u32 i = 0; i < 4; i++) {
		char c = next(), lower = c | 0x20;
		if (c >= '0' && c <= '9') value = value * 16 + (u32)(c - '0');
		else if (lower >= 'a' && lower <= 'f') value = value * 16 + (u32)(lower - 'a' + 10);
		else fail(broken);
	}
	return value;
}

/* Reads one character of a string. A character that is written as two \u escapes
 * is read as two: neither is a space or a letter of a name. */
static u32 character(void) {
	unsigned char c = next();
	if (c == '\\') {
		switch (c = next()) {
		case 'u': return hex();
		case 'b': return '\b';
		case 'f': return '\f';
		case 'n': return '\n';
		case 'r': return '\r';
		case 't': return '\t';
		}
		return c;
	}
	u32 more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
	u32 value = more ? c & (0x3f >> more) : c;
	while (more--) value = value << 6 | (next() & 0x3f);
	return value;
}

/* Unicode's spaces. */
static int gap(u32 c) {
	return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xa0 || c == 0x1680 ||
		(c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
		c == 0x205f || c == 0x3000;
}

/* Moves to the value of a member of the object that begins here. */
static void enter(const char *name) {
	u32 n = length(name);
	want('{');
	for (;;) {
		want('"');
		u32 same = 0, read = 0;
		for (; p < end && *p != '"'; read++) same += character() == (unsigned char)(read < n ? name[read] : 0);
		want('"');
		int found = read == n && same == n;
		want(':');
		if (found) return;
		skip_value();
		want(',');
	}
}

/* Counts the words of the string that begins here. */
static u32 count(void) {
	u32 words = 0;
	int inside = 0;
	want('"');
	while (p < end && *p != '"') {
		int letter = !gap(character());
		words += letter && !inside;
		inside = letter;
	}
	want('"');
	return words;
}

static const char description[] =
	"{\"tools\":[{\"name\":\"word_count\",\"description\":\"Counts the words of a text.\","
	"\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\","
	"\"description\":\"the text to count\"}},\"required\":[\"text\"],\"additionalProperties\":false},"
	"\"annotations\":{\"readOnlyHint\":true}}]}\n";

static int asked_to_describe(void) {
	static char *argv[8];
	static char bytes[4096];
	u32 argc, size;
	args_sizes_get(&argc, &size);
	if (argc < 2 || argc > 8 || size > sizeof bytes) return 0;
	args_get(argv, bytes);
	return argv[1][0] == '-' && argv[1][1] == '-' && argv[1][2] == 'd';
}

static void answer(u32 words) {
	char digits[11], *d = digits + 10;
	*d = 0;
	do *--d = '0' + words % 10;
	while (words /= 10);
	print(1, "{\"v\":1,\"content\":[{\"type\":\"text\",\"text\":\"");
	print(1, d);
	print(1, "\"}],\"structuredContent\":{\"words\":");
	print(1, d);
	print(1, "}}\n");
}

void _start(void) {
	if (asked_to_describe()) {
		print(1, description);
		return;
	}
	u32 size = 0, got;
	do {
		iovec v = {request + size, sizeof request - size};
		if (fd_read(0, &v, 1, &got)) fail("the request could not be read\n");
		size += got;
	} while (got && size < sizeof request);
	if (size == sizeof request) fail("the text is larger than a mebibyte\n");
	p = request;
	end = request + size;
	enter("arguments");
	enter("text");
	answer(count());
}
