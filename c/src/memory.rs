//! Converts pointers to references and back. The code here relies on the guarantees of C callers about pointers.

use std::mem::MaybeUninit;
use std::slice;

/// Borrowed bytes. If `ptr` is NULL, the span is absent, such as a missing member; an empty text has a `len` of 0 and a
/// `ptr` that isn't NULL.
///
/// Texts are UTF-8 and aren't terminated by a NUL.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct wl_span {
    /// The first byte, or NULL.
    pub ptr: *const u8,
    /// The number of bytes.
    pub len: usize,
}

impl wl_span {
    /// An absent span.
    pub const ABSENT: Self = Self { ptr: std::ptr::null(), len: 0 };

    /// Borrows `bytes`.
    #[inline]
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self { ptr: bytes.as_ptr(), len: bytes.len() }
    }

    /// The bytes, or `None` if the span is absent, or longer than any allocation can be.
    ///
    /// # Safety
    ///
    /// The span must be valid: unless it is absent, `ptr` points to `len` initialized bytes that don't change while
    /// they are borrowed.
    #[inline]
    pub(crate) unsafe fn bytes<'a>(self) -> Option<&'a [u8]> {
        if self.ptr.is_null() || isize::try_from(self.len).is_err() {
            return None;
        }
        // SAFETY: not null, not too long, and the caller promises the rest.
        Some(unsafe { slice::from_raw_parts(self.ptr, self.len) })
    }
}

/// Borrows the value behind a pointer. Returns `None` if the pointer is NULL.
///
/// # Safety
///
/// `pointer` is NULL, or points to a valid value that nothing else modifies while it is borrowed.
#[inline]
pub(crate) unsafe fn shared<'a, T>(pointer: *const T) -> Option<&'a T> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_ref() }
}

/// Mutably borrows the value behind a pointer. Returns `None` if the pointer is NULL.
///
/// # Safety
///
/// `pointer` is NULL, or points to a valid value that nothing else accesses while it is borrowed.
#[inline]
pub(crate) unsafe fn exclusive<'a, T>(pointer: *mut T) -> Option<&'a mut T> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_mut() }
}

/// Borrows the memory of an output parameter. Returns `None` if the pointer is NULL.
///
/// # Safety
///
/// `pointer` is NULL, or points to memory for a `T`, which may be uninitialized, and which nothing else accesses while
/// it is borrowed.
#[inline]
pub(crate) unsafe fn out_param<'a, T>(pointer: *mut T) -> Option<&'a mut MaybeUninit<T>> {
    // SAFETY: as the caller promises.
    unsafe { pointer.cast::<MaybeUninit<T>>().as_mut() }
}

/// Writes to an output parameter, unless the pointer is NULL. Doesn't drop the previous value, which may be
/// uninitialized.
///
/// # Safety
///
/// `place` is NULL, or points to memory for a `T`, which may be uninitialized.
#[inline]
pub(crate) unsafe fn store<T: Copy>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: not null, and the caller promises the rest.
        unsafe { place.write(value) };
    }
}

/// Passes ownership of a value to C, which returns it to [`from_handle`] once.
#[inline]
pub(crate) fn into_handle<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Takes ownership of a value back from C. Returns `None` if the pointer is NULL.
///
/// # Safety
///
/// `pointer` is NULL, or comes from [`into_handle`] and is not used any more.
#[inline]
pub(crate) unsafe fn from_handle<T>(pointer: *mut T) -> Option<Box<T>> {
    // SAFETY: not null, and the caller promises the rest.
    (!pointer.is_null()).then(|| unsafe { Box::from_raw(pointer) })
}

/// Returns the bytes of a C string as a span. For a literal, use the macro `WL_TEXT("…")`, which doesn't need `strlen`.
///
/// Returns an absent span for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_text(text: *const std::ffi::c_char) -> wl_span {
    if text.is_null() {
        return wl_span::ABSENT;
    }
    // SAFETY: not null, and the caller promises that it ends in a NUL.
    wl_span::of(unsafe { std::ffi::CStr::from_ptr(text) }.to_bytes())
}
