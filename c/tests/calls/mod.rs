//! Calls the C functions in any order with any arguments that the header permits, as some input says. The body of the fuzz
//! target `c_api`, and of the test beside it.
//!
//! What a caller promises in C, this keeps track of: handles are freed once, and spans and messages are used only as long
//! as they are valid. Everything that is valid is used, so that a sanitizer sees what isn't. Beside that, whatever an
//! encoder has appended must be accepted by a decoder with the same rules, and no request is settled twice.
#![allow(
    unsafe_code,
    unreachable_pub,
    dead_code,
    missing_docs,
    reason = "it calls C functions, and is part of several programs"
)]

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use wireline_c::decoder::*;
use wireline_c::encoder::*;
use wireline_c::frame::*;
use wireline_c::inbound::*;
use wireline_c::json::*;
use wireline_c::kinds::wl_kind;
use wireline_c::message::*;
use wireline_c::outbound::*;
use wireline_c::rules::*;
use wireline_c::status::*;
use wireline_c::{wl_span, wl_text};

/// Parts of streams, payloads and ids, good and bad.
const SNIPPETS: &[&[u8]] = &[
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"m\\u0041\",\"params\":{\"x\":[1,2]}}\n",
    b"{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{}}\r\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\\ud800\"}}\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-1,\"message\":\"\\ud800x\",\"data\":[1]}}\n",
    b"[{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"m\"},1,{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"\\n\"},{}]\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":1}\n",
    b"Content-Length: 10\r\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth",
    b"od\":\"m\"}\n",
    b"[]\n",
    b"\n",
    b"\xef\xbb\xbf",
    b"\xff",
    b"1",
    b"\"a\"",
    b"null",
    b"1.0",
    b"\"\\u0061\"",
    b"{}",
    b"[1,\n2]",
    b"{\"a\":{\"b\":[\"\\ud83d\\ude00\",\"\\udc00\"]}}",
    b"/a/b/0",
    b"/id",
    b"m",
    b"",
];

/// What decides what happens.
struct Input<'d> {
    data: &'d [u8],
}

impl<'d> Input<'d> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.data.split_first() else { return 0 };
        self.data = rest;
        first
    }

    fn below(&mut self, limit: usize) -> usize {
        self.byte() as usize % limit
    }

    fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => u64::MAX,
            1 => u64::from(self.byte()) << 32,
            _ => u64::from(self.byte()),
        }
    }

    fn size(&mut self) -> usize {
        self.number() as usize
    }

    /// A snippet, a part of the input, or nothing. A span borrows from what this returns.
    fn bytes(&mut self) -> Option<&'d [u8]> {
        match self.below(8) {
            0 => None,
            1 => {
                let (part, rest) = self.data.split_at(self.below(40).min(self.data.len()));
                self.data = rest;
                Some(part)
            }
            // Every other time a whole message.
            2..=4 => Some(SNIPPETS[self.below(6)]),
            _ => Some(SNIPPETS[self.below(SNIPPETS.len())]),
        }
    }

    fn span(&mut self) -> wl_span {
        self.bytes().map_or(wl_span::ABSENT, wl_span::of)
    }
}

/// A decoder, and what was found last, as long as that is valid.
struct Decoding {
    decoder: *mut wl_decoder,
    message: Option<wl_message>,
    entry: Option<wl_message>,
    fault: Option<wl_fault>,
    lent: Option<(*mut u8, usize)>,
}

impl Decoding {
    fn forget(&mut self) {
        (self.message, self.entry, self.fault, self.lent) = (None, None, None, None);
    }
}

/// A frame, likewise.
struct Kept {
    frame: *mut wl_frame,
    message: Option<wl_message>,
    entry: Option<wl_message>,
    fault: Option<wl_fault>,
}

#[derive(Default)]
struct World {
    decoders: Vec<Decoding>,
    frames: Vec<Kept>,
    encoders: Vec<(*mut wl_encoder, wl_rules)>,
    inbounds: Vec<*mut wl_inbound>,
    tickets: Vec<*mut wl_ticket>,
    answers: Vec<*mut wl_answer>,
    outbounds: Vec<*mut wl_outbound>,
    /// Keeps what is read from being optimised away.
    sum: u64,
    counts: Counts,
}

