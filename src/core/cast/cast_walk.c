#include "cast_parts.h"

/* A complex source gives its real part to a real destination, which then has half as many parts. */
static unsigned walk_parts(const dlpark__cast_job *job)
{
    return job->to.parts < job->from.parts ? job->to.parts : job->from.parts;
}

void dlpark__cast_walk_begin(dlpark__walk *walk, const dlpark__cast_job *job, const dlpark_view *to,
                             const dlpark_view *from, bool ordered)
{
    int64_t to_step = dlpark__cast_side_step(&job->to), from_step = dlpark__cast_side_step(&job->from);

    dlpark__walk_init(walk, to, from);
    if (ordered)
        dlpark__walk_add_ordered(walk, to, from);
    else
        dlpark__walk_add_sorted(walk, to, from);
    dlpark__walk_add_inner(walk, job->lanes, to_step * job->to.parts, from_step * job->from.parts);
    dlpark__walk_add_inner(walk, walk_parts(job), to_step, from_step);
    if (!ordered)
        dlpark__walk_join(walk);
    dlpark__walk_begin(walk);
}

bool dlpark__cast_walk_is_forward(const dlpark__walk *walk, const dlpark__cast_job *job)
{
    int64_t to_reach = dlpark__cast_side_step(&job->to), from_reach = dlpark__cast_side_step(&job->from);

    if (to_reach * job->to.parts > from_reach * job->from.parts || walk->to > walk->from)
        return false;
    for (int32_t i = walk->ndim - 1; i >= 0; i--) {
        const dlpark__walk_dim *dim = &walk->dims[i];
        /* Each step leads past all that lies within it: what was read stays behind, what was written too. */
        if (dim->extent > 1 && (dim->from < from_reach || dim->to < to_reach || dim->to > dim->from))
            return false;
        from_reach += dim->from * (dim->extent - 1);
        to_reach += dim->to * (dim->extent - 1);
    }
    return true;
}
