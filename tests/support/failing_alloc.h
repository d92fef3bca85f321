/*
 * Makes the n-th allocation fail, and counts what is alive. Works on every object linked with -Wl,--wrap=malloc and
 * the other names in tests/unit/CMakeLists.txt: the library, the adapters and the test itself, not shared libraries.
 */
#ifndef FAILING_ALLOC_H
#define FAILING_ALLOC_H

/* The n-th allocation from here on fails, once; 0: none does. Starts counting anew. */
void failing_alloc_arm(long nth);

/* The same, but every allocation from the n-th on fails, until the next call of either. */
void failing_alloc_arm_from(long nth);

/* Allocations asked for since failing_alloc_arm(), the failed one included. */
long failing_alloc_count(void);

/* Blocks that were allocated and not freed, of the whole program. */
long failing_alloc_live(void);

#endif
