// The engine of a page: it simulates a mechanism by the WebAssembly and the description that linkwork writes.
//
//   const engine = await Engine.from({ ...description, module });   // bytes, or base64 of gzip
//   engine.set("l1", 0.8);
//   const motion = engine.run();                                    // a Motion, or a Failure with its `code`
//
// All that is computed along a motion is computed by the module, the machine code of `linkwork run`: here its memory is
// filled and read. Numbers are SI. A row of the module is (t, q, v, a, lam), see `columns` of the description.

import { Course } from "./course.js";
import { AROUND, EVENT, MOST_TICKS, NOT_PROJECTED, REACHED, SOFT, SPENT, STOPPED, TOO_SMALL, UNSUITED, solve, spacing, turned } from "./numbers.js";
import { Play } from "./play.js";

/** @typedef {[number, number, number]} Vec */
/** What can be changed, and the range of a slider.
 * @typedef {{name: string, kind: "parameter" | "number" | "position" | "velocity", place: number, value: number,
 *   low: number, high: number, unit: string, moves?: boolean}} Parameter */
/** Why something cannot be: a sentence, and the joint that stays open by this gap.
 * @typedef {{code: string, text: string, joint?: string, gap?: number, unit?: string, t?: number}} Failure */
/** @typedef {{name: string, unit: string, kind: string, readonly values: Float64Array<ArrayBufferLike>}} Quantity */
/** @typedef {{status: "finished" | "stopped" | "running", reason: string, t: Float64Array, rows: number,
 *   poses: Float32Array, quantities: Quantity[], events: [string, number][], steps: number, rejected: number,
 *   evaluations: number, error: {position: number, velocity: number}, drift: number, turnedOver: number,
 *   doubtful: boolean, milliseconds: number}} Motion */
/** What linkwork writes; all but these is for the engine alone.
 * @typedef {{module: string | BufferSource, name: string, analysis: string, bodies: string[],
 *   parameters: Parameter[], [key: string]: any}} Live */
/** @typedef {{q: number[], v: number[]}} State */
/** (t, y) on either side of a moment, the sides of zero on which events are since, and what they have changed by then.
 * @typedef {{before: {t: number, y: number[]}, after: {t: number, y: number[]}, sides: number[], held: number[]}} Moment */
/** A row of velocities, and by how much it changes. @typedef {{rows: Float64Array[], gaps: number[], holds: number[], resets: number[], rate: number}} Jump */

const CLOSED = 1e-11, ROUNDING = 2 ** -46, HALF_THE_DIGITS = 2 ** -26, AGREEMENT = 1e-9; // as in tolerances.py
const DOUBTFUL = 0.01; // of the energy turned over, as LIMIT in judgement.py: a balance that is off by more is told
const ACCUMULATED = 1e-11; // of the largest energy, as in judgement.py: what rounding explains
const SMALL = 0.05; // of the scale of a row, as in closing.py: a start no further off closes where it stands
const REACH = 0.5; // radians, or of the length of the mechanism: a start that moves further is reached in parts
const LEAST_PART = 1 / 64; // of the way from a start that is closed to one that is asked for
const ITERATIONS = 60, DAMPED = 200; // of Newton's iteration, and of the search for the least gap
const BUDGET = 2000n; // attempted steps between two looks at the clock
const OUT_OF_REACH = 0.05; // of a row that pulls a point: it yields where joints do not
const MOST_ZEROS = 100000; // of functions of time, as in enclosing.py
/** @type {Record<number, string>} */
const ENDS = {
  3: "the motion is stiff and needs another method: run it with linkwork",
  4: "no step is small enough: a singular position, or a force without a finite value",
  5: "the state, or an acceleration, is not finite",
  6: "the constraints cannot be kept here",
  7: "too many steps",
  8: "a law switches back and forth without end",
  9: "an event has no value",
  10: "what happened cannot be",
};

