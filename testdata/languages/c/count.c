#include "count.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wasm_simd128.h>

struct word {
	struct text text;
	unsigned hash, count;
};

/* words is a hash table, never more than half full. */
struct words {
	struct word *slots;
	size_t room, used;
};

static int is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* spaces counts white space, sixteen bytes at a time. */
static size_t spaces(struct text t) {
	const char *p = t.at, *end = p + t.size;
	size_t n = 0;
	for (; end - p >= 16; p += 16) {
		v128_t b = wasm_v128_load(p);
		v128_t blank = wasm_i8x16_eq(b, wasm_i8x16_splat(' '));
		v128_t control = wasm_u8x16_lt(wasm_i8x16_sub(b, wasm_i8x16_splat('\t')), wasm_u8x16_splat(5));
		n += __builtin_popcount(wasm_i8x16_bitmask(wasm_v128_or(blank, control)));
	}
	for (; p < end; p++)
		n += is_space(*p);
	return n;
}

static struct word *find(struct words *all, const struct word *w) {
	for (size_t i = w->hash;; i++) {
		struct word *s = &all->slots[i & (all->room - 1)];
		if (!s->count || (s->hash == w->hash && s->text.size == w->text.size && !memcmp(s->text.at, w->text.at, w->text.size)))
			return s;
	}
}

static void grow(struct words *all) {
	struct words more = {calloc(all->room * 2, sizeof *more.slots), all->room * 2, all->used};
	for (size_t i = 0; i < all->room; i++)
		if (all->slots[i].count)
			*find(&more, &all->slots[i]) = all->slots[i];
	free(all->slots);
	*all = more;
}

static void add(struct words *all, struct word *w) {
	struct word *s = find(all, w);
	if (s->count++)
		return;
	w->count = 1;
	*s = *w;
	if (++all->used * 2 > all->room)
		grow(all);
}

static int by_count(const void *x, const void *y) {
	const struct word *a = x, *b = y;
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	size_t least = a->text.size < b->text.size ? a->text.size : b->text.size;
	int order = memcmp(a->text.at, b->text.at, least);
	return order ? order : (a->text.size > b->text.size) - (a->text.size < b->text.size);
}

static size_t collect(struct words *all, struct text t) {
	size_t n = 0;
	char *p = t.at, *end = p + t.size;
	while (p < end) {
		struct word w = {{p, 0}, 2166136261u, 0};
		for (; p < end && !is_space(*p); p++)
			w.hash = (w.hash ^ (unsigned char)*p) * 16777619u;
		w.text.size = p - w.text.at;
		if (w.text.size) {
			add(all, &w);
			n++;
		}
		p++;
	}
	return n;
}

static char *answer(struct words *all, size_t n, struct text t) {
	size_t blank = spaces(t), kept = 0;
	double mean = n ? floor((double)(t.size - blank) / n * 100 + 0.5) / 100 : 0;
	for (size_t i = 0; i < all->room; i++)
		if (all->slots[i].count)
			all->slots[kept++] = all->slots[i];
	qsort(all->slots, kept, sizeof *all->slots, by_count);
	size_t top = kept < 3 ? kept : 3, room = 256;
	for (size_t i = 0; i < top; i++)
		room += 6 * all->slots[i].text.size + 64;
	char *out = malloc(room), *to = out;
	to += sprintf(to, "{\"words\":%zu,\"distinct\":%zu,\"spaces\":%zu,\"mean\":%.2f,\"top\":[", n, kept, blank, mean);
	for (size_t i = 0; i < top; i++) {
		to += sprintf(to, i ? ",{\"word\":" : "{\"word\":");
		to = json_quote(to, all->slots[i].text);
		to += sprintf(to, ",\"count\":%u}", all->slots[i].count);
	}
	strcpy(to, "]}");
	return out;
}

char *word_count(struct text arguments) {
	struct text t;
	if (!json_member(arguments, "text", &t) || !json_string(t, &t))
		return NULL;
	struct words all = {calloc(64, sizeof *all.slots), 64, 0};
	size_t n = collect(&all, t);
	char *out = answer(&all, n, t);
	free(all.slots);
	return out;
}
