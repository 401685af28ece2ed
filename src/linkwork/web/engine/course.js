// Events in a page: what `Course` in events.py does about them.

/** @import { Engine, Jump, Moment } from "./engine.js" */
import { REACHED, SPENT, STOPPED } from "./numbers.js";

const EPSILON = 2 ** -52, DIFFERENCE = 2 ** -17, NEGLIGIBLE = 2 ** -40, TYPED = 1e-6; // as in tolerances.py
const CLOSE = 1e-7, MOST_CLOSE = 20; // as in events.py: of the time, and how often: events that accumulate

/** What events do that change velocities, joints or states, or end a motion: what `Course` in events.py does. */
export class Course {
  /** @param {Engine} engine @param {any} about */
  constructor(engine, about) {
    this.engine = engine;
    this.about = about;
    this.ended = "";
    this.stopped = "";
    this.changes = false;
    /** Events to be met again, which are no new ones, and until when. @type {Map<string, number>} */
    this.passed = new Map();
    /** Events beyond zero by what others did. @type {[number, number][]} */
    this.jumped = [];
    /** @type {Map<string, number>} */
    this.close = new Map();
    this.last = -Infinity;
  }

  get span() {
    return this.engine.numbers[this.engine.where("t_end")];
  }

  /** What events change, now. */
  get held() {
    return [...this.engine.held_by("full")];
  }

  /** What a program makes of (t, q, v). @param {string} name @param {number} t @param {ArrayLike<number>} y @param {number} count */
  found(name, t, y, count) {
    const { engine } = this;
    const { n } = engine.live;
    engine.at("asked").set([t, ...Array.from(y).slice(0, n)]);
    engine.code[name](engine.to("asked"), engine.to(engine.now("full")), engine.to("answer"), engine.to("scratch"));
    return engine.at("answer").slice(0, count);
  }

  /** What events do at a state. @param {number} t @param {ArrayLike<number>} y @returns {Jump[]} */
  jumps(t, y) {
    const { n_v } = this.engine.live;
    const numbers = this.about.n_jumps ? this.found("jumps", t, y, this.about.n_jumps) : new Float64Array(0);
    let at = 0;
    const next = (/** @type {number} */ count) => numbers.slice(at, (at += count));
    return this.about.events.map((/** @type {any} */ event) => ({
      rows: event.rows.map(() => next(n_v)),
      gaps: [...next(event.rows.length)],
      holds: [...next(event.holds.length)],
      resets: [...next(event.resets.length)],
      rate: next(1)[0] ?? 0,
    }));
  }

  /** Events where the time loop goes on by itself. @param {Moment} moment */
  pass(moment) {
    this.engine.keep_held(moment.held);
    this.note(this.fresh(moment), moment.before.t);
  }

  /** Those that happen at a moment and are no old ones. @param {Moment} moment */
  fresh({ before, after, sides }) {
    return this.engine.seen({ before, after, sides, held: [] }).filter((k) => {
      const key = `${k} ${sides[k]}`;
      const until = this.passed.get(key) ?? -Infinity;
      this.passed.delete(key);
      return before.t > until;
    }).filter((k) => !this.is_held(k, after.t, after.y));
  }

