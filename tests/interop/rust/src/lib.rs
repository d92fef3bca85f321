//! The Rust crate `dlpark` as a small Python module: what its documentation tells an author to write, and no more.

use dlpark::ffi::{DLDevice, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::metadata::Dynamic;
use dlpark::python::consumer::exchange::ExchangeApi;
use dlpark::python::{
    export_dlpack, from_dlpack, install_exchange_api, DlpackExchangeProducer, DlpackExporter, ExportRequest,
    ImportedDlpack,
};
use dlpark::tensor::TensorRef;
use dlpark::{versioned, DlpackFlags, Managed};
use half::{bf16, f16};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::c_void;
use std::sync::Arc;

/// What an exported header keeps alive.
struct Held(ImportedDlpack);

// SAFETY: nothing is done with the tensor but reading its description and, once, calling its deleter.
unsafe impl Send for Held {}
unsafe impl Sync for Held {}

fn refused(error: impl std::fmt::Display) -> PyErr {
    PyBufferError::new_err(error.to_string())
}

/// A tensor of whoever made it, to be given out again any number of times.
#[pyclass(frozen)]
struct Tensor {
    held: Arc<Held>,
}

/// Where element 0 lies; NULL where there is none.
fn first_element(tensor: &TensorRef<'_>) -> PyResult<*mut c_void> {
    if tensor.num_elements() == 0 {
        return Ok(std::ptr::null_mut());
    }
    Ok(unsafe { tensor.offset_bytes_ptr() }.map_err(refused)?.cast_mut().cast())
}

macro_rules! header {
    ($self:expr, $abi:ty) => {{
        let tensor = $self.held.0.validate().map_err(refused)?;
        let strides = tensor.strides_or_compact().map_err(refused)?.into_owned();
        let mut initialized = Dynamic::new(tensor.shape().to_vec(), strides)
            .initialize_as::<$abi>(Arc::clone(&$self.held))
            .map_err(refused)?;
        initialized
            .set_data(first_element(&tensor)?)
            .set_dtype(tensor.dtype())
            .set_device(tensor.device());
        unsafe { initialized.finish() }
    }};
}

impl DlpackExporter for Tensor {
    fn device(&self) -> DLDevice {
        self.held.0.validate().map_or(DLDevice::CPU, |tensor| tensor.device())
    }

    fn flags(&self) -> DlpackFlags {
        self.held.0.flags() & DlpackFlags::READ_ONLY
    }

    fn prepare_export(&self, _py: Python<'_>, _request: &ExportRequest<'_>) -> PyResult<()> {
        Ok(())
    }

    fn export_legacy(&self, _py: Python<'_>) -> PyResult<Managed<DLManagedTensor>> {
        Ok(header!(self, DLManagedTensor))
    }

    fn export_versioned(&self, _py: Python<'_>) -> PyResult<Managed<DLManagedTensorVersioned>> {
        let mut made = header!(self, DLManagedTensorVersioned);
        unsafe { *made.flags_mut() = self.flags() };
        Ok(made)
    }
}

unsafe impl DlpackExchangeProducer for Tensor {
    fn managed_tensor_no_sync(&self, py: Python<'_>) -> PyResult<Managed<DLManagedTensorVersioned>> {
        self.export_versioned(py)
    }

    fn current_work_stream(_py: Python<'_>, _device: DLDevice) -> PyResult<*mut c_void> {
        Ok(std::ptr::null_mut())
    }

    fn from_managed_tensor_no_sync(py: Python<'_>, tensor: Managed<DLManagedTensorVersioned>) -> PyResult<Py<Self>> {
        let held = Arc::new(Held(ImportedDlpack::Versioned(tensor)));
        Py::new(py, Tensor { held })
    }
}

#[pymethods]
impl Tensor {
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(u32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        export_dlpack(self, py, ExportRequest::parse(stream.as_ref(), max_version, dl_device, copy)?)
    }

    fn __dlpack_device__(&self) -> (u32, i32) {
        let device = self.device();
        (device.device_type.0, device.device_id)
    }

    /// (address of element 0, shape, strides, (code, bits, lanes), read-only)
    fn describe(&self) -> PyResult<(usize, Vec<i64>, Vec<i64>, (u8, u8, u16), bool)> {
        let tensor = self.held.0.validate().map_err(refused)?;
        let dtype = tensor.dtype();
        Ok((
            first_element(&tensor)? as usize,
            tensor.shape().to_vec(),
            tensor.strides_or_compact().map_err(refused)?.into_owned(),
            (dtype.code.0, dtype.bits, dtype.lanes),
            self.flags().contains(DlpackFlags::READ_ONLY),
        ))
    }

    /// The elements of a compact tensor, as the crate lends them.
    fn bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let tensor = self.held.0.validate().map_err(refused)?;
        Ok(PyBytes::new(py, unsafe { tensor.cpu_bytes() }.map_err(refused)?))
    }
}

/// Keeps a tensor of anybody's.
#[pyfunction(name = "from_dlpack")]
fn keep(object: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let imported = from_dlpack(object.as_borrowed(), None, None)?;
    Ok(Tensor { held: Arc::new(Held(imported)) })
}