/// How often what was done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub steps: u64,
    pub decoded: u64,
    pub encoded: u64,
    pub admitted: u64,
    pub accepted: u64,
    pub settled: u64,
}

/// Calls functions until the input is used up: one or a few in each step.
pub fn run(data: &[u8]) -> Counts {
    let mut input = Input { data };
    // SAFETY: these are new.
    let mut world = unsafe { World::new() };
    while !input.data.is_empty() {
        // SAFETY: `World` keeps track of what is valid, and uses nothing else.
        unsafe { world.step(&mut input) };
        world.counts.steps += 1;
    }
    // SAFETY: likewise.
    unsafe { world.free() };
    std::hint::black_box(world.sum);
    world.counts
}

unsafe fn filled<T>(fill: impl FnOnce(*mut T) -> wl_status) -> Option<T> {
    let mut place = MaybeUninit::uninit();
    // SAFETY: what has succeeded has filled it.
    (fill(place.as_mut_ptr()) == wl_status::Ok).then(|| unsafe { place.assume_init() })
}

impl World {
    /// One handle of each kind, so that there is something to do.
    unsafe fn new() -> Self {
        let mut world = Self::default();
        // SAFETY: there is room for rules, which are then filled.
        unsafe {
            let rules = filled(|rules| wl_rules_init(rules, 0)).expect("there is such a dialect");
            let decoder = wl_decoder_new(&rules);
            world.decoders.push(Decoding { decoder, message: None, entry: None, fault: None, lent: None });
            world.encoders.push((wl_encoder_new(&rules), rules));
            world.inbounds.push(wl_inbound_new(&rules, 3, None, null_mut()));
            world.outbounds.push(wl_outbound_new(3));
        }
        world
    }

    unsafe fn read(&mut self, span: wl_span) {
        if !span.ptr.is_null() {
            // SAFETY: it is valid, as `World` keeps track.
            let bytes = unsafe { std::slice::from_raw_parts(span.ptr, span.len) };
            self.sum += bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
        }
    }

    unsafe fn read_message(&mut self, message: &wl_message) {
        let wl_message { text, id, method, params, result, error, .. } = *message;
        for span in [text, id, method, params, result, error] {
            // SAFETY: as above.
            unsafe { self.read(span) };
        }
    }

    fn rules(input: &mut Input<'_>) -> wl_rules {
        // SAFETY: there is room for rules, and a dialect below 3 fills it.
        let mut rules =
            unsafe { filled(|rules| wl_rules_init(rules, input.below(3) as u32)) }.expect("there are three dialects");
        if input.below(4) == 0 {
            rules.max_line_len = input.below(200);
            rules.max_depth = input.below(8);
            rules.batches = input.below(2) == 0;
            rules.answer_without_id = input.below(4) as u32;
            rules.dialect = input.below(4) as u32;
            rules.max_id_len = input.size();
            rules.max_batch_len = input.below(5);
            rules.skip_blank_lines = input.below(2) == 0;
            rules.null_params = input.below(2) == 0;
        }
        rules
    }

    /// A message that is valid, from anywhere; or what is none.
    fn message(&self, input: &mut Input<'_>) -> wl_message {
        let none = wl_message {
            kind: wl_kind::None,
            line: 0,
            offset: 0,
            text: wl_span::ABSENT,
            id: wl_span::ABSENT,
            method: wl_span::ABSENT,
            params: wl_span::ABSENT,
            result: wl_span::ABSENT,
            error: wl_span::ABSENT,
            source: null(),
        };
        let all = || {
            let decoders = self.decoders.iter().flat_map(|it| [it.message, it.entry]);
            let frames = self.frames.iter().flat_map(|it| [it.message, it.entry]);
            decoders.chain(frames).flatten().filter(|message| !message.source.is_null())
        };
        let count = all().count();
        if count == 0 || input.below(16) == 0 { none } else { all().nth(input.below(count)).unwrap_or(none) }
    }

