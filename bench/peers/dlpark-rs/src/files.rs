//! The crate `safetensors` over a mapping, and the crate `dlpark` on top of it, for `bench/files.c`.

use dlpark::interop::safetensors::SafeTensorFile;
use memmap2::Mmap;
use safetensors::SafeTensors;
use std::{
    ffi::{c_char, CStr},
    fs::File,
    hint::black_box,
};

fn path_of<'a>(path: *const c_char) -> &'a str {
    unsafe { CStr::from_ptr(path) }.to_str().expect("the bench names its files in ASCII")
}

/// Opens, maps and reads a file `count` times. The number of its tensors, or -1.
///
/// # Safety
/// `path` is terminated, and nobody writes into the file.
#[no_mangle]
pub unsafe extern "C" fn peer_rs_files_open(path: *const c_char, count: i64) -> i64 {
    let mut tensors = -1;
    for _ in 0..count {
        let Ok(file) = File::open(path_of(path)) else { return -1 };
        let Ok(map) = (unsafe { Mmap::map(&file) }) else { return -1 };
        let Ok(read) = SafeTensors::deserialize(&map) else { return -1 };
        tensors = black_box(&read).len() as i64;
    }
    tensors
}

/// The same by the crate `dlpark`.
///
/// # Safety
/// As for `peer_rs_files_open`.
#[no_mangle]
pub unsafe extern "C" fn peer_rs_files_open_dlpark(path: *const c_char, count: i64) -> i64 {
    let mut tensors = -1;
    for _ in 0..count {
        let Ok(file) = SafeTensorFile::open(path_of(path)) else { return -1 };
        tensors = black_box(&file).metadata().tensors().len() as i64;
    }
    tensors
}

/// An open file and the names that are asked for.
pub struct Opened {
    read: SafeTensors<'static>,
    file: SafeTensorFile,
    names: Vec<String>,
    ordered: Vec<String>,
}

/// Opens a file by both crates, for the whole of the process. NULL: it cannot be.
///
/// # Safety
/// As for `peer_rs_files_open`; `names` are `count` terminated texts.
#[no_mangle]
pub unsafe extern "C" fn peer_rs_files_hold(
    path: *const c_char,
    names: *const *const c_char,
    count: usize,
) -> *const Opened {
    let Ok(file) = File::open(path_of(path)) else { return std::ptr::null() };
    let Ok(map) = (unsafe { Mmap::map(&file) }) else { return std::ptr::null() };
    let map: &'static Mmap = Box::leak(Box::new(map));
    let (Ok(read), Ok(file)) = (SafeTensors::deserialize(map), SafeTensorFile::open(path_of(path))) else {
        return std::ptr::null();
    };
    let names = (0..count).map(|i| path_of(unsafe { *names.add(i) }).to_owned()).collect();
    let ordered = file.names();
    Box::leak(Box::new(Opened { read, file, names, ordered }))
}

/// Looks every name up, `count` times. How many were found the last time.
///
/// # Safety
/// `opened` is of `peer_rs_files_hold`.
#[no_mangle]
pub unsafe extern "C" fn peer_rs_files_find(opened: *const Opened, count: i64) -> i64 {
    let opened = unsafe { &*opened };
    let mut found = 0;
    for _ in 0..count {
        found = 0;
        for name in &opened.names {
            found += i64::from(black_box(opened.read.tensor(name)).is_ok());
        }
    }
    found
}

/// Exports every tensor through DLPack and drops it, in the order of the file, `count` times. How many there were the last time.
///
/// # Safety
/// `opened` is of `peer_rs_files_hold`.
#[no_mangle]
pub unsafe extern "C" fn peer_rs_files_export(opened: *const Opened, count: i64) -> i64 {
    let opened = unsafe { &*opened };
    let mut made = 0;
    for _ in 0..count {
        made = 0;
        for name in &opened.ordered {
            made += i64::from(black_box(opened.file.tensor(name)).is_ok());
        }
    }
    made
}
