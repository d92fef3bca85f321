/*
 * Whether a text is a sentence of a grammar: all ways through it are followed at once, as sets of places in the text. Slow
 * and plain, so that it can be believed.
 */
#ifndef SPEC_RECOGNISER_H
#define SPEC_RECOGNISER_H

#include "spec_grammar.h"

/* A set of places in a text. */
typedef struct grammar_places {
    uint64_t bits[(GRAMMAR_LONGEST + 1) / 64];
} grammar_places;

static bool grammar_has(const grammar_places *places, size_t at)
{
    return (places->bits[at / 64] >> at % 64 & 1) != 0;
}

static void grammar_put(grammar_places *places, size_t at)
{
    places->bits[at / 64] |= UINT64_C(1) << at % 64;
}

static bool grammar_is_nowhere(const grammar_places *places)
{
    return (places->bits[0] | places->bits[1] | places->bits[2] | places->bits[3]) == 0;
}

/* Adds one set to another; says whether it grew. */
static bool grammar_join(grammar_places *places, const grammar_places *more)
{
    bool grew = false;

    for (size_t i = 0; i < sizeof places->bits / sizeof places->bits[0]; i++) {
        grew |= (more->bits[i] & ~places->bits[i]) != 0;
        places->bits[i] |= more->bits[i];
    }
    return grew;
}

/* The places where a token may begin that follows one of `from`. */
static grammar_places grammar_starts(const char *text, const grammar_places *from)
{
    grammar_places out = {{0}};

    for (size_t at = 0; at <= strlen(text); at++) {
        size_t start = at;
        while (grammar_has(from, at) && grammar_is_blank(text[start]))
            start++;
        if (grammar_has(from, at) && (start == 0 || !grammar_is_word(text[start - 1]) || !grammar_is_word(text[start])))
            grammar_put(&out, start);
    }
    return out;
}

/* The places to which a node leads from any of `from`. */
static grammar_places grammar_match(const grammar *self, int node, bool in_token, const char *text, grammar_places from)
{
    const grammar_node *item = &self->nodes[node];
    grammar_places out = {{0}};

    if (grammar_is_nowhere(&from))
        return from;
    if (item->kind == GRAMMAR_LITERAL) {
        size_t length = strlen(item->text), end = strlen(text);
        from = in_token ? from : grammar_starts(text, &from);
        for (size_t at = 0; at + length <= end; at++)
            if (grammar_has(&from, at) && text[at] == *item->text && memcmp(text + at, item->text, length) == 0)
                grammar_put(&out, at + length);
    } else if (item->kind == GRAMMAR_RULE) {
        const grammar_rule *rule = &self->rules[item->first];
        from = in_token || !rule->is_token ? from : grammar_starts(text, &from);
        return grammar_match(self, rule->body, in_token || rule->is_token, text, from);
    } else if (item->kind == GRAMMAR_SEQUENCE) {
        for (int child = item->first; child >= 0; child = self->nodes[child].next)
            from = grammar_match(self, child, in_token, text, from);
        return from;
    } else {
        bool again = item->kind == GRAMMAR_REPEAT;
        if (item->kind != GRAMMAR_CHOICE)
            out = from;
        do {
            grammar_places next = {{0}};
            for (int child = item->first; child >= 0; child = self->nodes[child].next) {
                grammar_places some = grammar_match(self, child, in_token, text, from);
                (void)grammar_join(&next, &some);
            }
            again = grammar_join(&out, &next) && again;
            from = next;
        } while (again);
    }
    return out;
}

/* Whether the whole text is a sentence of the rule. */
static bool grammar_recognises(const grammar *self, const char *rule, const char *text)
{
    grammar_places from = {{1}};
    size_t end = strlen(text);

    assert_in_range(end, 0, GRAMMAR_LONGEST);
    from = grammar_match(self, self->rules[grammar_find(self, rule)].body, false, text, from);
    while (end > 0 && !grammar_has(&from, end) && grammar_is_blank(text[end - 1]))
        end--; /* blanks at the end follow a token */
    return grammar_has(&from, end);
}

#endif
