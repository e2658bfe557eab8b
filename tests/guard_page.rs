//! The parser never reads past the end of its input: each text ends at a page boundary, and the next page is
//! inaccessible.
#![cfg(unix)]
#![allow(unsafe_code)]

use crate::common;

use std::ptr::{null_mut, slice_from_raw_parts_mut};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use wireline::{Frame, Rules};
use wireline_json::Cpu;

use common::{Case, describe};

const PAGE: usize = 64 << 10; // a multiple of every page size in use

/// Readable memory followed by an inaccessible page: reading past its end crashes the process.
struct Guarded {
    start: *mut u8,
}

impl Guarded {
    fn new() -> Self {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: this maps new memory at an address that the kernel chooses, and nothing refers to the second half
        // when it is made inaccessible.
        unsafe {
            let start = mmap_anonymous(null_mut(), 2 * PAGE, access, flags).unwrap();
            mprotect(start.byte_add(PAGE), PAGE, MprotectFlags::empty()).unwrap();
            Self { start: start.cast() }
        }
    }

    /// Copies the text to the end of the readable half.
    fn place(&mut self, text: &[u8]) -> &[u8] {
        // SAFETY: the first half is readable and writable, initialised to zeros by the kernel, and borrowed from
        // `self`.
        let page = unsafe { &mut *slice_from_raw_parts_mut(self.start, PAGE) };
        let place = &mut page[PAGE - text.len()..];
        place.copy_from_slice(text);
        place
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: `self` owns the mapping, and no borrow of it is left.
        unsafe { munmap(self.start.cast(), 2 * PAGE).unwrap() }
    }
}

#[test]
fn no_text_is_read_beyond_its_end() {
    let rules = Rules::json_rpc();
    for kernel in Cpu::available() {
        kernel.run(|| {
        let mut page = Guarded::new();
        // Strings, escapes, numbers, literals and brackets that end, or are cut off, at every position of a block.
        let message = br#"{"jsonrpc":"2.0","id":12345,"method":"m\u00e9\n","params":{"a":[1.5e3,true,null,"x\\"],"b":"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"}}"#;
        for len in 0..=message.len() {
            let expected = Frame::parse(&message[..len], &rules).is_ok();
            assert_eq!(Frame::parse(page.place(&message[..len]), &rules).is_ok(), expected);
        }
        for beyond_ascii in ["é", "€", "😀"] {
            for len in 1..200 {
                let text = format!(r#"{{"jsonrpc":"2.0","method":"{}"#, beyond_ascii.repeat(len));
                for cut in 0..beyond_ascii.len() {
                    assert!(Frame::parse(page.place(&text.as_bytes()[..text.len() - cut]), &rules).is_err());
                }
            }
        }
        });
    }
}

/// Every case of the acceptance table gives the same result at the end of a page as elsewhere.
#[test]
fn every_case_gives_the_same_result() {
    let rules = Rules::json_rpc();
    for kernel in Cpu::available() {
        kernel.run(|| {
            let mut page = Guarded::new();
            for Case { line, .. } in common::cases().iter().filter(|case| case.line.len() <= PAGE) {
                let anywhere = describe(&Frame::parse(line, &rules));
                assert_eq!(describe(&Frame::parse(page.place(line), &rules)), anywhere);
            }
        });
    }
}