  /** Do what the time loop asks about; how it goes on. @param {Moment} moment */
  meet(moment) {
    const { engine } = this;
    this.changes = false;
    engine.keep_held(moment.held);
    const found = this.fresh(moment);
    const x = engine.where("x");
    let [t, y] = [engine.numbers[x], [...engine.numbers.subarray(x + 1, x + 1 + engine.live.n_rows)]];
    if (found.length) {
      const changed = this.change(found.map((k) => [k, moment.sides[k]]), moment.after, moment.before);
      this.note(found, moment.before.t);
      if (changed) ({ t, y } = changed);
    }
    if (this.changes) {
      y = this.pass_others(t, y);
      engine.held?.push({ t: engine.numbers[x], held: Float64Array.from(this.held) });
    }
    const is_over = this.ended || this.stopped || engine.told("row") === engine.told("n_times");
    if (!is_over && !this.changes) return SPENT;
    engine.numbers[x] = is_over ? engine.numbers[x] : t;
    engine.numbers.set(y, x + 1);
    engine.tell("started", 0);
    engine.tell("signed", 0);
    const { n_watched } = engine.live.forms[engine.form];
    const way = t === moment.after.t ? 1 : -1; // or before them
    const sides = is_over ? [] : moment.sides.slice(0, this.about.events.length).map((side) => way * side);
    engine.numbers.fill(0, engine.where("changed"), engine.where("changed") + n_watched).set(sides, engine.where("changed"));
    const asks = this.about.events.map((/** @type {any} */ event) => (event.asks || this.passed.size ? 1 : 0));
    engine.numbers.set(asks, engine.where("asks"));
    return this.stopped ? STOPPED : is_over ? REACHED : SPENT;
  }

  /** y after what happens because the motion begins. @param {number[]} y */
  begin_with(y) {
    const { events } = this.about;
    const found = events.flatMap((/** @type {any} */ event, /** @type {number} */ k) => (event.at_start ? [[k, 1]] : []));
    const t = this.engine.numbers[this.engine.where("x")];
    return found.length ? (this.change(found, { t, y }, { t, y })?.y ?? y) : y;
  }

  /** @param {number[]} found @param {number} t */
  note(found, t) {
    if (!found.length) return;
    const { events } = this.engine.live;
    const until = this.last + CLOSE * Math.abs(this.last) + NEGLIGIBLE * this.span;
    if (!(t <= until)) this.close.clear();
    for (const k of found) {
      const { name } = events[k];
      const count = (this.close.get(name) ?? 0) + 1;
      this.close.set(name, count);
      this.engine.happened?.push([t, name, 0]);
      if (this.about.events[k].ends) this.ended ||= name;
      if (count >= MOST_CLOSE) this.stopped ||= `'${name}' happens again and again, without end`;
    }
    this.last = t;
  }

  /** y after events that are beyond zero by what has happened, and levels, one after the other.
   * @param {number} t @param {number[]} y */
  pass_others(t, y) {
    const { events, n_switches } = this.about;
    const levels = events.some((/** @type {any} */ event) => event.is_level);
    while (!this.stopped) {
      let found = this.jumped.splice(0);
      if (!found.length && levels) {
        const g = this.found("switches", t, y, n_switches);
        const k = events.findIndex((/** @type {any} */ x, /** @type {number} */ i) => x.is_level && g[i] * x.direction > 0);
        if (k >= 0) found = [[k, events[k].direction]];
      }
      if (!found.length) break;
      const changed = this.change(found, { t, y }, { t, y });
      this.note(found.map(([k]) => k), t);
      if (changed) ({ y } = changed);
    }
    return y;
  }

  /** Rows of velocities and their changes by events of one moment; kicks of the same velocity add up.
   * @param {[number, number][]} found @param {Jump[]} jumps */
  prescribed(found, jumps) {
    /** @type {Float64Array[]} */
    const rows = [];
    /** @type {number[]} */
    const gaps = [];
    const kicked = new Map();
    for (const [k] of found) {
      this.about.events[k].rows.forEach((/** @type {[number, boolean]} */ [row, kicks], /** @type {number} */ i) => {
        if (kicks && kicked.has(row)) gaps[kicked.get(row)] += jumps[k].gaps[i];
        else {
          if (kicks) kicked.set(row, rows.length);
          rows.push(jumps[k].rows[i]);
          gaps.push(jumps[k].gaps[i]);
        }
      });
    }
    return { rows, gaps };
  }

