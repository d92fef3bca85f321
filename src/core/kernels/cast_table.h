/*
 * Steps of casts that look bytes up, TABLE_LANES codes at a time, and finish by the generic one what is left. The file that
 * includes this says TABLE_LANES, and TABLE_TARGET, the instructions that it uses.
 */
#define TABLE_STEP(name)                                                                                               \
    TABLE_TARGET void name(const dlpark__cast_params *params, unsigned char *to, const unsigned char *from,            \
                           size_t count)

/* nbytes: of what an element becomes. */
#define TABLE_EACH(nbytes)                                                                                             \
    for (size_t all = count; count >= TABLE_LANES; dlpark__cast_back(&to, &from, &count, all, TABLE_LANES, nbytes, 1)) \
        for (; count >= TABLE_LANES;                                                                                   \
             count -= TABLE_LANES, to += (nbytes)*TABLE_LANES, from += TABLE_LANES, DLPARK__CAST_ASK_AHEAD(from))
