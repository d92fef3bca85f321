/*
 * The grammar of a manual page as data: read from its EBNF block, it makes sentences. It knows nothing of the parser
 * that it is compared with, but the rule for blanks: they may stand between two tokens, and must where both sides of
 * the seam are letters, digits or `_`. Rules after the first comment are tokens, without blanks.
 */
#ifndef SPEC_GRAMMAR_H
#define SPEC_GRAMMAR_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { GRAMMAR_NODES = 512, GRAMMAR_RULES = 32, GRAMMAR_LONGEST = 255 };

enum { GRAMMAR_LITERAL, GRAMMAR_RULE, GRAMMAR_SEQUENCE, GRAMMAR_CHOICE, GRAMMAR_OPTION, GRAMMAR_REPEAT };

typedef struct grammar_node {
    int kind;
    char text[24]; /* of a literal, and the name of a rule */
    int first;     /* of what it consists of; of a rule, which; -1: nothing */
    int next;      /* beside it; -1: none */
    int rule;      /* in which it stands */
    bool met;      /* in the sentence that is being made */
    bool proved;   /* in a sentence that was parsed */
} grammar_node;

typedef struct grammar_rule {
    char name[24];
    int body;
    bool is_token;
} grammar_rule;

typedef struct grammar {
    grammar_node nodes[GRAMMAR_NODES];
    grammar_rule rules[GRAMMAR_RULES];
    int nnodes, nrules;
    const char *at; /* while it is read */
    unsigned seed;
    char page[16384];
} grammar;

/* ---- Reading ---- */

static bool grammar_is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool grammar_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int grammar_add(grammar *self, int kind, int first)
{
    assert_true(self->nnodes < GRAMMAR_NODES);
    self->nodes[self->nnodes] = (grammar_node){.kind = kind, .first = first, .next = -1, .rule = self->nrules - 1};
    return self->nnodes++;
}

/* Skips blanks, and comments too; says whether `c` comes. */
static bool grammar_sees(grammar *self, char c)
{
    for (;;) {
        while (grammar_is_blank(*self->at))
            self->at++;
        if (strncmp(self->at, "(*", 2) != 0)
            return *self->at == c;
        self->at = strstr(self->at, "*)") + 2;
    }
}

static void grammar_want(grammar *self, char c)
{
    if (!grammar_sees(self, c))
        fail_msg("the grammar lacks '%c' before \"%.30s\"", c, self->at);
    self->at++;
}

static void grammar_take_name(grammar *self, char *out)
{
    size_t length = 0;

    while (grammar_is_word(self->at[length]))
        length++;
    assert_in_range(length, 1, 23);
    memcpy(out, self->at, length);
    out[length] = '\0';
    self->at += length;
}

static int grammar_read_choice(grammar *self);

static int grammar_read_item(grammar *self)
{
    static const char open[] = "([{", close[] = ")]}";

    for (int i = 0; i < 3; i++) {
        if (!grammar_sees(self, open[i]))
            continue;
        self->at++;
        int inner = grammar_read_choice(self);
        grammar_want(self, close[i]);
        return i == 0 ? inner : grammar_add(self, i == 1 ? GRAMMAR_OPTION : GRAMMAR_REPEAT, inner);
    }
    int node = grammar_add(self, grammar_sees(self, '"') ? GRAMMAR_LITERAL : GRAMMAR_RULE, -1);
    if (self->nodes[node].kind == GRAMMAR_RULE) {
        grammar_take_name(self, self->nodes[node].text);
        return node;
    }
    size_t length = strcspn(self->at + 1, "\"");
    assert_in_range(length, 1, 23);
    memcpy(self->nodes[node].text, self->at + 1, length);
    self->at += length + 2;
    return node;
}

static int grammar_read_sequence(grammar *self)
{
    int first = grammar_read_item(self), last = first;

    while (strchr("|)]};", (grammar_sees(self, ' '), *self->at)) == NULL) {
        self->nodes[last].next = grammar_read_item(self);
        last = self->nodes[last].next;
    }
    return grammar_add(self, GRAMMAR_SEQUENCE, first);
}

static int grammar_read_choice(grammar *self)
{
    int first = grammar_read_sequence(self), last = first;

    while (grammar_sees(self, '|')) {
        self->at++;
        self->nodes[last].next = grammar_read_sequence(self);
        last = self->nodes[last].next;
    }
    return grammar_add(self, GRAMMAR_CHOICE, first);
}