  /** t and y after these events, given by number and by the side of zero on which they are; null if they change nothing.
   * @param {[number, number][]} found @param {{t: number, y: number[]}} after @param {{t: number, y: number[]}} before */
  change(found, after, before) {
    const { events } = this.about;
    const { n_q, n, n_rows } = this.engine.live;
    const held_before = this.held;
    let t = after.t;
    let y = after.y.slice(0, n_rows);
    const v = y.slice(n_q, n);
    const jumps = this.jumps(t, y);
    const { rows, gaps } = this.prescribed(found, jumps);
    const held = [...held_before];
    let sets = rows.length > 0;
    for (const [k] of found) {
      events[k].holds.forEach((/** @type {number} */ place, /** @type {number} */ i) => {
        held[place] = jumps[k].holds[i];
        sets = true;
      });
      events[k].resets.forEach((/** @type {number} */ place, /** @type {number} */ i) => {
        y[place] = jumps[k].resets[i];
        sets = true;
      });
    }
    if (!sets) return null;
    this.changes = true;
    this.engine.keep_held(held);
    const switched = found.some(([k]) => events[k].joints.length);
    if (switched && this.is_open(t, y, found)) return null;
    if (rows.length || switched) {
      const struck = this.impulse(t, y, rows, gaps);
      if (!struck) return null;
      y.splice(n_q, v.length, ...struck.v);
      y[n] += Math.max(struck.lost, 0);
      y[n + 1] += Math.max(-struck.lost, 0);
      const turned = this.turned(found, jumps, t, y);
      if (turned.length) {
        // on the side from which it came, so that it is not passed once more; the others are
        const until = after.t + CLOSE * Math.abs(after.t) + NEGLIGIBLE * this.span;
        this.passed = new Map(found.filter(([k]) => !turned.includes(k)).map(([k, side]) => [`${k} ${side}`, until]));
        t = before.t;
        y.splice(0, n_q, ...before.y.slice(0, n_q));
      }
    }
    if (switched) y = this.projected(t, y);
    this.jumped = this.find_jumped(held_before, found, t, y, v);
    return { t, y };
  }

  /** Which events are on the way back. @param {[number, number][]} found @param {Jump[]} before @param {number} t @param {number[]} y */
  turned(found, before, t, y) {
    const now = this.jumps(t, y);
    return found.flatMap(([k, side]) => {
      const event = this.about.events[k];
      const rests = Math.abs(now[k].rate) <= NEGLIGIBLE * Math.abs(before[k].rate);
      if (rests && this.presses_on(k, side, t, y)) {
        this.stopped ||= `'${this.engine.live.events[k].name}' would happen without end: nothing holds it`;
        return [];
      }
      return (event.turns || now[k].rate * side < 0) && !(rests && event.joints.length) ? [k] : [];
    });
  }