/** @param {string} text @returns {Promise<ArrayBuffer>} */
async function unpack(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

export class Engine {
  /** @param {Live} live @returns {Promise<Engine>} */
  static async from(live) {
    const bytes = typeof live.module === "string" ? await unpack(live.module) : live.module;
    const { instance } = await WebAssembly.instantiate(bytes); // which imports nothing
    return new Engine(instance, live);
  }

  /** @param {WebAssembly.Instance} instance @param {Live} live */
  constructor(instance, live) {
    this.live = live;
    this.code = /** @type {Record<string, Function>} */ (/** @type {unknown} */ (instance.exports));
    this.memory = /** @type {WebAssembly.Memory} */ (instance.exports.memory);
    /** @type {Parameter[]} */
    this.parameters = live.parameters;
    this.byName = new Map(this.parameters.map((x) => [x.name, x]));
    this.end = live.heap;
    const { n_q, n_v, m, n_report, n_rows, closing, held } = live;
    this.course = live.jumping ? new Course(this, live.jumping) : null;
    this.form = 0; // which method the motion goes by: that with which it begins, or that for stiff ones
    const count = this.at("times").length + 1;
    this.width = 1 + n_q + 2 * n_v + m;
    /** @type {Record<string, [number, number]>} */
    this.own = {};
    const sizes = {
      scratch: live.scratch, state: 1 + n_rows, projected: live.n_projected, rows: count * n_rows, x: count * this.width,
      qd: count * n_q, held: count * held.length, outputs: count * n_report, measured: 4 * count,
      extremes: 2 * this.width, made: n_q + n_v + Math.max(closing.n_q + closing.n_v, closing.sides.length), argument: 1 + closing.n_q + 2 * closing.n_v,
      found: Math.max(2 * closing.m, closing.n_outputs, closing.n_q, live.sampled.length), t: 2,
      asked: 1 + n_rows, ...live.jumping?.sizes,
      zeros: live.arrays.tape ? MOST_ZEROS : 0, ends: 2 * (live.knots.length + MOST_TICKS * live.periods.length + (live.arrays.tape ? MOST_ZEROS : 0)),
    };
    for (const [name, size] of Object.entries(sizes)) this.own[name] = this.allocate(size);
    const room = Math.ceil((this.end - this.memory.buffer.byteLength) / 65536);
    if (room > 0) this.memory.grow(room);
    this.numbers = new Float64Array(this.memory.buffer);
    this.integers = new BigInt64Array(this.memory.buffer);
    this.first = this.numbers.slice(0, live.heap / 8);
    this.stated = this.state_stated();
    /** Where the start was closed last. @type {State} */
    this.home = this.nominal();
    /** From where, and with what values, starts are reached: as linkwork wrote it, or a hand or another mode put it. */
    this.base = this.nominal();
    /** Start values that are asked for, by their places. */
    this.fixed = { position: new Map(), velocity: new Map() };
    this.changed = false;
    this.first_held = Float64Array.from(live.held_first);
    /** @type {State | Failure | null} */
    this.closed = null;
    this.milliseconds = 0;
  }

  nominal() {
    const { closing, arrays } = this.live;
    const [address, count] = arrays.values;
    const values = this.first.slice(address / 8, address / 8 + count);
    return { values, q: [...closing.q], v: [...closing.v], stated: this.stated, is_written: true };
  }

  /** @param {number} count @returns {[number, number]} */
  allocate(count) {
    const address = this.end;
    this.end += 8 * Math.ceil(count / 8) * 8 + 64;
    return [address, count];
  }

  /** The numbers of an array by its name. @param {string} name @returns {Float64Array} */
  at(name) {
    const [address, count] = this.live.arrays[name] ?? this.own[name];
    return (this.numbers ?? new Float64Array(this.memory.buffer)).subarray(address / 8, address / 8 + count);
  }

  /** The name of an array of the method by which the motion goes. @param {string} name */
  now(name) {
    return this.form ? `${name}_stiff` : name;
  }

  /** Its address. @param {string} name @returns {number} */
  to(name) {
    return (this.live.arrays[name] ?? this.own[name])[0];
  }

  /** An integer in the memory of the run. @param {string} name */
  told(name) {
    return Number(this.integers[this.to(this.now("m")) / 8 + this.live.forms[this.form][name]]);
  }

  /** @param {string} name @param {number} value */
  tell(name, value) {
    this.integers[this.to(this.now("m")) / 8 + this.live.forms[this.form][name]] = BigInt(value);
  }

  /** Where numbers of the run stand. @param {string} name */
  where(name) {
    return this.to(this.now("m")) / 8 + this.live.forms[this.form][name];
  }

  // -- values ---------------------------------------------------------------------------------------------------------

  /** @param {string} name @returns {Parameter} */
  find(name) {
    const found = this.byName.get(name);
    if (!found) throw new Error(`no parameter '${name}'`);
    return found;
  }

  /** @param {string} name @returns {number} */
  get(name) {
    const { kind, place } = this.find(name);
    if (kind === "parameter" || kind === "number") return this.at("values")[place];
    return this.fixed[kind].get(place) ?? (kind === "position" ? this.home.q : this.home.v)[place];
  }

  /** @param {string} name @param {number} value */
  set(name, value) {
    const { kind, place } = this.find(name);
    if (!Number.isFinite(value)) throw new Error(`'${name}' is to be a number`);
    if (kind === "parameter" || kind === "number") this.at("values")[place] = value;
    else this.fixed[kind].set(place, value);
    this.changed = true;
    this.closed = null;
  }

  /** All as linkwork wrote it. */
  reset() {
    this.numbers.set(this.first);
    this.fixed = { position: new Map(), velocity: new Map() };
    this.home = this.base = this.nominal();
    this.changed = false;
    this.closed = null;
  }

  /** p by the values of now, for each method. */
  prepare() {
    const values = this.at("values");
    this.live.forms.forEach((/** @type {any} */ form, /** @type {number} */ k) => {
      const mark = k ? "_stiff" : "";
      for (const [given, names] of [["given", ["p", "full"]], ["given_exact", ["exact"]]]) {
        this.at(given + mark).set(values);
        for (const name of names) {
          const from = this.to(given + mark);
          this.code[`prepare${mark}`](from, from, this.to(name + mark) + 8 * form.first_of_parameters, this.to("scratch"));
          this.at(name + mark).set(this.held_first(), form.held);
        }
      }
    });
  }

  /** What events change, as the motion begins. */
  held_first() {
    return Float64Array.from(this.live.held, (/** @type {number} */ k) => this.at("values")[k]);
  }

  // -- the start ------------------------------------------------------------------------------------------------------

  /** What the values of now state of the start. @returns {State} */
  state_stated() {
    const { n_q, n_v, closing } = this.live;
    this.code.start(this.to("values"), this.to("values"), this.to("made"), this.to("scratch"));
    const first = closing.joined ? n_q + n_v : 0;
    const made = this.at("made");
    const q = [...made.subarray(first, first + closing.n_q)];
    return { q, v: [...made.subarray(first + closing.n_q, first + closing.n_q + closing.n_v)] };
  }

  /** What a program of the closing makes of numbers. @param {string} name @param {number[]} x @param {number} count */
  local(name, x, count) {
    this.at("argument").set(x);
    this.code[name](this.to("argument"), this.to("values"), this.to("found"), this.to("scratch"));
    return this.at("found").slice(0, count);
  }

  /** Psi and Psi_dot. @param {State} at */
  gaps({ q, v }) {
    return this.local("constraints", [0, ...q, ...v], 2 * this.live.closing.m);
  }

  /** Psi_q W^-1/2 by rows, without columns that are kept, and W^-1/2, by masses or, without them, by sizes.
   * @param {number[]} q @param {Set<number>} kept @param {boolean} bySize */
  jacobian(q, kept, bySize) {
    const { n_v, m, rows, mass, v_scale, row_scale, n_outputs } = this.live.closing;
    const entries = this.local("linear", [0, ...q], n_outputs);
    const root = new Float64Array(n_v);
    for (let k = 0; k < n_v; k++) root[k] = kept.has(k) ? 0 : mass.length && !bySize ? 1 / Math.sqrt(entries[mass[k]]) : v_scale[k];
    const J = new Float64Array(m * n_v);
    for (let e = 0; e < rows[0].length; e++) {
      const [i, j] = [rows[0][e], rows[1][e]];
      J[i * n_v + j] = (entries[e] * root[j]) / row_scale[i];
    }
    return { J, root };
  }

  /** The least change along W^-1/2 by which rows J make up for gaps. @param {Float64Array} J @param {Float64Array} root
   * @param {ArrayLike<number>} gaps @param {(i: number, size: number) => number} soften */
  least(J, root, gaps, soften) {
    const n = root.length;
    const m = gaps.length;
    const A = new Float64Array(m * m);
    for (let i = 0; i < m; i++) {
      for (let j = 0; j <= i; j++) {
        let s = 0;
        for (let k = 0; k < n; k++) s += J[i * n + k] * J[j * n + k];
        A[i * m + j] = A[j * m + i] = s;
      }
    }
    let size = 0;
    for (let i = 0; i < m; i++) size = Math.max(size, A[i * m + i]);
    const lam = solve(A, gaps, m, Array.from(gaps, (_, i) => soften(i, size) + 1e-300));
    const dx = new Float64Array(n);
    for (let i = 0; i < m; i++) for (let k = 0; k < n; k++) dx[k] -= J[i * n + k] * lam[i];
    for (let k = 0; k < n; k++) dx[k] *= root[k];
    return dx;
  }

  /** @param {number[]} q @param {ArrayLike<number>} dx @returns {number[]} */
  moved(q, dx) {
    return [...this.local("retract", [...q, ...Array.from(dx)], q.length)];
  }

  /** Psi by the scales of its rows, and the largest. @param {number[]} q */
  scaled(q) {
    const { m, n_v, row_scale } = this.live.closing;
    const gaps = this.gaps({ q, v: new Array(n_v).fill(0) }).slice(0, m);
    let gap = 0;
    for (let i = 0; i < m; i++) {
      gaps[i] /= row_scale[i];
      gap = Math.abs(gaps[i]) <= gap ? gap : Math.abs(gaps[i]);
    }
    return { gaps, gap };
  }

  /** q moved by least changes until the joints are closed, or as far as that goes, and its gap.
   * @param {number[]} q @param {Set<number>} kept */
  approach(q, kept) {
    let { gaps, gap } = this.scaled(q);
    if (gap <= CLOSED) return { q, gap };
    for (let k = 0; k < ITERATIONS; k++) {
      const { J, root } = this.jacobian(q, kept, kept.size > 0);
      const trial = this.moved(q, this.least(J, root, gaps, (_, size) => SOFT * size));
      const now = this.scaled(trial);
      if (!(now.gap < gap)) break;
      const falls = now.gap < 0.5 * gap;
      [q, gaps, gap] = [trial, now.gaps, now.gap];
      if (gap <= ROUNDING || (gap <= CLOSED && !falls)) break;
    }
    return { q, gap };
  }

  /** The least gap near q, by the method of Levenberg and Marquardt. @param {number[]} q @param {Set<number>} kept */
  least_gap(q, kept) {
    let mu = 1e-4;
    let { gaps, gap } = this.scaled(q);
    const norm = (/** @type {Float64Array} */ x) => x.reduce((s, y) => s + y * y, 0);
    for (let k = 0; k < DAMPED && gap > ROUNDING; k++) {
      const { J, root } = this.jacobian(q, kept, true);
      const trial = this.moved(q, this.least(J, root, gaps, (_, size) => mu * size));
      const now = this.scaled(trial);
      if (norm(now.gaps) < norm(gaps)) {
        const done = norm(now.gaps) > (1 - AGREEMENT) * norm(gaps);
        [q, gaps, gap, mu] = [trial, now.gaps, now.gap, Math.max(mu / 5, 1e-9)];
        if (done) break;
      } else mu *= 4;
      if (mu > 1e9) break;
    }
    return { q, gaps, gap };
  }

  /** The start that the values of now ask for, closed on the branch where it is. @returns {State | Failure} */
  close() {
    if (this.closed) return this.closed;
    const found = this.reach();
    this.closed = found;
    return found;
  }

  /** It depends on the values and on what hands have put elsewhere, not on the way by which sliders came there: one
   * that is stated and nearly closed is closed where it stands, as `linkwork run` does it; others are followed from
   * `base`, which keeps the branch. @returns {State | Failure} */
  reach() {
    const { closing } = this.live;
    const values = this.at("values");
    const wanted = values.slice();
    if (wanted.some((x) => !Number.isFinite(x))) return { code: "bad-value", text: "a value is no number" };
    const kept = new Set([...this.fixed.position.keys()].map((k) => closing.rates[k])); // their rates are zero
    const { base } = this;
    const norm = (/** @type {number[]} */ q) => this.moved(q, new Array(closing.n_v).fill(0));
    let [q, done, part] = [base.q, 0, 1];
    let before = base.stated;
    const { q: asked, v: rates } = this.state_stated();
    for (const [k, x] of this.fixed.position) asked[k] = x;
    if (base.is_written && this.scaled(asked).gap <= SMALL) {
      const found = this.approach(closing.n_q > closing.n_v ? norm(asked) : asked, kept);
      if (found.gap <= HALF_THE_DIGITS) [q, done] = [found.q, 1];
    }
    for (let tries = 0; done < 1 && tries < 400; tries++) {
      const next = Math.min(1, done + part);
      for (let k = 0; k < wanted.length; k++) values[k] = next === 1 ? wanted[k] : base.values[k] + next * (wanted[k] - base.values[k]);
      const stated = this.state_stated();
      const guess = q.map((x, k) => x + stated.q[k] - before.q[k]);
      for (const [k, x] of this.fixed.position) guess[k] = base.q[k] + next * (x - base.q[k]);
      const from = closing.n_q > closing.n_v ? norm(guess) : guess;
      const found = this.approach(from, kept);
      const way = Math.max(0, ...found.q.map((x, k) => Math.abs(x - from[k]) / closing.q_scale[k]));
      if (found.gap <= HALF_THE_DIGITS && way <= REACH) {
        [q, done, before] = [found.q, next, stated];
        part = Math.min(1, 2 * part);
      } else if (part > LEAST_PART) part /= 2;
      else break;
    }
    values.set(wanted);
    if (done < 1) return this.describe_gap(q.map((x, k) => this.fixed.position.get(k) ?? x), kept);
    const v = this.aligned(q, rates);
    if ("code" in v) return v;
    this.home = { q, v: v.v };
    return this.home;
  }

  /** @param {number[]} q @param {Set<number>} kept @returns {Failure} */
  describe_gap(q, kept) {
    const { elements, units, row_scale } = this.live.closing;
    const { gaps, gap } = this.least_gap(q, kept);
    if (!(gap > CLOSED)) {
      if (kept.size) return { code: "cannot-close", text: "the joints close there, but on no way from where they are" };
      return { code: "no-start", text: "these values leave no start: a mass, a length or a direction has vanished" };
    }
    let worst = 0;
    gaps.forEach((x, i) => {
      if (!(Math.abs(x) <= Math.abs(gaps[worst]))) worst = i;
    });
    const joint = elements[worst];
    const unit = units[worst];
    let open = 0;
    gaps.forEach((x, i) => {
      if (elements[i] === joint && units[i] === unit) open = Math.hypot(open, x * row_scale[i]);
    });
    const text = `the joints cannot close: '${joint}' stays open by ${open.toPrecision(3)} ${unit}`;
    return { code: "cannot-close", text, joint, gap: open, unit };
  }

  /** Velocities that the joints allow: all of them changed least, or, if that changes a stated one by more than a
   * little, those that are stated kept; of those that contradict each other the first. @param {number[]} q @param {number[]} stated @returns {{v: number[]} | Failure} */
  aligned(q, stated) {
    const { n_v, m, v_scale, row_scale, given, owners, small } = this.live.closing;
    const v = [...stated];
    for (const [k, x] of this.fixed.velocity) v[k] = x;
    const asked = v.map((x, k) => this.fixed.velocity.has(k) || (given[k] && x !== 0) || (this.stated.v[k] === 0 && x !== 0));
    const speed = (/** @type {number[]} */ v) => Math.max(0, ...v.map((x, k) => Math.abs(x) / v_scale[k]));
    const rate = (/** @type {number[]} */ v) => {
      const gaps = this.gaps({ q, v }).slice(m);
      for (let i = 0; i < m; i++) gaps[i] /= row_scale[i];
      return { gaps, rate: Math.max(0, ...gaps.map(Math.abs)) };
    };
    const change = (/** @type {Set<number>} */ kept) => {
      let now = [...v];
      let at = rate(now);
      const drive = Math.max(speed(v), rate(new Array(n_v).fill(0)).rate);
      const { J, root } = this.jacobian(q, kept, kept.size > 0);
      for (let k = 0; k < 3 && at.rate > CLOSED * Math.max(drive, speed(now)); k++) {
        const dv = this.least(J, root, at.gaps, (_, size) => SOFT * size);
        now = now.map((x, i) => x + dv[i]);
        at = rate(now);
      }
      return at.rate <= AGREEMENT * Math.max(drive, speed(now)) || drive === 0 ? now : null;
    };
    const kept = new Set([...this.fixed.velocity.keys()]);
    const found = change(kept);
    /** @type {Map<string, number>} */
    const fastest = new Map();
    asked.forEach((is, k) => {
      const key = owners[k].join(" ");
      if (is) fastest.set(key, Math.max(fastest.get(key) ?? 0, Math.abs(v[k])));
    });
    const fits = found?.every((x, k) => {
      const by = fastest.get(owners[k].join(" ")) ?? 0;
      return by === 0 || Math.abs(x - v[k]) <= small * by;
    });
    if (found && (fits || this.live.analysis === "kinematics")) return { v: found };
    let other = change(new Set([...kept, ...asked.flatMap((is, k) => (is ? [k] : []))]));
    if (!other && found) {
      other = found;
      asked.forEach((is, k) => {
        if (!is || kept.has(k)) return; // one after the other, those that contradict the first left out
        const now = change(new Set([...kept, k]));
        if (!now) return;
        kept.add(k);
        other = now;
      });
    }
    if (other) return { v: other };
    return { code: "velocities-conflict", text: "the joints do not allow these velocities at the start" };
  }

  /** The memory of a run as it begins, from the start of now. @returns {Failure | null} */
  begin() {
    const { live } = this;
    const values = this.at("values").slice();
    this.form = 0;
    for (const name of ["m", "own", "look", "clocks"].flatMap((name) => [name, `${name}_stiff`])) {
      if (!live.arrays[name]) continue;
      const [address, count] = live.arrays[name];
      this.numbers.set(this.first.subarray(address / 8, address / 8 + count), address / 8);
    }
    this.at("values").set(values);
    /** @type {[number, string, number][]} */
    this.happened = [];
    if (live.jumping) this.course = new Course(this, live.jumping);
    /** @type {{t: number, held: Float64Array<ArrayBuffer>}[]} */
    this.held = [];
    this.status = SPENT;
    this.milliseconds = 0;
    this.prepare();
    this.stop_at();
    this.first_held = Float64Array.from(live.held_first);
    if (!this.changed) {
      this.keep_held(this.first_held);
      return null;
    }
    const start = this.close();
    if ("code" in start) return start;
    const own = this.joined(start);
    const state = this.at("state").fill(0);
    state.set(own, 1);
    this.code.project(this.to("state"), this.to("full"), this.to("projected"), this.to("scratch"));
    const projected = this.at("projected").subarray(0, live.n_rows);
    if (!projected.every(Number.isFinite)) return { code: "cannot-close", text: ENDS[NOT_PROJECTED] };
    let y = [...projected];
    if (this.course) y = this.course.begin_with(y);
    if (live.periods.length) this.sample(y);
    if (this.course) y = this.course.pass_others(this.numbers[this.where("x")], y);
    this.first_held = Float64Array.from(this.held_by("full"));
    this.numbers.set(y, this.where("x") + 1);
    if (!this.course?.stopped) return null;
    return { code: "impossible-event", text: this.course.stopped };
  }

  /** What events and clocks change, as it stands in the parameters of the loop, p, or of the evaluation, full.
   * @param {"p" | "full"} name */
  held_by(name) {
    const { held } = this.live.forms[this.form];
    return this.at(this.now(name)).slice(held, held + this.live.held.length);
  }

  /** The first values of what is sampled. @param {number[]} y */
  sample(y) {
    const { n, sampled } = this.live;
    this.at("asked").set([this.numbers[this.where("x")], ...y.slice(0, n)]);
    this.code.samples(this.to("asked"), this.to(this.now("full")), this.to("found"), this.to("scratch"));
    const held = this.held_by("full");
    sampled.forEach((/** @type {number} */ place, /** @type {number} */ k) => {
      held[place] = this.at("found")[k];
    });
    this.keep_held(held);
  }

  /** What was sampled, since the last time. */
  take_samples() {
    const { clocks } = this.live.forms[this.form];
    if (!clocks || !this.held) return;
    const at = this.to(this.now("clocks")) / 8;
    const [count, width] = [Number(this.integers[at + clocks.n_noted]), 1 + this.live.held.length];
    for (let k = 0; k < count; k++) {
      const first = at + clocks.noted + k * width;
      this.held.push({ t: this.numbers[first], held: this.numbers.slice(first + 1, first + width) });
    }
    this.integers[at + clocks.n_noted] = 0n;
    this.tell("is_full", 0);
    this.held.sort((a, b) => a.t - b.t);
  }

  /** What events change has these values from now on. @param {ArrayLike<number>} values */
  keep_held(values) {
    const { held } = this.live.forms[this.form];
    for (const name of ["p", "full"]) this.at(this.now(name)).set(values, held);
  }

  /** Where laws of time switch with the values of now, steps end: just before and behind. */
  stop_at() {
    const { knots, arrays } = this.live;
    if (!arrays.tape) return;
    const t_end = this.at("times")[this.at("times").length - 1];
    const count = Number(this.code.find_zeros(this.to("tape"), this.to("values"), t_end, this.to("zeros")));
    const first = spacing(t_end);
    const zeros = [...this.at("zeros").subarray(0, count)].filter((t) => t < t_end).map((t) => (t > first ? t : 0));
    const stops = [...new Set([...zeros, ...knots])].sort((a, b) => a - b);
    this.at("ends").set(stops.flatMap((t) => [t - AROUND * spacing(t), t + AROUND * spacing(t)]));
    this.tell("n_stops", stops.length);
    this.tell("stop", stops.filter((t) => t - AROUND * spacing(t) <= 0).length);
    this.numbers[this.where("x")] = stops[0] === 0 ? AROUND * spacing(0) : 0;
  }

  /** Go on by the other method, from the same state. */
  exchange() {
    const { forms, n_rows } = this.live;
    const [m, values, from] = [this.to(this.now("m")) / 8, this.held_by("p"), forms[this.form]];
    this.form = 1 - this.form;
    const [into, m2] = [forms[this.form], this.to(this.now("m")) / 8];
    for (const name of ["m", "own", "look", "clocks"]) {
      const [address, count] = this.live.arrays[this.now(name)] ?? [0, 0];
      this.numbers.set(this.first.subarray(address / 8, address / 8 + count), address / 8);
    }
    this.numbers.copyWithin(m2 + into.kept[0], m + from.kept[0], m + from.kept[1]);
    this.numbers.copyWithin(m2 + into.x, m + from.x, m + from.x + 1 + n_rows);
    for (const name of ["grazes", "signs"]) this.numbers.copyWithin(m2 + into[name], m + from[name], m + from[name] + from.n_watched);
    this.keep_held(values);
    if (into.clocks) {
      const ticks = this.to(this.form ? "clocks" : "clocks_stiff") / 8 + from.clocks.ticks;
      this.numbers.copyWithin(this.to(this.now("clocks")) / 8 + into.clocks.ticks, ticks, ticks + this.live.periods.length);
    }
    this.tell("signed", 1);
    this.numbers[m2 + into.next_step] = 0;
  }

  /** q and v of the motion of those of the closing; loops that are triangles are closed on its sides. @param {State} at */
  joined({ q, v }) {
    const { n_q, n_v, closing } = this.live;
    if (!closing.joined) return [...q, ...v];
    this.at("argument").set([...q, ...v]);
    this.code.joined(this.to("argument"), this.to("values"), this.to("made"), this.to("scratch"));
    const made = this.at("made");
    closing.sides.forEach((/** @type {number} */ place, /** @type {number} */ k) => {
      this.at("values")[place] = Math.sign(made[n_q + n_v + k]);
    });
    if (closing.sides.length) this.prepare();
    return [...made.subarray(0, n_q + n_v)];
  }

  /** Seven numbers for each body, the ground first. @returns {Float32Array | Failure} */
  pose() {
    const start = this.changed ? this.close() : this.home;
    return "code" in start ? start : this.posed(start.q);
  }

  /** @param {ArrayLike<number>} q of the closing */
  posed(q) {
    const { bodies } = this.live.closing;
    const out = new Float32Array(7 * (bodies.length + 1));
    out[3] = 1;
    bodies.forEach((/** @type {number} */ k, /** @type {number} */ b) => {
      const o = 7 * (b + 1);
      if (this.live.space === "planar") {
        out.set([q[k], q[k + 1], 0, Math.cos(q[k + 2] / 2), 0, 0, Math.sin(q[k + 2] / 2)], o);
      } else for (let c = 0; c < 7; c++) out[o + c] = q[k + c];
    });
    return out;
  }

  /** The start moved so that point s of a body comes as near to a place as the joints allow.
   * @param {number} body counted from the ground, which is 0 @param {Vec} s @param {Vec} to
   * @returns {Float32Array | Failure} */
  drag(body, s, to) {
    const start = this.changed ? this.close() : this.home;
    if ("code" in start) return start;
    if (body === 0 || this.live.analysis === "kinematics") return this.posed(start.q);
    const { n_v, m, bodies, columns } = this.live.closing;
    const d = this.live.space === "planar" ? 2 : 3;
    let { q } = start;
    for (let k = 0; k < 8; k++) {
      const { J, root } = this.jacobian(q, new Set(), true);
      const { gaps } = this.scaled(q);
      const all = new Float64Array((m + d) * n_v);
      all.set(J);
      const off = new Float64Array(m + d);
      off.set(gaps);
      const P = this.place(q, bodies[body - 1], s);
      for (let c = 0; c < d; c++) {
        off[m + c] = P.at[c] - to[c];
        P.by[c].forEach((x, i) => {
          const j = columns[body - 1] + i;
          all[(m + c) * n_v + j] = x * root[j];
        });
      }
      const dx = this.least(all, root, off, (i, size) => (i < m ? SOFT : OUT_OF_REACH) * size);
      const longest = Math.max(...dx.map((x, i) => Math.abs(x) / (REACH * root[i])));
      q = this.moved(q, dx.map((x) => x / Math.max(1, longest)));
    }
    const found = this.approach(q, new Set());
    if (!(found.gap <= HALF_THE_DIGITS)) return this.posed(start.q);
    const v = this.aligned(found.q, this.state_stated().v);
    if ("code" in v) return v;
    this.settle({ q: found.q, v: v.v });
    this.fixed.position.clear();
    this.changed = true;
    this.closed = this.home;
    return this.posed(found.q);
  }

  /** Starts with other values are reached from this one from now on. @param {State} start */
  settle(start) {
    this.home = start;
    this.base = { ...start, values: this.at("values").slice(), stated: this.state_stated(), is_written: false };
  }

  /** How many ways there are known to put it together. */
  get modes() {
    return this.live.closing.modes.length;
  }

  /** The start put together in another way, the coordinates that fix its freedoms as they are.
   * @param {number} k @returns {Failure | null} */
  assemble(k) {
    const { modes, kept } = this.live.closing;
    const [home, base, { position }, changed] = [this.home, this.base, this.fixed, this.changed];
    const start = changed ? this.close() : home;
    const asked = "code" in start ? [] : kept.map((/** @type {number} */ i) => [i, start.q[i]]);
    this.base = { ...this.nominal(), q: [...modes[k]], is_written: false };
    this.fixed.position = new Map(asked);
    this.changed = true;
    this.closed = null;
    const found = this.close();
    if (!("code" in found)) {
      this.settle(found);
      this.fixed.position.clear();
      return null;
    }
    [this.home, this.base, this.fixed.position, this.changed, this.closed] = [home, base, position, changed, null];
    return found;
  }

  /** A point of a body and, by components, how it moves with the velocities of the body.
   * @param {ArrayLike<number>} q @param {number} k @param {ArrayLike<number>} s */
  place(q, k, s) {
    if (this.live.space === "planar") {
      const [c, d] = [Math.cos(q[k + 2]), Math.sin(q[k + 2])];
      const arm = [c * s[0] - d * s[1], d * s[0] + c * s[1]];
      return { at: [q[k] + arm[0], q[k + 1] + arm[1]], by: [[1, 0, -arm[1]], [0, 1, arm[0]]] };
    }
    const [a, x, y, z] = [q[k + 3], q[k + 4], q[k + 5], q[k + 6]];
    const A = [
      [a * a + x * x - y * y - z * z, 2 * (x * y - a * z), 2 * (x * z + a * y)],
      [2 * (x * y + a * z), a * a - x * x + y * y - z * z, 2 * (y * z - a * x)],
      [2 * (x * z - a * y), 2 * (y * z + a * x), a * a - x * x - y * y + z * z],
    ];
    const at = A.map((row, c) => q[k + c] + row[0] * s[0] + row[1] * s[1] + row[2] * s[2]);
    const by = A.map((row, c) => [
      ...[0, 1, 2].map((j) => (j === c ? 1 : 0)),
      row[2] * s[1] - row[1] * s[2], row[0] * s[2] - row[2] * s[0], row[1] * s[0] - row[0] * s[1],
    ]);
    return { at, by };
  }

  // -- the motion -----------------------------------------------------------------------------------------------------

  /** Go on for so long; whether the motion has ended. @param {number} milliseconds */
  advance(milliseconds) {
    const began = performance.now();
    const stops = this.live.arrays.tape ? this.to("ends") : this.to("stops");
    do this.go_on(this.to("times"), stops);
    while (this.status === SPENT && performance.now() - began < milliseconds);
    this.milliseconds += performance.now() - began;
    return this.status !== SPENT;
  }

  /** Some steps towards the last of these times. @param {number} times @param {number} stops */
  go_on(times, stops) {
    const [m, p, own, w] = ["m", "p", "own", "w"].map((name) => this.to(this.now(name)));
    this.status = Number(this.code.advance(m, p, own, w, times, stops, this.to("rows"), BUDGET));
    const held = this.held_by("p");
    const asked = this.take_moments();
    this.take_samples();
    this.keep_held(held); // what was noted is of earlier times
    if (asked && this.course) this.status = this.course.meet(asked);
    if (this.status !== UNSUITED || this.live.forms.length < 2) return;
    this.exchange();
    this.status = SPENT;
  }

  /** Events, and what they changed; the last of them, if it is to be seen what it does. @returns {Moment | null} */
  take_moments() {
    const { n_rows, held, forms } = this.live;
    const run = forms[this.form];
    const count = this.told("n_moments");
    this.tell("n_moments", 0);
    for (let k = 0; k < count; k++) {
      const first = this.where("moments") + k * run.moment;
      const part = (/** @type {number} */ at, /** @type {number} */ n) => [...this.numbers.subarray(first + at, first + at + n)];
      const moment = {
        before: { t: this.numbers[first], y: part(1, n_rows) },
        after: { t: this.numbers[first + run.after], y: part(run.after + 1, n_rows) },
        sides: part(run.sides, run.held_then - run.sides),
        held: part(run.held_then, held.length),
      };
      if (this.status === EVENT && k === count - 1) return moment;
      if (this.course) this.course.pass(moment);
      else for (const i of this.seen(moment)) this.happened?.push([moment.before.t, this.live.events[i].name, moment.sides[i]]);
      this.held?.push({ t: moment.after.t, held: Float64Array.from(moment.held) });
    }
    return null;
  }

  /** Which events happen at a moment. @param {Moment} moment @returns {number[]} */
  seen({ sides }) {
    return sides.flatMap((side, k) => {
      const event = this.live.events[k];
      return event && side && (event.direction === 0 || event.direction === side) ? [k] : [];
    });
  }

  /** The whole motion with the values of now. @returns {Motion | Failure} */
  run() {
    const failure = this.begin();
    if (failure) return failure;
    this.advance(Infinity);
    return this.motion();
  }

  /** Rows of states, evaluated: outputs stand in memory then. @param {ArrayLike<number>} t @param {number} count */
  evaluate(t, count) {
    const { n, n_rows, ny, held } = this.live;
    const n_held = held.length;
    const x = this.at("x");
    const rows = this.at("rows");
    const values = this.at("held");
    let now = this.first_held;
    let next = 0;
    const changes = this.held ?? [];
    for (let k = 0; k < count; k++) {
      x[k * this.width] = t[k];
      x.set(rows.subarray(k * n_rows, k * n_rows + n), k * this.width + 1);
      while (next < changes.length && changes[next].t < t[k]) now = changes[next++].held;
      values.set(now, k * n_held);
    }
    const [N, h] = [BigInt(count), BigInt(n_held)];
    const scratch = this.to("scratch");
    this.code.fill_dynamics(N, BigInt(ny), h, this.to("held"), this.to("full"), this.to("x"), this.to("qd"), scratch);
    this.code.fill_report(N, h, this.to("x"), this.to("held"), this.to("exact"), this.to("outputs"), this.to("measured"), this.to("extremes"), scratch);
  }

  /** What is known of the motion until now. @returns {Motion} */
  motion() {
    const { n_rows } = this.live;
    let count = this.told("row");
    const times = [...this.at("times").subarray(0, count)];
    const x = this.where("x");
    if ((this.status !== REACHED || this.course?.ended) && this.numbers[x] > (times[count - 1] ?? -Infinity)) {
      times.push(this.numbers[x]); // the last good state
      this.at("rows").set(this.numbers.subarray(x + 1, x + 1 + n_rows), count * n_rows);
      count++;
    }
    const t = Float64Array.from(times);
    this.evaluate(t, count);
    const energy = this.energies(count);
    const residuals = this.where("residuals");
    const measured = this.at("measured");
    const quantities = this.quantities(t, count, energy);
    let [position, velocity] = [this.numbers[residuals + 1], this.numbers[residuals + 2]];
    for (let k = 0; k < count; k++) {
      position = Math.max(position, measured[k]);
      velocity = Math.max(velocity, measured[count + k]);
    }
    const stopped = this.status !== REACHED && this.status !== SPENT;
    const status = this.status === REACHED ? "finished" : stopped ? "stopped" : "running";
    return {
      status,
      reason: stopped ? `${this.why()} (at t = ${t[count - 1].toPrecision(6)} s)` : this.course?.ended ? this.why() : "",
      t,
      rows: count,
      poses: this.poses(quantities, count),
      quantities,
      events: (this.happened ?? []).map(([at, name]) => [name, at]),
      steps: this.told("steps"),
      rejected: this.told("rejected"),
      evaluations: this.told("evaluations"),
      error: { position, velocity },
      drift: energy.worst,
      turnedOver: energy.turnedOver,
      doubtful: energy.worst > DOUBTFUL * energy.turnedOver + ACCUMULATED * energy.largest && this.moves(count),
      milliseconds: this.milliseconds,
    };
  }

  /** Why the motion ended. */
  why() {
    if (this.course?.stopped) return this.course.stopped;
    if (this.course?.ended) return `'${this.course.ended}' ends it`;
    const isLocked = this.live.analysis === "kinematics" && (this.status === TOO_SMALL || this.status === NOT_PROJECTED);
    return isLocked ? "the mechanism locks, or is in a singular position" : ENDS[this.status ?? STOPPED];
  }

  /** Kinetic and potential energy, work dissipated and supplied, and by how much they do not balance.
   * @param {number} count */
  energies(count) {
    const { n, n_rows, n_report } = this.live;
    const [outputs, rows] = [this.at("outputs"), this.at("rows")];
    const forms = Array.from({ length: 5 }, () => new Float64Array(count));
    let worst = 0;
    const [low, high] = [new Array(4).fill(Infinity), new Array(4).fill(-Infinity)];
    for (let k = 0; k < count; k++) {
      const now = [outputs[k * n_report], outputs[k * n_report + 1], rows[k * n_rows + n], rows[k * n_rows + n + 1]];
      now.forEach((x, i) => {
        forms[i][k] = x;
        low[i] = Math.min(low[i], x);
        high[i] = Math.max(high[i], x);
      });
      forms[4][k] = now[0] + now[1] + now[2] - now[3];
    }
    for (let k = count - 1; k >= 0; k--) {
      forms[4][k] -= forms[4][0];
      worst = Math.max(worst, Math.abs(forms[4][k]));
    }
    const turnedOver = Math.max(forms[0][0], ...high.map((x, i) => Math.max(x - forms[i][0], forms[i][0] - low[i])));
    const largest = Math.max(...high, ...low.map((x) => -x));
    return { forms, worst, turnedOver, largest };
  }

  /** Whether velocities are above their tolerances: the energies of a rest are rounding alone. @param {number} count */
  moves(count) {
    const { n_q, n_v, n_rows } = this.live;
    const [rows, atol] = [this.at("rows"), this.where("atol") + n_q];
    for (let k = 0; k < count; k++) {
      for (let i = 0; i < n_v; i++) if (Math.abs(rows[k * n_rows + n_q + i]) > this.numbers[atol + i]) return true;
    }
    return false;
  }

  /** All columns; the numbers of each are taken out of the rows when they are first asked for.
   * @param {Float64Array} t @param {number} count @param {{forms: Float64Array<ArrayBufferLike>[]}} energy @returns {Quantity[]} */
  quantities(t, count, energy) {
    const { columns, n_report } = this.live;
    /** @type {Record<string, [Float64Array, number]>} */
    const tables = {
      x: [this.at("x").slice(0, count * this.width), this.width],
      y: [this.at("outputs").slice(0, count * n_report), n_report],
    };
    const measured = this.at("measured").slice(0, 2 * count);
    const taken = (/** @type {string} */ from, /** @type {number} */ place) => {
      const [rows, width] = tables[from];
      const values = new Float64Array(count);
      for (let k = 0, at = place; k < count; k++, at += width) values[k] = rows[at];
      return values;
    };
    const read = (/** @type {any} */ { from, place, turns }) => {
      if (from === "energy") return energy.forms[place].subarray(0, count);
      if (from === "error") return measured.subarray(place * count, (place + 1) * count);
      const values = taken(from, place);
      return turns ? turned(t, values, taken(from, place + 1)) : values;
    };
    return columns.map((/** @type {any} */ column) => {
      const { name, unit, kind } = column;
      /** @type {Float64Array<ArrayBufferLike> | undefined} */
      let values;
      return {
        name,
        unit,
        kind,
        get values() {
          values ??= read(column);
          return values;
        },
      };
    });
  }

  /** Seven numbers for each body but the ground, row by row. @param {Quantity[]} quantities @param {number} count */
  poses(quantities, count) {
    const { poses, space } = this.live;
    const out = new Float32Array(7 * poses.length * count);
    poses.forEach((/** @type {number[]} */ places, /** @type {number} */ b) => {
      const from = places.map((k) => quantities[k].values);
      for (let k = 0; k < count; k++) {
        const o = 7 * (k * poses.length + b);
        if (space === "planar") {
          const half = from[2][k] / 2;
          out[o] = from[0][k];
          out[o + 1] = from[1][k];
          out[o + 3] = Math.cos(half);
          out[o + 6] = Math.sin(half);
        } else for (let c = 0; c < 7; c++) out[o + c] = from[c][k];
      }
    });
    return out;
  }

  // -- playing on -----------------------------------------------------------------------------------------------------

  /** The motion from the start of now, without an end. @returns {Play | Failure} */
  play() {
    return this.begin() ?? new Play(this);
  }
}