    fn fault(&self, input: &mut Input<'_>) -> Option<wl_fault> {
        let all = || self.decoders.iter().map(|it| it.fault).chain(self.frames.iter().map(|it| it.fault)).flatten();
        let count = all().count();
        if count == 0 { None } else { all().nth(input.below(count)) }
    }

    fn some<T>(list: &[*mut T], input: &mut Input<'_>) -> *mut T {
        if list.is_empty() { null_mut() } else { list[input.below(list.len())] }
    }

    #[allow(clippy::too_many_lines, reason = "a line or two for each function")]
    unsafe fn step(&mut self, input: &mut Input<'_>) {
        let choice = input.below(48);
        let at = |len: usize, input: &mut Input<'_>| if len == 0 { None } else { Some(input.below(len)) };
        // SAFETY: handles, messages and spans are valid, as is kept track of here.
        unsafe {
            match choice {
                0 => {
                    let rules = Self::rules(input);
                    let decoder = wl_decoder_new(&rules);
                    if !decoder.is_null() && self.decoders.len() < 4 {
                        self.decoders.push(Decoding { decoder, message: None, entry: None, fault: None, lent: None });
                    } else {
                        wl_decoder_free(decoder);
                    }
                }
                1..=6 => {
                    if let Some(at) = at(self.decoders.len(), input) {
                        self.decoders[at].forget();
                        wl_decoder_feed(self.decoders[at].decoder, input.span());
                    }
                }
                7..=14 => {
                    if let Some(at) = at(self.decoders.len(), input) {
                        self.decoders[at].forget();
                        let decoder = self.decoders[at].decoder;
                        let mut message = MaybeUninit::uninit();
                        let kind = wl_decoder_next(decoder, message.as_mut_ptr());
                        assert!((kind as i32) >= 0, "{kind:?}");
                        let message = message.assume_init();
                        self.counts.decoded += u64::from(kind != wl_kind::None);
                        self.decoders[at].message = Some(message);
                        self.read_message(&message);
                    }
                }
                15 | 16 => {
                    if let Some(at) = at(self.decoders.len(), input) {
                        let of = &mut self.decoders[at];
                        (of.entry, of.fault) = (None, None);
                        let mut message = MaybeUninit::uninit();
                        assert!(wl_decoder_next_entry(of.decoder, message.as_mut_ptr()) as i32 >= 0);
                        let message = message.assume_init();
                        of.entry = Some(message);
                        self.read_message(&message);
                    }
                }
                17 | 18 => {
                    if let Some(at) = at(self.decoders.len(), input) {
                        let of = &mut self.decoders[at];
                        of.fault = filled(|fault| wl_decoder_fault(of.decoder, fault));
                        if let Some(fault) = of.fault {
                            for span in [fault.name, fault.message, fault.hint_text, fault.id, fault.reply] {
                                self.read(span);
                            }
                        }
                    }
                }
                19 => {
                    if let Some(at) = at(self.decoders.len(), input) {
                        let frame = wl_decoder_keep(self.decoders[at].decoder);
                        self.keep(frame);
                    }
                }
                20 => {
                    if let Some(at) = at(self.decoders.len(), input) {
                        self.decoders[at].forget();
                        let mut room = 0;
                        let lent = wl_decoder_reserve(self.decoders[at].decoder, input.size(), &mut room);
                        assert!(!lent.is_null() && room > 0);
                        self.decoders[at].lent = Some((lent, room));
                    }
                }
                21 | 22 => {
                    if let Some(at) = at(self.decoders.len(), input) {
                        let of = &mut self.decoders[at];
                        let lent = of.lent.take();
                        let written = match (lent, input.bytes()) {
                            (Some((room, len)), Some(bytes)) if bytes.len() <= len => {
                                room.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                                bytes.len()
                            }
                            (Some((_, len)), _) if input.below(2) == 0 => len + 1,
                            _ => 0,
                        };
                        let status = wl_decoder_commit(of.decoder, written);
                        let expected = lent.is_some_and(|(_, room)| written <= room);
                        assert_eq!(status == wl_status::Ok, expected, "{status:?}");
                    }
                }
                23 => {
                    if let Some(at) = at(self.decoders.len(), input) {
                        self.sum += wl_decoder_buffered(self.decoders[at].decoder) as u64;
                        if input.below(8) == 0 {
                            self.decoders[at].forget();
                            wl_decoder_finish(self.decoders[at].decoder);
                        } else if input.below(8) == 0 {
                            wl_decoder_free(self.decoders.swap_remove(at).decoder);
                        }
                    }
                }
                24 => {
                    let rules = Self::rules(input);
                    let frame = wl_frame_parse(&rules, input.span());
                    self.keep(frame);
                }
                25 | 26 => {
                    if let Some(at) = at(self.frames.len(), input) {
                        let of = &mut self.frames[at];
                        let mut message = MaybeUninit::uninit();
                        let is_entry = input.below(2) == 0;
                        let message = if is_entry {
                            (of.entry, of.fault) = (None, None);
                            assert!(wl_frame_next_entry(of.frame, message.as_mut_ptr()) as i32 >= 0);
                            *of.entry.insert(message.assume_init())
                        } else {
                            // A method with escapes is decoded again.
                            (of.message, of.entry) = (None, None);
                            assert!(wl_frame_message(of.frame, message.as_mut_ptr()) as i32 >= 0);
                            *of.message.insert(message.assume_init())
                        };
                        self.read_message(&message);
                    }
                }
                27 => {
                    if let Some(at) = at(self.frames.len(), input) {
                        let of = &mut self.frames[at];
                        of.fault = filled(|fault| wl_frame_fault(of.frame, fault));
                        if let Some(fault) = of.fault {
                            self.read(fault.message);
                            self.read(fault.reply);
                        }
                        if input.below(4) == 0 {
                            wl_frame_free(self.frames.swap_remove(at).frame);
                        }
                    }
                }
                28 => {
                    let rules = Self::rules(input);
                    let encoder = wl_encoder_new(&rules);
                    if !encoder.is_null() && self.encoders.len() < 4 {
                        self.encoders.push((encoder, rules));
                    } else {
                        wl_encoder_free(encoder);
                    }
                }
                29..=35 => {
                    if let Some(at) = at(self.encoders.len(), input) {
                        self.encode(at, input);
                    }
                }
                36 => {
                    let rules = Self::rules(input);
                    let inbound = wl_inbound_new(&rules, input.below(6), None, null_mut());
                    if !inbound.is_null() && self.inbounds.len() < 3 {
                        self.inbounds.push(inbound);
                    } else {
                        wl_inbound_free(inbound);
                    }
                }
                37..=41 => self.serve(input),
                42 => {
                    let outbound = wl_outbound_new(input.below(5));
                    if self.outbounds.len() < 3 {
                        self.outbounds.push(outbound);
                    } else {
                        wl_outbound_free(outbound);
                    }
                }
                43..=45 => self.call(input),
                46 => {
                    let mut found = wl_span::ABSENT;
                    if wl_json_pointer(input.span(), input.span(), &mut found) == wl_status::Ok {
                        self.read(found);
                    }
                    self.sum += u64::from(wl_id_equal(input.span(), input.span()));
                    let mut buffer = [0; 16];
                    let mut len = 0;
                    let capacity = input.below(17);
                    let status = wl_json_string(input.span(), buffer.as_mut_ptr(), capacity, &mut len);
                    assert!(status != wl_status::Ok || len <= capacity);
                    self.read(wl_text(c"text".as_ptr()));
                }
                _ => {
                    let mut error = MaybeUninit::uninit();
                    let message = self.message(input);
                    if wl_message_error(&message, error.as_mut_ptr()) == wl_status::Ok {
                        let wl_error { message, data, .. } = error.assume_init();
                        self.read(message);
                        self.read(data);
                    }
                    self.sum += u64::from(*wl_status_text(input.number() as u32) as u8);
                    self.sum += u64::from(*wl_version() as u8);
                }
            }
        }
    }

