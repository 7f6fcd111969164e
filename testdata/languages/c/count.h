#pragma once
#include "json.h"

/* Answers the arguments of word_count, which it changes. The caller frees what
   comes; it is NULL if there is no text. */
char *word_count(struct text arguments);
