
// The scales of the timeline: where a time is, in percent of the width.

/** The scales to choose from. The first is the one that the page opens with. */
const SCALES = [
  ["compressed", "compressed", "Long calls and pauses take less room, so that short calls can be told apart"],
  ["linear", "linear", "The calls in sight, true to time"],
  ["session", "whole session", "The whole session, true to time"],
];

/** The room at both ends, in percent. */
const SCALE_MARGIN = 2;

const withMargins = (fraction) => SCALE_MARGIN + fraction * (100 - 2 * SCALE_MARGIN);

class LinearScale {
  constructor(from, to) {
    this.from = from;
    this.to = Math.max(to, from + 1);
  }

  position(time) {
    return withMargins((time - this.from) / (this.to - this.from));
  }

  /** Round times, about `count` of them, and the step between them. */
  ticks(count) {
    const rough = Math.max((this.to - this.from) / count, 1);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
    const times = [];
    for (let time = Math.ceil(this.from / step) * step; time < this.to && times.length < 2 * count; time += step) times.push(time);
    return { times, step };
  }
}

/**
 * Between two events the width grows with the logarithm of the time while a call is pending, and little while none is. So
 * one slow call, or a long pause, does not flatten the calls beside it.
 */
class CompressedScale {
  /** `spans` are pairs of start and end. */
  constructor(spans) {
    this.starts = spans.map(([start]) => start).sort((a, b) => a - b);
    const changes = new Map();
    const change = (time, by) => changes.set(time, (changes.get(time) ?? 0) + by);
    for (const [start, end] of spans) {
      change(start, 1);
      change(end, -1);
    }
    this.times = [...changes.keys()].sort((a, b) => a - b);
    let pending = 0;
    const gaps = this.times.slice(1).map((time, at) => {
      pending += changes.get(this.times[at]);
      return { length: time - this.times[at], isPause: pending === 0 };
    });
    const busy = gaps.filter(({ isPause }) => !isPause).map(({ length }) => length);
    const unit = quantile(busy.sort((a, b) => a - b), 0.25) ?? 1;
    let place = 0;
    /** For each of the times, how far it is from the first. */
    this.places = [0];
    for (const { length, isPause } of gaps) {
      const weight = Math.log2(1 + length / unit);
      place += isPause ? Math.min(weight, 0.5) : weight;
      this.places.push(place);
    }
  }

  position(time) {
    const { times, places } = this;
    if (!(time >= times[0])) return 0;
    const next = times.findIndex((later) => later > time);
    if (next < 0) return time > times.at(-1) ? 100 : withMargins(1);
    const fraction = (time - times[next - 1]) / (times[next] - times[next - 1]);
    return withMargins((places[next - 1] + fraction * (places[next] - places[next - 1])) / places.at(-1));
  }

  /** When calls start, at most `count` of them, and the shortest time between two of them. */
  ticks(count) {
    const times = [];
    for (const time of this.starts) {
      if (times.length === 0 || this.position(time) - this.position(times.at(-1)) >= 100 / count) times.push(time);
    }
    const step = Math.min(1e6, ...times.slice(1).map((time, at) => time - times[at]));
    return { times, step };
  }
}