    unsafe fn keep(&mut self, frame: *mut wl_frame) {
        if self.frames.len() < 6 && !frame.is_null() {
            self.frames.push(Kept { frame, message: None, entry: None, fault: None });
        } else {
            // SAFETY: it is new.
            unsafe { wl_frame_free(frame) };
        }
    }

    unsafe fn encode(&mut self, at: usize, input: &mut Input<'_>) {
        let (encoder, rules) = self.encoders[at];
        // SAFETY: as for `step`.
        unsafe {
            let before = wl_encoder_bytes(encoder).len;
            let message = self.message(input);
            let status = match input.below(12) {
                0 => wl_encoder_request(encoder, input.span(), input.span(), input.span()),
                1 => wl_encoder_call(encoder, input.number(), input.span(), input.span()),
                2 => wl_encoder_notification(encoder, input.span(), input.span()),
                3 => wl_encoder_response(encoder, input.span(), input.span()),
                4 => wl_encoder_error(encoder, input.span(), input.number() as i64, input.span(), input.span()),
                5 => match self.fault(input) {
                    Some(fault) => wl_encoder_reply(encoder, &fault),
                    None => wl_encoder_reply(encoder, null()),
                },
                6 => wl_encoder_raw(encoder, input.span()),
                7 => wl_encoder_flatten(encoder, input.span()),
                8 => wl_encoder_forward(encoder, &message),
                9 => wl_encoder_with_id(encoder, &message, input.span()),
                10 => {
                    wl_encoder_clear(encoder);
                    return;
                }
                _ => {
                    if input.below(4) == 0 {
                        wl_encoder_free(self.encoders.swap_remove(at).0);
                    }
                    return;
                }
            };
            let lines = wl_encoder_bytes(encoder);
            self.read(lines);
            let mut refused = MaybeUninit::uninit();
            if wl_encoder_refused(encoder, refused.as_mut_ptr()) == wl_status::Ok {
                assert!(matches!(status, wl_status::Rule | wl_status::LineBreak), "{status:?}");
                self.read(refused.assume_init().message);
            }
            if status != wl_status::Ok {
                assert!(status != wl_status::Panic);
                assert_eq!(lines.len, before, "{status:?}");
                return;
            }
            self.counts.encoded += 1;
            // One whole line, which the same rules accept.
            let added = wl_span { ptr: lines.ptr.add(before), len: lines.len - before };
            let line = std::slice::from_raw_parts(added.ptr, added.len);
            assert_eq!(line.iter().position(|&byte| byte == b'\n'), Some(line.len() - 1));
            let decoder = wl_decoder_new(&rules);
            wl_decoder_feed(decoder, added);
            let mut message = MaybeUninit::uninit();
            let kind = wl_decoder_next(decoder, message.as_mut_ptr());
            assert!(!matches!(kind, wl_kind::Fault | wl_kind::None), "{kind:?}: {}", String::from_utf8_lossy(line));
            wl_decoder_free(decoder);
        }
    }