/// A function of three tensors, by the documented import: the sum of their ranks.
#[pyfunction]
fn ranks(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>, c: &Bound<'_, PyAny>) -> PyResult<usize> {
    let mut sum = 0;
    for object in [a, b, c] {
        let tensor = from_dlpack(object.as_borrowed(), None, None)?;
        sum += tensor.validate().map_err(refused)?.ndim();
    }
    Ok(sum)
}

/// The same through the borrowed view of the C exchange table, which is this crate's fastest way.
#[pyfunction]
fn ranks_by_view(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>, c: &Bound<'_, PyAny>) -> PyResult<usize> {
    let mut sum = 0;
    for object in [a, b, c] {
        let api = ExchangeApi::from_object(object.as_borrowed())?
            .ok_or_else(|| PyTypeError::new_err("the type has no exchange table"))?;
        sum += api.with_tensor_view_no_sync(object.as_borrowed(), |tensor, _stream| tensor.ndim as usize)?;
    }
    Ok(sum)
}

/// The same with its arguments checked: matrices of float32, row-major, on the host.
#[pyfunction]
fn matrices_by_view(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>, c: &Bound<'_, PyAny>) -> PyResult<bool> {
    let mut all = true;
    for object in [a, b, c] {
        let api = ExchangeApi::from_object(object.as_borrowed())?
            .ok_or_else(|| PyTypeError::new_err("the type has no exchange table"))?;
        all &= api.with_tensor_view_no_sync(object.as_borrowed(), |tensor, _stream| {
            // SAFETY: a tensor of rank 2 has two extents, and two strides where it has any.
            tensor.dtype == dlpark::ffi::DLDataType::F32
                && tensor.ndim == 2
                && tensor.device.device_type == DLDevice::CPU.device_type
                && !tensor.strides.is_null()
                && unsafe { *tensor.strides.add(1) == 1 && *tensor.strides == *tensor.shape.add(1) }
        })?;
    }
    Ok(all)
}

fn vector() -> PyResult<versioned::Dlpack> {
    let mut values = vec![1_f32; 4];
    let data = values.as_mut_ptr().cast();
    let mut initialized = Dynamic::compact(&[4_i64]).initialize(Box::new(values)).map_err(refused)?;
    initialized
        .set_data(data)
        .set_dtype(dlpark::ffi::DLDataType::F32)
        .set_device(DLDevice::CPU);
    Ok(unsafe { initialized.finish() })
}

/// A fresh vector of four ones as an object of the class that `like` is of, by its exchange table.
#[pyfunction]
fn ones_like<'py>(py: Python<'py>, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let api = ExchangeApi::from_object(like.as_borrowed())?
        .ok_or_else(|| PyTypeError::new_err("the type has no exchange table"))?;
    api.managed_tensor_to_py_object_no_sync(vector()?, py)
}

/// A fresh vector of four ones as an object with the protocol.
#[pyfunction]
fn ones() -> PyResult<Tensor> {
    Ok(Tensor { held: Arc::new(Held(ImportedDlpack::Versioned(vector()?))) })
}

/// Numbers of one type as numbers of another, by the crate `half`: both are bytes, as the machine has them.
macro_rules! converted {
    ($bytes:expr, $from:ty, $convert:expr) => {
        $bytes
            .chunks_exact(size_of::<$from>())
            .flat_map(|chunk| $convert(<$from>::from_ne_bytes(chunk.try_into().unwrap())).to_ne_bytes())
            .collect()
    };
}

/// Bytes of float32 or float64 to float16 or bfloat16, or the reverse: `by_half("f64", "bf16", bytes)`.
#[pyfunction]
fn by_half<'py>(py: Python<'py>, from: &str, to: &str, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let made: Vec<u8> = match (from, to) {
        ("f32", "f16") => converted!(bytes, f32, f16::from_f32),
        ("f64", "f16") => converted!(bytes, f64, f16::from_f64),
        ("f32", "bf16") => converted!(bytes, f32, bf16::from_f32),
        ("f64", "bf16") => converted!(bytes, f64, bf16::from_f64),
        ("f16", "f32") => converted!(bytes, f16, f16::to_f32),
        ("f16", "f64") => converted!(bytes, f16, f16::to_f64),
        ("bf16", "f32") => converted!(bytes, bf16, bf16::to_f32),
        ("bf16", "f64") => converted!(bytes, bf16, bf16::to_f64),
        _ => return Err(PyTypeError::new_err("by_half() converts f32 and f64 to f16 and bf16, and back")),
    };
    Ok(PyBytes::new(py, &made))
}

#[pymodule]
fn dlpark_rust(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Tensor>()?;
    install_exchange_api::<Tensor>(module.py())?;
    module.add_function(wrap_pyfunction!(keep, module)?)?;
    module.add_function(wrap_pyfunction!(ranks, module)?)?;
    module.add_function(wrap_pyfunction!(ranks_by_view, module)?)?;
    module.add_function(wrap_pyfunction!(matrices_by_view, module)?)?;
    module.add_function(wrap_pyfunction!(ones_like, module)?)?;
    module.add_function(wrap_pyfunction!(ones, module)?)?;
    module.add_function(wrap_pyfunction!(by_half, module)?)?;
    module.add("__version__", "0.10.0")
}
