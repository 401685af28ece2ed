// A motion that is played with: it goes on, is pulled at and turned by hand.

/** @import { Engine, Failure, Vec } from "./engine.js" */
import { AROUND, MOST_TICKS, REACHED, SPENT, spacing } from "./numbers.js";

const LEAST_TURN = 2 ** -26; // of a way along which drivers are turned: where it ends, the mechanism locks
const MOST_STEPS = 20000; // for one picture of a motion that plays on
const NEAR = 0.1; // radians, or of the length: a driven position is looked for no further from the one before

/** A motion that goes on as long as it is asked to; it ends with the next run of its engine. */
export class Play {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.hand = engine.live.switches.hand;
    this.stiffness = 0;
    this.values = engine.at("values").slice(); // with gravity, without hands
    this.look();
  }

  get t() {
    return this.engine.numbers[this.engine.where("x")];
  }

  /** Whether bodies can be held. */
  get hasHand() {
    return Boolean(this.hand);
  }

  /** Go on by dt seconds; null, or why it stopped. @param {number} dt @returns {Failure | null} */
  step(dt) {
    const { engine } = this;
    const { t } = this;
    const times = engine.at("t");
    times[0] = t;
    times[1] = t + dt;
    engine.tell("n_times", 2);
    engine.tell("row", 1);
    this.stop_at_ticks(t, t + dt);
    engine.tell("steps", 0);
    engine.tell("rejected", 0);
    engine.tell("paced", 0);
    engine.numbers[engine.where("paced_t")] = t;
    engine.numbers[engine.where("t_end")] = t + dt;
    do engine.go_on(engine.to("t"), engine.to("ends"));
    while (engine.status === SPENT && engine.told("steps") + engine.told("rejected") < MOST_STEPS);
    if (engine.held && engine.held.length > 1) engine.held = engine.held.slice(-1);
    this.look();
    if (engine.status === REACHED && !engine.course?.ended) return null;
    const text = engine.status === SPENT ? "too many steps for one picture: slow it down" : engine.why();
    return { code: "stopped", text, t: this.t };
  }

  /** Steps end where clocks tick, in this piece. @param {number} t @param {number} end */
  stop_at_ticks(t, end) {
    const { engine } = this;
    const before = (/** @type {number} */ tick) => tick - AROUND * spacing(tick);
    const ticks = engine.live.periods.flatMap((/** @type {number} */ period) => {
      const found = [];
      for (let k = Math.floor(t / period); before(k * period) <= end && found.length < MOST_TICKS; k++) {
        if (before(k * period) > t) found.push(k * period);
      }
      return found;
    });
    const stops = [...new Set(ticks)].sort((a, b) => a - b);
    engine.at("ends").set(stops.flatMap((at) => [before(at), at + AROUND * spacing(at)]));
    engine.tell("n_stops", stops.length);
    engine.tell("stop", 0);
  }

  /** Go on, or back, by dt seconds of a motion that drivers prescribe; null, or why there is no such position.
   * @param {number} dt @returns {Failure | null} */
  turn(dt) {
    const { engine } = this;
    const { n_q, n_rows, forms, analysis } = engine.live;
    if (analysis !== "kinematics") return { code: "no-effect", text: "only drivers can be turned" };
    const [x, scales] = [engine.where("x"), engine.at("p").subarray(forms[0].scales, forms[0].scales + n_q)];
    const [state, projected] = [engine.at("state"), engine.at("projected")];
    const end = this.t + dt;
    for (let part = dt; this.t !== end; ) {
      const t = Math.abs(end - this.t) <= Math.abs(part) ? end : this.t + part;
      state.set(engine.numbers.subarray(x, x + 1 + n_rows));
      state[0] = t;
      engine.code.project(engine.to("state"), engine.to("full"), engine.to("projected"), engine.to("scratch"));
      let way = projected[n_rows + 3] === 0 ? 0 : Infinity; // the status of the projection
      for (let k = 0; k < n_q; k++) way = Math.abs(projected[k] - state[1 + k]) * scales[k] <= way ? way : Math.abs(projected[k] - state[1 + k]) * scales[k];
      if (way <= NEAR) {
        engine.numbers[x] = t;
        engine.numbers.set(projected.subarray(0, n_rows), x + 1);
        engine.tell("started", 0);
      } else part /= 2;
      if (Math.abs(part) > LEAST_TURN * Math.abs(dt)) continue;
      this.look();
      return { code: "lock-up", text: `the mechanism locks at t = ${this.t.toPrecision(6)} s`, t: this.t };
    }
    this.look();
    return null;
  }

  /** Evaluate the state of now. */
  look() {
    const { engine } = this;
    const x = engine.where("x");
    engine.at("rows").set(engine.numbers.subarray(x + 1, x + 1 + engine.live.n_rows));
    const t = Float64Array.of(this.t);
    engine.evaluate(t, 1);
    this.quantities = engine.quantities(t, 1, engine.energies(1));
    const bodies = engine.poses(this.quantities, 1);
    this.poses = new Float32Array(bodies.length + 7);
    this.poses[3] = 1;
    this.poses.set(bodies, 7);
  }

  /** A quantity, now. @param {string} name */
  value(name) {
    return this.quantities?.find((x) => x.name === name)?.values[0];
  }

  /** Pull point s of a body, counted from the ground, towards a place, until it is released.
   * @param {number} body @param {Vec} s @param {Vec} to @param {number} [stiffness] N/m */
  pull(body, s, to, stiffness) {
    if (!this.hand || body === 0) return;
    const { hand, engine } = this;
    const values = engine.at("values");
    const k = stiffness ?? hand.usual;
    hand.holds.forEach((/** @type {number} */ place, /** @type {number} */ b) => {
      values[place] = b === body - 1 ? 1 : 0;
    });
    hand.arm.forEach((/** @type {number} */ place, /** @type {number} */ c) => {
      values[place] = s[c];
      values[hand.place[c]] = to[c];
    });
    values[hand.stiffness] = k;
    values[hand.damping] = 2 * Math.sqrt(k * hand.mass);
    this.restart();
  }

  release() {
    if (!this.hand) return;
    const values = this.engine.at("values");
    for (const place of this.hand.holds) values[place] = 0;
    this.restart();
  }

  /** With gravity as the model has it, or without. @param {boolean} on */
  set gravity(on) {
    for (const place of this.engine.live.switches.gravity) this.engine.at("values")[place] = on ? this.values[place] : 0;
    this.restart();
  }

  get gravity() {
    const { gravity } = this.engine.live.switches;
    return gravity.some((/** @type {number} */ place) => this.engine.at("values")[place] !== 0);
  }

  /** With all motions slowed down as in honey, or not. @param {boolean} on */
  set damping(on) {
    if (!this.hand) return;
    this.engine.at("values")[this.hand.honey] = on ? this.hand.slows : 0;
    this.restart();
  }

  get damping() {
    return Boolean(this.hand) && this.engine.at("values")[this.hand.honey] !== 0;
  }

  /** Leave the values as they were: with gravity, without hands and honey. */
  end() {
    const values = this.engine.at("values");
    if (!this.gravity) for (const place of this.engine.live.switches.gravity) values[place] = this.values[place];
    if (this.hand) for (const place of [...this.hand.holds, this.hand.honey]) values[place] = 0;
  }

  /** Go on with the values of now. */
  restart() {
    const { engine } = this;
    const held = engine.held_by("p");
    engine.prepare();
    engine.keep_held(held);
    engine.tell("started", 0);
    engine.tell("signed", 1);
  }
}