    unsafe fn serve(&mut self, input: &mut Input<'_>) {
        // SAFETY: as for `step`.
        unsafe {
            let inbound = Self::some(&self.inbounds, input);
            match input.below(16) {
                0..=3 => {
                    let (message, mut refusal) = (self.message(input), null_mut());
                    let ticket = wl_inbound_admit(inbound, &message, &mut refusal);
                    assert!(ticket.is_null() || refusal.is_null());
                    if !ticket.is_null() {
                        self.counts.admitted += 1;
                        self.read(wl_ticket_id(ticket));
                        self.tickets.push(ticket);
                    }
                    self.hold(refusal);
                }
                4 => {
                    if let Some(fault) = self.fault(input) {
                        let answer = wl_inbound_reply(inbound, &fault);
                        self.hold(answer);
                    }
                }
                5..=8 if !self.tickets.is_empty() => {
                    let ticket = self.tickets.swap_remove(input.below(self.tickets.len()));
                    self.sum += u64::from(wl_ticket_is_cancelled(ticket));
                    let answer = match input.below(3) {
                        0 => wl_ticket_respond(ticket, input.span()),
                        1 => wl_ticket_fail(ticket, input.number() as i64, input.span(), input.span()),
                        _ => {
                            wl_ticket_free(ticket);
                            return;
                        }
                    };
                    assert!(!answer.is_null());
                    self.hold(answer);
                }
                9..=11 if !self.answers.is_empty() => {
                    let answer = self.answers.swap_remove(input.below(self.answers.len()));
                    self.read(wl_answer_bytes(answer));
                    self.sum += wl_answer_status(answer) as u64 + wl_answer_refusal(answer) as u64;
                    for _ in 0..input.below(3) {
                        let accepted = wl_answer_accept(answer);
                        self.counts.accepted += u64::from(accepted.len > 0);
                        self.read(accepted);
                        self.read(wl_answer_bytes(answer));
                    }
                    wl_answer_free(answer);
                }
                12 => {
                    let count = input.below(4).min(self.answers.len());
                    let some: Vec<_> = self.answers.drain(..count).chain([null_mut()]).collect();
                    if inbound.is_null() {
                        some.into_iter().for_each(|answer| wl_answer_free(answer));
                    } else {
                        let answer = wl_inbound_batch(inbound, some.as_ptr(), some.len());
                        self.hold(answer);
                    }
                }
                13 => {
                    let answer = wl_inbound_next_dropped(inbound);
                    self.hold(answer);
                }
                14 => {
                    self.sum += u64::from(wl_inbound_cancel(inbound, input.span()));
                    self.sum += wl_inbound_in_flight(inbound) as u64;
                    if wl_inbound_in_flight(inbound) == 0 && !inbound.is_null() {
                        assert!(wl_inbound_wait_idle(inbound, 0));
                    }
                }
                _ => match input.below(8) {
                    0 => wl_inbound_close(inbound),
                    1 => {
                        let answer = wl_inbound_answer_rest(inbound, input.number() as i64, input.span());
                        self.hold(answer);
                    }
                    2 if !inbound.is_null() => {
                        self.inbounds.retain(|&other| other != inbound);
                        wl_inbound_free(inbound);
                    }
                    _ => {}
                },
            }
        }
    }

