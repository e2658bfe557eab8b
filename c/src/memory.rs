//! From pointers to references and back. Everything that the callers of this library promise about pointers is used here.

use std::mem::MaybeUninit;
use std::slice;

/// Bytes that belong to somebody else. A NULL `ptr` means that there is nothing, such as an absent member; an empty text
/// has a `len` of 0 and another `ptr`.
///
/// Texts are UTF-8 and aren't terminated by a NUL.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct wl_span {
    /// The first byte, or NULL.
    pub ptr: *const u8,
    /// How many bytes there are.
    pub len: usize,
}

impl wl_span {
    /// Nothing.
    pub const ABSENT: Self = Self { ptr: std::ptr::null(), len: 0 };

    /// Borrows `bytes`.
    #[inline]
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self { ptr: bytes.as_ptr(), len: bytes.len() }
    }

    /// The bytes, or `None` if the span is absent or no memory can be so long.
    ///
    /// # Safety
    ///
    /// Unless it is absent, `ptr` points to `len` bytes that don't change while they are borrowed.
    #[inline]
    pub(crate) unsafe fn bytes<'a>(self) -> Option<&'a [u8]> {
        if self.ptr.is_null() || isize::try_from(self.len).is_err() {
            return None;
        }
        // SAFETY: not null, not too long, and the caller promises the rest.
        Some(unsafe { slice::from_raw_parts(self.ptr, self.len) })
    }
}

/// The value behind a pointer, if that isn't NULL.
///
/// # Safety
///
/// It is NULL, or points to a valid value that nobody changes while it is borrowed.
#[inline]
pub(crate) unsafe fn shared<'a, T>(pointer: *const T) -> Option<&'a T> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_ref() }
}

/// The value behind a pointer, if that isn't NULL, for a caller who may change it.
///
/// # Safety
///
/// It is NULL, or points to a valid value that nobody else uses while it is borrowed.
#[inline]
pub(crate) unsafe fn exclusive<'a, T>(pointer: *mut T) -> Option<&'a mut T> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_mut() }
}

/// The memory that a caller wants to have filled, if there is any.
///
/// # Safety
///
/// It is NULL, or points to memory for a `T`, which may be uninitialised, and which nobody else uses while it is borrowed.
#[inline]
pub(crate) unsafe fn place<'a, T>(pointer: *mut T) -> Option<&'a mut MaybeUninit<T>> {
    // SAFETY: as the caller promises.
    unsafe { pointer.cast::<MaybeUninit<T>>().as_mut() }
}

/// Writes to where a caller wants a value, if that is anywhere. What was there before isn't dropped: C has no destructors.
///
/// # Safety
///
/// It is NULL, or points to memory for a `T`, which may be uninitialised.
#[inline]
pub(crate) unsafe fn store<T: Copy>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: not null, and the caller promises the rest.
        unsafe { place.write(value) };
    }
}

/// Gives a value to C, which gives it back to [`taken`] once.
#[inline]
pub(crate) fn given<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Takes a value back from C.
///
/// # Safety
///
/// It is NULL, or comes from [`given`] and is used nowhere else any more.
#[inline]
pub(crate) unsafe fn taken<T>(pointer: *mut T) -> Option<Box<T>> {
    // SAFETY: not null, and the caller promises the rest.
    (!pointer.is_null()).then(|| unsafe { Box::from_raw(pointer) })
}

/// The bytes of a C string as a span; `WL_TEXT("…")`, a macro, does the same for a literal without counting.
///
/// NULL gives an absent span.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_text(text: *const std::ffi::c_char) -> wl_span {
    if text.is_null() {
        return wl_span::ABSENT;
    }
    // SAFETY: not null, and the caller promises that it ends in a NUL.
    wl_span::of(unsafe { std::ffi::CStr::from_ptr(text) }.to_bytes())
}
