// Pulling at a mechanism: ground points and lengths, the start, a body that moves, a crank that is turned.

import type { Vec } from "./data";
import { element } from "./dom";
import type { Live } from "./live";
import { distance, type Stage } from "./stage";

const CLICK = 4; // pixels within which a press is a click
const SAME = 1e-3; // units within which points are one pin
const AROUND = 40; // rows to either side among which a crank that is turned looks for its place

type Pull = (to: Vec) => void;

export class Hands {
  private lengths = false; // whether points of moving bodies change what the bodies are, not where they start

  constructor(
    private readonly stage: Stage,
    private readonly live: Live,
  ) {
    const { host } = stage;
    let held: { pull: Pull; from: Vec; at: Vec; x: number; y: number; moved: boolean; name: string } | undefined;
    const here = (event: PointerEvent): [number, number] => {
      const box = host.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    host.addEventListener(
      "pointerdown",
      (event) => {
        if (event.button !== 0) return;
        const [x, y] = here(event);
        const near = stage.spotAt(x, y);
        // of what a pin joins the first is held: the ground, if it is one of them
        const spot = near && stage.spots.find((other) => distance(stage.at(other), stage.at(near)) < SAME * stage.unit);
        const body = spot?.body ?? stage.under(x, y);
        if (body < 0 || (body === 0 && !spot)) return;
        const grabbed = spot ? stage.placeOf(spot.body, spot.s) : stage.placeAt(x, y, stage.placeOf(body, [0, 0, 0]));
        const s = spot ? ([...spot.s] as Vec) : stage.local(body, grabbed);
        const pull = this.pullOf(body, s, Boolean(spot), grabbed);
        if (!pull) return;
        event.stopImmediatePropagation();
        host.setPointerCapture(event.pointerId);
        held = { pull, from: stage.placeAt(x, y, grabbed), at: grabbed, x, y, moved: false, name: spot && spot.body > 0 ? spot.name : "" };
      },
      true,
    );
    host.addEventListener("pointermove", (event) => {
      if (!held) return;
      const [x, y] = here(event);
      if (!held.moved && Math.hypot(x - held.x, y - held.y) <= CLICK) return;
      if (!held.moved) live.keepBefore();
      held.moved = true;
      const now = stage.placeAt(x, y, held.at);
      const { at, from } = held;
      held.pull(at.map((c, k) => c + now[k] - from[k]) as Vec);
    });
    for (const end of ["pointerup", "pointercancel"] as const) {
      host.addEventListener(end, () => {
        if (!held) return;
        if (!held.moved && held.name) live.viewer.trace(held.name);
        live.release();
        if (held.moved && !live.play) live.settle();
        held = undefined;
      });
    }
    const mode = element("label", "lengths", host);
    const tick = element("input", "", mode);
    tick.type = "checkbox";
    tick.addEventListener("change", () => {
      this.lengths = tick.checked;
    });
    element("span", "", mode).textContent = "drag changes lengths";
    mode.hidden = !live.anchors;
  }

  /** What pulling at a point of a body does, if anything. */
  private pullOf(body: number, s: Vec, isPoint: boolean, at: Vec): Pull | undefined {
    const { live, stage } = this;
    const { play } = live;
    if (play && !live.isDriven) {
      if (body === 0 || !play.hasHand) return undefined;
      return (to) => {
        play.pull(body, s, to);
        stage.hand = { body, s, to };
      };
    }
    if (isPoint && (body === 0 || this.lengths) && live.canMove(body, s)) {
      let now = s;
      const pose = stage.local(body, at); // turns what is seen into the axes of the body, as it is now
      const origin = pose.map((x, k) => x - s[k]); // zero but for rounding
      return (to) => {
        const place = body === 0 ? to : stage.local(body, to).map((x, k) => x - origin[k]);
        live.movePoint(body, now, place as Vec);
        now = live.placeAfter(body, now, place as Vec);
      };
    }
    if (body === 0) return undefined;
    if (live.isDriven) return (to) => (live.play ? live.turn(body, s, to) : this.turn(body, s, to));
    const { clock } = live.viewer;
    live.viewer.setPlaying(false);
    const start = stage.placeOf(body, s);
    const atStart = live.placeAtStart(body, s);
    return (to) => {
      clock.set(clock.start);
      live.moveStart(body, s, to.map((x, k) => atStart[k] + x - start[k]) as Vec);
    };
  }

  /** The time near now at which a point of a driven mechanism is nearest to a place: its crank turned by hand. */
  private turn(body: number, s: Vec, to: Vec): void {
    const { viewer } = this.live;
    const [result] = viewer.results;
    const poses = new Float32Array(7 * result.data.scene.bodies.length);
    const now = result.row(viewer.time);
    let [found, least] = [viewer.time, Number.POSITIVE_INFINITY];
    for (let k = Math.max(0, now - AROUND); k < Math.min(result.t.length - 1, now + AROUND); k++) {
      for (let part = 0; part <= 1; part += 0.125) {
        const t = result.t[k] + part * (result.t[k + 1] - result.t[k]);
        result.pose(t, poses);
        const at = this.stage.placeIn(poses, body, s);
        const far = Math.hypot(at[0] - to[0], at[1] - to[1], at[2] - to[2]);
        if (far < least) [found, least] = [t, far];
      }
    }
    viewer.setPlaying(false);
    viewer.setTime(found);
    const isAtEnd = found === result.start || found === result.end;
    if (isAtEnd && least > this.stage.unit) this.live.turnOnFrom(found);
  }
}
