#include "json.h"

#include <stdio.h>
#include <string.h>

static char *space(char *p, const char *end) {
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p;
}

/* skip returns where a value ends, or NULL. */
static char *skip(char *p, char *end);

static char *skip_string(char *p, char *end) {
	for (p++; p < end; p++) {
		if (*p == '"')
			return p + 1;
		if (*p == '\\')
			p++;
	}
	return NULL;
}

static char *skip_list(char *p, char *end) {
	char close = *p == '{' ? '}' : ']';
	p = space(p + 1, end);
	while (p && p < end && *p != close) {
		p = skip(p, end);
		if (p)
			p = space(p, end);
		if (p && p < end && (*p == ',' || *p == ':'))
			p = space(p + 1, end);
	}
	return p && p < end ? p + 1 : NULL;
}

static char *skip(char *p, char *end) {
	p = space(p, end);
	if (p == end)
		return NULL;
	if (*p == '"')
		return skip_string(p, end);
	if (*p == '{' || *p == '[')
		return skip_list(p, end);
	char *from = p;
	while (p < end && !strchr(",:]} \n\r\t", *p))
		p++;
	return p > from ? p : NULL;
}

int json_member(struct text object, const char *name, struct text *value) {
	char *p = object.at, *end = p + object.size;
	size_t size = strlen(name);
	p = space(p, end);
	if (p == end || *p != '{')
		return 0;
	for (p++;;) {
		char *key = p = space(p, end);
		if (p == end || *p != '"' || !(p = skip_string(p, end)))
			return 0;
		int found = (size_t)(p - key) == size + 2 && !memcmp(key + 1, name, size);
		p = space(p, end);
		if (p == end || *p != ':')
			return 0;
		value->at = p = space(p + 1, end);
		if (!(p = skip(p, end)))
			return 0;
		if (found) {
			value->size = p - value->at;
			return 1;
		}
		p = space(p, end);
		if (p == end || *p != ',')
			return 0;
		p++;
	}
}

static unsigned hex(const char *p) {
	unsigned v = 0;
	for (int i = 0; i < 4; i++) {
		unsigned c = (unsigned char)p[i];
		v = v << 4 | (c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
	}
	return v;
}

/* utf8 writes a character; half of a pair becomes U+FFFD. */
static char *utf8(char *to, unsigned c) {
	if (c >= 0xd800 && c < 0xe000)
		c = 0xfffd;
	if (c < 0x80) {
		*to++ = c;
		return to;
	}
	int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
	*to++ = lead[more] | c >> 6 * more;
	while (more-- > 0)
		*to++ = 0x80 | (c >> 6 * more & 63);
	return to;
}

int json_string(struct text value, struct text *out) {
	char *p = value.at + 1, *end = value.at + value.size - 1, *to = p;
	if (value.size < 2 || *value.at != '"')
		return 0;
	out->at = to;
	while (p < end) {
		char *next = memchr(p, '\\', end - p);
		size_t plain = (next ? next : end) - p;
		memmove(to, p, plain);
		to += plain;
		p += plain;
		if (!next)
			break;
		if (p[1] == 'u') {
			if (end - p < 6)
				return 0;
			unsigned c = hex(p + 2), low;
			p += 6;
			if (c >> 10 == 0xd800 >> 10 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' && (low = hex(p + 2)) >> 10 == 0xdc00 >> 10) {
				c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
				p += 6;
			}
			to = utf8(to, c);
			continue;
		}
		static const char from[] = "bfnrt", is[] = "\b\f\n\r\t";
		const char *which = strchr(from, p[1]);
		*to++ = which && p[1] ? is[which - from] : p[1];
		p += 2;
	}
	out->size = to - out->at;
	return 1;
}

char *json_quote(char *to, struct text s) {
	*to++ = '"';
	for (size_t i = 0; i < s.size; i++) {
		unsigned char c = s.at[i];
		if (c < 0x20) {
			to += sprintf(to, "\\u%04x", c);
			continue;
		}
		if (c == '"' || c == '\\')
			*to++ = '\\';
		*to++ = c;
	}
	*to++ = '"';
	return to;
}