  /** Velocities after an impulse by which joints hold and rows of velocities change, and the energy that it takes: of
   * all such changes the least in M, found by the formulation that impulses have. @param {number} t @param {number[]} y
   * @param {Float64Array[]} rows @param {number[]} gaps @returns {{v: number[], lost: number} | null} */
  impulse(t, y, rows, gaps) {
    const { engine, about } = this;
    const { n_q, n_v: n, m } = engine.live;
    const entries = this.found("own_linear", t, y, about.n_linear);
    const rates = [...this.found("own_constraints", t, y, 2 * m)].slice(m);
    const all = m + rows.length;
    const [M, J] = [new Float64Array(n * n), new Float64Array(all * n)];
    about.jacobian[0].forEach((/** @type {number} */ i, /** @type {number} */ e) => {
      J[i * n + about.jacobian[1][e]] = entries[e];
    });
    about.inertia.forEach((/** @type {[number, number]} */ [i, j], /** @type {number} */ e) => {
      M[i * n + j] = entries[about.first_of_inertia + e];
    });
    rows.forEach((row, i) => J.set(row, (m + i) * n));
    const wanted = [...rates.map((x) => -x), ...gaps];
    const heaviest = Math.max(...Array.from({ length: n }, (_, k) => M[k * n + k]));
    const scale = Array.from({ length: n }, (_, k) => 1 / Math.sqrt(M[k * n + k] || heaviest));
    const sizes = wanted.map((_, i) => Math.hypot(...scale.map((x, k) => x * J[i * n + k])));
    const least = Math.max(TYPED * Math.max(...sizes), 1e-300);
    const by = sizes.map((x) => Math.max(x, least));
    const given = engine.at("given_impulse").fill(0);
    const at = engine.to("given_impulse") / 8;
    engine.integers[at] = BigInt(n);
    engine.integers[at + 1] = BigInt(all);
    given[2] = about.tolerance;
    const inertia = Math.max(...scale.map((x, k) => x * x * M[k * n + k]));
    for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) given[3 + i * n + j] = (scale[i] * M[i * n + j] * scale[j]) / inertia;
    for (let i = 0; i < all; i++) for (let j = 0; j < n; j++) given[3 + n * n + i * n + j] = (J[i * n + j] * scale[j]) / by[i];
    given.set(wanted.map((x, i) => x / by[i]), 3 + n * n + all * n + n);
    engine.code.impulse(engine.to("given_impulse"), engine.to("scratch"), engine.to("made_impulse"), engine.to("scratch"));
    const made = engine.at("made_impulse");
    const dv = scale.map((x, k) => x * made[k]);
    const v = y.slice(n_q, n_q + n);
    const terms = wanted.map((x, i) => (Math.abs(x) + v.reduce((s, w, k) => s + Math.abs(J[i * n + k]) * (Math.abs(w) + Math.abs(dv[k])), 0)) / by[i]);
    const enough = NEGLIGIBLE * Math.max(0, ...terms);
    const fits = wanted.every((x, i) => Math.abs(dv.reduce((s, w, k) => s + J[i * n + k] * w, 0) - x) / by[i] <= TYPED * terms[i] + enough);
    if (!fits) {
      this.stopped ||= "joints and what happens contradict each other";
      return null;
    }
    const after = v.map((x, k) => x + dv[k]);
    let lost = 0;
    for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) lost += 0.5 * (v[i] - after[i]) * M[i * n + j] * (v[j] + after[j]);
    return { v: after, lost };
  }

  /** Whether a joint engages although it is open by more than rounding explains. @param {number} t @param {number[]} y
   * @param {[number, number][]} found */
  is_open(t, y, found) {
    const { rows } = this.about;
    const gaps = this.found("own_constraints", t, y, rows.length);
    const held = this.held;
    const engages = new Set(found.flatMap(([k]) => this.about.events[k].holds.filter((/** @type {number} */ place) => held[place] === 1)));
    const wide = rows.findIndex((/** @type {any} */ row, /** @type {number} */ i) => engages.has(row.closed) && Math.abs(gaps[i]) > TYPED * row.scale);
    if (wide < 0) return false;
    this.stopped ||= `'${rows[wide].element}' engages, and is open by ${Math.abs(gaps[wide]).toPrecision(3)} ${rows[wide].unit}`;
    return true;
  }

  /** @param {number} t @param {number[]} y */
  projected(t, y) {
    const { engine } = this;
    engine.at("state").set([t, ...y]);
    engine.code.project(engine.to("state"), engine.to(engine.now("full")), engine.to("projected"), engine.to("scratch"));
    return [...engine.at("projected").subarray(0, engine.live.n_rows)];
  }

  /** The rate of the function of an event at x = (t, q, v, ...). @param {number} k @param {number[]} x */
  rate(k, x) {
    return this.jumps(x[0], x.slice(1))[k].rate;
  }

  /** What steps of t, q and v, each for itself, make of f, added up.
   * @param {(x: number[]) => number} f @param {number[]} x @param {(i: number) => number} step */
  change_of(f, x, step) {
    const now = f(x);
    let sum = 0;
    for (let i = 0; i <= this.engine.live.n; i++) {
      sum += Math.abs(f(x.map((y, j) => (i === j ? y + step(i) : y))) - now);
    }
    return sum;
  }

  /** Of a component of x = (t, q, v, ...) in the error of a step. @param {number[]} x @returns {(i: number) => number} */
  tolerance(x) {
    const { engine } = this;
    const [atol, rtol] = [engine.where("atol"), engine.numbers[engine.where("rtol")]];
    return (i) => (i ? engine.numbers[atol + i - 1] + rtol * Math.abs(x[i]) : 0);
  }

  /** Whether an impact has switched its joints before, and these leave its rate within the tolerances of now.
   * @param {number} k @param {number} t @param {number[]} y */
  is_held(k, t, y) {
    const event = this.about.events[k];
    if (!event.turns || !this.has_switched(event, this.held)) return false;
    const x = [t, ...y];
    const rate = (/** @type {number[]} */ at) => this.rate(k, at);
    return Math.abs(rate(x)) <= this.change_of(rate, x, this.tolerance(x));
  }

  /** Whether the joints that an event switches are as it sets them. @param {any} event @param {ArrayLike<number>} held */
  has_switched(event, held) {
    return event.joints.length > 0 && event.joints.every((/** @type {[number, number]} */ [place, value]) => held[place] === value);
  }

  /** Whether forces drive an event whose rate is zero now to its side. @param {number} k @param {number} side @param {number} t @param {number[]} y */
  presses_on(k, side, t, y) {
    if (!this.engine.told("n_times") || t <= 0) return false;
    const { engine, span } = this;
    const { n_q, n_v, n, ny, held } = engine.live;
    engine.at("x").set([t, ...y.slice(0, n)]);
    engine.at("held").set(this.held);
    const [one, none] = [1n, BigInt(held.length)];
    engine.code.fill_dynamics(one, BigInt(ny), none, engine.to("held"), engine.to(engine.now("full")), engine.to("x"), engine.to("qd"), engine.to("scratch"));
    const rates = [1, ...engine.at("qd").slice(0, n_q), ...engine.at("x").slice(1 + n, 1 + n + n_v)];
    const x = [t, ...y];
    const ahead = (/** @type {number} */ by) => x.map((z, i) => z + by * DIFFERENCE * span * (rates[i] ?? 0));
    const rate = (/** @type {number[]} */ at) => this.rate(k, at);
    const when = (/** @type {number[]} */ at) => this.found("switches", at[0], at.slice(1), this.about.n_switches)[k];
    let gained = 0.5 * side * (rate(ahead(1)) - rate(ahead(-1)));
    gained -= this.change_of(rate, x, (i) => EPSILON * x[i]);
    const enough = this.change_of(when, x, this.tolerance(x));
    return (0.5 * gained * span) / DIFFERENCE > enough && enough > 0;
  }

  /** Events of the model that are beyond zero now since velocities or forces have jumped.
   * @param {number[]} held_before @param {[number, number][]} found @param {number} t @param {number[]} y @param {number[]} v_before
   * @returns {[number, number][]} */
  find_jumped(held_before, found, t, y, v_before) {
    const { events, n_own, n_switches } = this.about;
    const { n_q } = this.engine.live;
    if (!n_own || !this.engine.told("row")) return [];
    const held = this.held;
    this.engine.keep_held(held_before);
    const old = this.found("switches", t, [...y.slice(0, n_q), ...v_before], n_switches);
    this.engine.keep_held(held);
    const now = this.found("switches", t, y, n_switches);
    return events.slice(0, n_own).flatMap((/** @type {any} */ event, /** @type {number} */ k) => {
      const side = now[k] > 0 ? 1 : -1;
      const done = !event.rows.length && [held_before, held].some((x) => this.has_switched(event, x));
      const jumped = !found.some(([i]) => i === k) && old[k] * now[k] < 0 && event.direction * now[k] >= 0 && !done;
      return jumped ? [[k, side]] : [];
    });
  }
}