static int grammar_find(const grammar *self, const char *name)
{
    int i = 0;

    while (i < self->nrules && strcmp(self->rules[i].name, name) != 0)
        i++;
    if (i == self->nrules)
        fail_msg("the grammar has no rule %s", name);
    return i;
}

/* The first block of a page that is marked ebnf. */
static void grammar_read(grammar *self, const char *path, unsigned seed)
{
    FILE *file = fopen(path, "r");

    memset(self, 0, sizeof *self);
    assert_non_null(file);
    self->page[fread(self->page, 1, sizeof self->page - 1, file)] = '\0';
    fclose(file);
    self->seed = seed;
    self->at = strstr(self->page, "```ebnf\n");
    assert_non_null(self->at);
    self->at += 8;
    const char *tokens = strstr(self->at, "(*");
    while (!grammar_sees(self, '`')) {
        grammar_rule *rule = &self->rules[self->nrules++];
        assert_true(self->nrules < GRAMMAR_RULES);
        rule->is_token = tokens != NULL && self->at > tokens;
        grammar_take_name(self, rule->name);
        grammar_want(self, '=');
        rule->body = grammar_read_choice(self);
        grammar_want(self, ';');
    }
    for (int i = 0; i < self->nnodes; i++)
        if (self->nodes[i].kind == GRAMMAR_RULE)
            self->nodes[i].first = grammar_find(self, self->nodes[i].text);
}

/* ---- Making ---- */

/* xorshift: the same on every machine. */
static unsigned grammar_random(grammar *self, unsigned below)
{
    self->seed ^= self->seed << 13;
    self->seed ^= self->seed >> 17;
    self->seed ^= self->seed << 5;
    return (self->seed >> 8) % below;
}

static void grammar_seam(grammar *self, char *out, char next)
{
    static const char *const blanks[] = {" ", "\t", "\n", "\r"};
    size_t length = strlen(out);
    unsigned must = length > 0 && grammar_is_word(out[length - 1]) && grammar_is_word(next);

    for (unsigned count = grammar_random(self, 8) == 0 ? 2 : must; count > 0; count--)
        strcat(out, blanks[grammar_random(self, 4)]);
}

static void grammar_make(grammar *self, int node, bool in_token, char *out);

static void grammar_make_rule(grammar *self, const char *name, bool in_token, char *out)
{
    const grammar_rule *rule = &self->rules[grammar_find(self, name)];

    if (in_token || !rule->is_token) {
        grammar_make(self, rule->body, in_token, out);
        return;
    }
    char token[GRAMMAR_LONGEST + 1] = "";
    grammar_make(self, rule->body, true, token);
    grammar_seam(self, out, *token);
    strcat(out, token);
}

/* Appends a sentence of a node, for which `out` has more than enough room. What it meets is marked. */
static void grammar_make(grammar *self, int node, bool in_token, char *out)
{
    grammar_node *item = &self->nodes[node];
    int count = 0, child = item->first;

    item->met = true;
    switch (item->kind) {
    case GRAMMAR_LITERAL:
        if (!in_token)
            grammar_seam(self, out, *item->text);
        strcat(out, item->text);
        return;
    case GRAMMAR_RULE:
        /* The one rule whose sentences have a meaning outside the text. */
        if (strcmp(item->text, "argument") == 0) {
            grammar_seam(self, out, 'a');
            strcat(out, grammar_random(self, 2) ? "a" : "image_2");
        } else {
            grammar_make_rule(self, item->text, in_token, out);
        }
        return;
    case GRAMMAR_SEQUENCE:
        for (; child >= 0; child = self->nodes[child].next)
            grammar_make(self, child, in_token, out);
        return;
    case GRAMMAR_CHOICE:
        for (int other = child; other >= 0; other = self->nodes[other].next)
            count++;
        for (count = (int)grammar_random(self, (unsigned)count); count > 0; count--)
            child = self->nodes[child].next;
        grammar_make(self, child, in_token, out);
        return;
    default: /* seldom often, so that a text stays short */
        for (; count < (item->kind == GRAMMAR_OPTION ? 1 : 4) && grammar_random(self, 2) == 0; count++)
            grammar_make(self, child, in_token, out);
    }
}

#endif
