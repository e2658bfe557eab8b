"use strict";

// Numbers, times and untrusted text, as the page shows them. Text from the recording only ever becomes text nodes.

/** Creates an element with a class, properties and children. */
function element(name, className, ...children) {
  const created = document.createElement(name);
  if (className) created.className = className;
  created.append(...children);
  return created;
}

const byId = (id) => document.getElementById(id);

const integers = new Intl.NumberFormat("en");
const formatCount = (count) => integers.format(count);

/** "1 call", "2 calls". */
const counted = (count, singular, plural = `${singular}s`) => `${formatCount(count)} ${count === 1 ? singular : plural}`;

/** Three significant digits. */
function threeDigits(value) {
  return value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

/** Microseconds as "250 µs", "12.3 ms", "1.25 s". */
function formatDuration(micros) {
  if (micros < 999.5) return `${Math.round(micros)} µs`;
  if (micros < 999500) return `${threeDigits(micros / 1e3)} ms`;
  if (micros < 999.5e6) return `${threeDigits(micros / 1e6)} s`;
  return `${Math.floor(micros / 60e6)} min ${Math.round((micros % 60e6) / 1e6)} s`;
}

/** Bytes as "182 B", "1.23 kB", "34.1 MB". */
function formatBytes(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  const prefixes = ["k", "M", "G", "T"];
  let at = -1;
  do {
    bytes /= 1000;
    at++;
  } while (bytes >= 999.5 && at < prefixes.length - 1);
  return `${threeDigits(bytes)} ${prefixes[at]}B`;
}

/** A time since the start of the session, in seconds, with as many decimals as `step` microseconds need. */
function formatTime(micros, step = 1000) {
  const decimals = Math.max(0, Math.min(6, Math.ceil(6 - Math.log10(Math.max(step, 1)))));
  return (micros / 1e6).toFixed(decimals);
}

// Control and formatting characters, among them those that turn the direction of text, and lone surrogates, some of
// which stand for bytes that are not UTF-8.
const ODD = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/u;
const ODD_ALL = new RegExp(ODD.source, "gu");

/** How an odd character is shown. */
function oddName(character) {
  const code = character.codePointAt(0);
  if (code >= 0xdc80 && code <= 0xdcff) return `0x${(code - 0xdc00).toString(16).toUpperCase()}`;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Untrusted text for places without markup. */
const plain = (text) => text.replace(ODD_ALL, (character) => `⟨${oddName(character)}⟩`);

/** Appends untrusted text with its odd characters marked; line feeds and tabs remain if `keepLines` is set. */
function appendText(parent, text, keepLines = false) {
  if (!ODD.test(text)) {
    parent.append(text);
    return;
  }
  let from = 0;
  for (const { 0: character, index } of text.matchAll(ODD_ALL)) {
    if (keepLines && (character === "\n" || character === "\t")) continue;
    parent.append(text.slice(from, index), element("span", "odd", oddName(character)));
    from = index + character.length;
  }
  parent.append(text.slice(from));
}
