/* Programs by which the cost of rewriting a guest is measured, in C. */
typedef unsigned int u32;
typedef unsigned char u8;
#define EXPORT(name) __attribute__((export_name(name)))
#define ROTATE(x, n) ((x) >> (n) | (x) << (32 - (n)))

enum { MiB = 1 << 20 };
static u8 bytes[MiB];
static u32 words[MiB];

/* The constants are not those of SHA-256, the work is. */
static u32 constant(int i) { return (u32)i * 0x9e3779b9u; }

static void block(u32 h[8], const u8 *p) {
	u32 w[64], s[8];
	for (int i = 0; i < 16; i++, p += 4)
		w[i] = (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | p[3];
	for (int i = 16; i < 64; i++) {
		u32 a = w[i - 15], b = w[i - 2];
		w[i] = w[i - 16] + (ROTATE(a, 7) ^ ROTATE(a, 18) ^ a >> 3) + w[i - 7] + (ROTATE(b, 17) ^ ROTATE(b, 19) ^ b >> 10);
	}
	for (int i = 0; i < 8; i++)
		s[i] = h[i];
	for (int i = 0; i < 64; i++) {
		u32 e = s[4], a = s[0];
		u32 t = s[7] + (ROTATE(e, 6) ^ ROTATE(e, 11) ^ ROTATE(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + constant(i) + w[i];
		u32 z = (ROTATE(a, 2) ^ ROTATE(a, 13) ^ ROTATE(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
		for (int k = 7; k > 0; k--)
			s[k] = s[k - 1];
		s[4] += t;
		s[0] = t + z;
	}
	for (int i = 0; i < 8; i++)
		h[i] += s[i];
}

EXPORT("sha") int sha(int n) {
	u32 h[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	while (n-- > 0)
		for (int i = 0; i < MiB; i += 64)
			block(h, bytes + i);
	return h[0];
}

static void quicksort(u32 *a, int n) {
	while (n > 1) {
		u32 pivot = a[n / 2];
		int i = 0, j = n - 1;
		for (;; i++, j--) {
			while (a[i] < pivot)
				i++;
			while (a[j] > pivot)
				j--;
			if (i >= j)
				break;
			u32 t = a[i];
			a[i] = a[j];
			a[j] = t;
		}
		int left = j + 1 < n ? j + 1 : n - 1;
		quicksort(a, left);
		a += left;
		n -= left;
	}
}

EXPORT("sort") int sort(int n) {
	u32 x = 1;
	for (int i = 0; i < n; i++)
		words[i] = x = x * 1664525u + 1013904223u;
	quicksort(words, n);
	return words[n / 2];
}

/* scan counts the strings of a JSON text, and odd numbers. */
static int scan(const u8 *p, const u8 *end) {
	int depth = 0, count = 0;
	for (; p < end; p++) {
		switch (*p) {
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			depth--;
			break;
		case '"':
			for (p++; p < end && *p != '"'; p++)
				if (*p == '\\')
					p++;
			count++;
			break;
		default:
			if (*p >= '0' && *p <= '9') {
				int v = 0;
				for (; p < end && *p >= '0' && *p <= '9'; p++)
					v = v * 10 + *p - '0';
				count += v & 1;
				p--;
			}
		}
	}
	return count + depth;
}

EXPORT("text") int text(int n) {
	static const char sample[] = "{\"a\":[1,2,33,\"x\\\"y\"],\"name\":\"some text here\",\"n\":12345}";
	int length = sizeof sample - 1, at = 0, total = 0;
	for (; at + length <= MiB; at += length)
		for (int i = 0; i < length; i++)
			bytes[at + i] = sample[i];
	while (n-- > 0)
		total += scan(bytes, bytes + at);
	return total;
}

EXPORT("loop") int loop(int n) {
	u32 s = n;
	for (u32 i = 0; i < (u32)n * 1000; i++) {
		s += i ^ s << 1;
		__asm__ volatile("" : "+r"(s)); /* or the compiler finds a shorter way */
	}
	return s;
}

EXPORT("fib") int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
