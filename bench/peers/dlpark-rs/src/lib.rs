//! The Rust crate `dlpark` behind C entry points, so that `bench/tensor.c` can measure it in its own process.
//!
//! Each `peer_rs_run_*` repeats its operation `count` times inside Rust, where the compiler may inline the crate as it
//! does for a Rust caller; each `peer_rs_make_*` does it once and hands the result out, for checking.

pub mod files;
pub mod half_slices;

use dlpark::ffi::{DLDataType, DLDevice, DLManagedTensorVersioned, DLTensor};
use dlpark::metadata::{Dynamic, Fixed};
use dlpark::{versioned::Dlpack, OpaqueContext, TensorRef};
use std::{ffi::c_void, hint::black_box, ptr, slice};

/// Owns nothing: what is measured is the header alone, as on the C side.
struct NoContext;

// SAFETY: there is nothing to drop.
unsafe impl OpaqueContext for NoContext {
    fn into_raw(self) -> *mut c_void {
        ptr::null_mut()
    }

    unsafe fn drop_raw(_raw: *mut c_void) {}
}

/// What every operation starts from. Mirrors `tensor_input` in bench/tensor.c.
#[repr(C)]
pub struct Input {
    data: *mut c_void,
    shape: *const i64,
    strides: *const i64,
    ndim: usize,
}

macro_rules! finish {
    ($initialized:expr, $input:expr) => {{
        let mut initialized = $initialized;
        initialized
            .set_data($input.data)
            .set_device(DLDevice::CPU)
            .set_dtype(DLDataType::F32);
        unsafe { initialized.finish() }
    }};
}

#[inline(always)]
unsafe fn fixed<const N: usize>(input: &Input) -> Option<Dlpack> {
    let shape = unsafe { &*input.shape.cast::<[i64; N]>() };
    let strides = unsafe { &*input.strides.cast::<[i64; N]>() };
    let initialized = Fixed::new(shape, strides).initialize(NoContext).ok()?;
    Some(finish!(initialized, input))
}

#[inline(always)]
unsafe fn dynamic(input: &Input) -> Option<Dlpack> {
    let shape = unsafe { slice::from_raw_parts(input.shape, input.ndim) };
    let strides = unsafe { slice::from_raw_parts(input.strides, input.ndim) };
    let initialized = Dynamic::new(shape, strides).initialize(NoContext).ok()?;
    Some(finish!(initialized, input))
}

#[inline(always)]
unsafe fn compact(input: &Input) -> Option<Dlpack> {
    let shape = unsafe { slice::from_raw_parts(input.shape, input.ndim) };
    let initialized = Dynamic::compact(shape).initialize(NoContext).ok()?;
    Some(finish!(initialized, input))
}

fn hand_out(made: Option<Dlpack>) -> *mut DLManagedTensorVersioned {
    made.map_or(ptr::null_mut(), Dlpack::into_raw)
}

/// One tensor by the path `kind`: 0 fixed rank, 1 dynamic rank, 2 dynamic rank with computed strides.
///
/// # Safety
/// `input` is readable, with `ndim` values behind its pointers.
#[no_mangle]
pub unsafe extern "C" fn peer_rs_make(kind: i32, input: *const Input) -> *mut DLManagedTensorVersioned {
    let input = unsafe { &*input };
    match (kind, input.ndim) {
        (0, 1) => hand_out(unsafe { fixed::<1>(input) }),
        (0, 4) => hand_out(unsafe { fixed::<4>(input) }),
        (0, 16) => hand_out(unsafe { fixed::<16>(input) }),
        (0, 64) => hand_out(unsafe { fixed::<64>(input) }),
        (1, _) => hand_out(unsafe { dynamic(input) }),
        (2, _) => hand_out(unsafe { compact(input) }),
        _ => ptr::null_mut(),
    }
}

macro_rules! repeat {
    ($count:expr, $make:expr) => {
        for _ in 0..$count {
            drop(black_box($make));
        }
    };
}

/// Makes and ends a tensor `count` times by the path `kind`, as `peer_rs_make` does.
///
/// # Safety
/// As for `peer_rs_make`.
#[no_mangle]
pub unsafe extern "C" fn peer_rs_run(kind: i32, input: *const Input, count: i64) {
    let input = unsafe { &*input };
    match (kind, input.ndim) {
        (0, 1) => repeat!(count, unsafe { fixed::<1>(black_box(input)) }),
        (0, 4) => repeat!(count, unsafe { fixed::<4>(black_box(input)) }),
        (0, 16) => repeat!(count, unsafe { fixed::<16>(black_box(input)) }),
        (0, 64) => repeat!(count, unsafe { fixed::<64>(black_box(input)) }),
        (1, _) => repeat!(count, unsafe { dynamic(black_box(input)) }),
        (2, _) => repeat!(count, unsafe { compact(black_box(input)) }),
        _ => std::process::abort(),
    }
}

/// The element count of a borrowed tensor by the crate's validation, or -1.
///
/// # Safety
/// `tensor` and what it points to are readable.
#[no_mangle]
pub unsafe extern "C" fn peer_rs_validate(tensor: *const DLTensor) -> i64 {
    match unsafe { TensorRef::from_raw(&*tensor) } {
        Ok(view) => view.num_elements() as i64,
        Err(_) => -1,
    }
}

/// Validates `count` times.
///
/// # Safety
/// As for `peer_rs_validate`.
#[no_mangle]
pub unsafe extern "C" fn peer_rs_run_validate(tensor: *const DLTensor, count: i64) {
    for _ in 0..count {
        let result = unsafe { TensorRef::from_raw(&*black_box(tensor)) };
        black_box(&result);
    }
}

/// Where the crate's typed slice of a borrowed f32 tensor starts, or NULL.
///
/// # Safety
/// As for `peer_rs_validate`; the data is readable too.
#[no_mangle]
pub unsafe extern "C" fn peer_rs_slice(tensor: *const DLTensor) -> *const f32 {
    match unsafe { (*tensor).cpu_slice::<f32>() } {
        Ok(values) => values.as_ptr(),
        Err(_) => ptr::null(),
    }
}

/// Takes the typed slice `count` times.
///
/// # Safety
/// As for `peer_rs_slice`.
#[no_mangle]
pub unsafe extern "C" fn peer_rs_run_slice(tensor: *const DLTensor, count: i64) {
    for _ in 0..count {
        let result = unsafe { (*black_box(tensor)).cpu_slice::<f32>() };
        let _ = black_box(result.is_ok());
    }
}
