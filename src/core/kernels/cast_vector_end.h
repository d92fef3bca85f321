/*
 * The end of a set's file: nothing that cast_vector.h was given, or made, is left for the next set.
 */
#undef CAST_EACH
#undef CAST_EXTEND16
#undef CAST_EXTEND8
#undef CAST_F32
#undef CAST_F32X
#undef CAST_F64X
#undef CAST_FLOAT_OF
#undef CAST_I32
#undef CAST_I32X
#undef CAST_I64X
#undef CAST_I32_OF
#undef CAST_INTEGER_OF_F32
#undef CAST_INTEGER_OF_F64
#undef CAST_LANES
#undef CAST_LOAD16
#undef CAST_LOAD8
#undef CAST_NAME
#undef CAST_NARROW_HALF
#undef CAST_OF_I32
#undef CAST_PICK
#undef CAST_REST
#undef CAST_SAVE16
#undef CAST_SAVE8
#undef CAST_STEP
#undef CAST_TABLE
#undef CAST_TARGET
#undef CAST_U32
#undef CAST_U32X
#undef CAST_U64X
#undef CAST_WIDEN_HALF