    unsafe fn hold(&mut self, answer: *mut wl_answer) {
        if !answer.is_null() {
            self.answers.push(answer);
        }
    }

    unsafe fn call(&mut self, input: &mut Input<'_>) {
        // SAFETY: as for `step`.
        unsafe {
            let outbound = Self::some(&self.outbounds, input);
            let (mut id, mut value) = (0, null_mut());
            match input.below(6) {
                0 | 1 => {
                    wl_outbound_issue(outbound, null_mut(), &mut id);
                }
                2 => {
                    wl_outbound_track(outbound, input.span(), null_mut());
                }
                3 => {
                    let message = self.message(input);
                    let status = wl_outbound_settle(outbound, &message, &mut value);
                    self.counts.settled += u64::from(status == wl_status::Ok);
                }
                4 => {
                    wl_outbound_withdraw(outbound, input.span(), &mut value);
                    self.sum += wl_outbound_in_flight(outbound) as u64;
                }
                _ => {
                    unsafe extern "C" fn each(sum: *mut c_void, id: wl_span, _: *mut c_void) {
                        // SAFETY: `sum` is what was given below.
                        unsafe { *sum.cast::<u64>() += id.len as u64 };
                    }
                    let mut sum = 0_u64;
                    wl_outbound_drain(outbound, Some(each), (&raw mut sum).cast());
                    self.sum += sum;
                    if input.below(4) == 0 && !outbound.is_null() {
                        self.outbounds.retain(|&other| other != outbound);
                        wl_outbound_free(outbound);
                    }
                }
            }
        }
    }

    unsafe fn free(&mut self) {
        // SAFETY: none has been freed, and none is used any more.
        unsafe {
            self.decoders.drain(..).for_each(|it| wl_decoder_free(it.decoder));
            self.frames.drain(..).for_each(|it| wl_frame_free(it.frame));
            self.encoders.drain(..).for_each(|(encoder, _)| wl_encoder_free(encoder));
            self.inbounds.drain(..).for_each(|it| wl_inbound_free(it));
            self.tickets.drain(..).for_each(|it| wl_ticket_free(it));
            self.answers.drain(..).for_each(|it| wl_answer_free(it));
            self.outbounds.drain(..).for_each(|it| wl_outbound_free(it));
        }
    }
}
