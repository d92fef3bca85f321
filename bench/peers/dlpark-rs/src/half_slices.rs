//! The conversions of slices of the crate `half`, which uses the instructions that the machine has.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use std::hint::black_box;
use std::slice;

/// As `plain_pair` in bench/cast_plain.h.
#[repr(i32)]
pub enum Pair {
    F32F16 = 0,
    F16F32 = 1,
    F32Bf16 = 2,
    Bf16F32 = 3,
}

unsafe fn convert(pair: &Pair, to: *mut u8, from: *const u8, n: usize) {
    unsafe {
        match pair {
            Pair::F32F16 => slice::from_raw_parts_mut(to.cast::<f16>(), n)
                .convert_from_f32_slice(slice::from_raw_parts(from.cast(), n)),
            Pair::F16F32 => slice::from_raw_parts(from.cast::<f16>(), n)
                .convert_to_f32_slice(slice::from_raw_parts_mut(to.cast(), n)),
            Pair::F32Bf16 => slice::from_raw_parts_mut(to.cast::<bf16>(), n)
                .convert_from_f32_slice(slice::from_raw_parts(from.cast(), n)),
            Pair::Bf16F32 => slice::from_raw_parts(from.cast::<bf16>(), n)
                .convert_to_f32_slice(slice::from_raw_parts_mut(to.cast(), n)),
        }
    }
}

/// Converts `n` elements, `count` times.
///
/// # Safety
/// Both point to `n` elements of the pair's types, aligned for them, and do not overlap.
#[no_mangle]
pub unsafe extern "C" fn peer_rs_run_half(pair: Pair, to: *mut u8, from: *const u8, n: usize, count: i64) {
    for _ in 0..count {
        unsafe { convert(&pair, black_box(to), black_box(from), n) };
    }
}
