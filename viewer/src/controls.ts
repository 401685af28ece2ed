// The bar below the picture: play, the time axis with its marks, the clock, speed.

import { SPEEDS, type Clock } from "./clock";
import { shown } from "./data";
import { element, icon, signed } from "./dom";

/** An event of a motion as it is marked: its colour is that of its name. */
export interface Happening {
  name: string;
  t: number;
  color: string;
  of: string; // which motion
}

export class Controls {
  readonly repeat: HTMLButtonElement;
  private readonly play: HTMLButtonElement;
  private readonly slider: HTMLInputElement;
  private readonly axis: HTMLElement;
  private readonly output: HTMLElement;
  private readonly speeds: HTMLSelectElement;

  constructor(
    private readonly clock: Clock,
    host: HTMLElement,
    changed: () => void,
  ) {
    const bar = element("div", "controls", host);
    signed("first", "First row (home)", bar, () => {
      clock.set(clock.start);
      changed();
    });
    this.play = signed("play", "Play (space)", bar, () => {
      clock.play(!clock.playing);
      changed();
    });
    this.play.classList.add("play");
    this.axis = element("div", "axis", bar);
    this.slider = element("input", "time", this.axis);
    Object.assign(this.slider, { type: "range", min: "0", max: "1", step: "any", value: "0" });
    this.slider.setAttribute("aria-label", "time");
    this.slider.addEventListener("input", () => {
      clock.part = Number(this.slider.value);
      changed();
    });
    this.output = element("output", "clock", bar);
    this.speeds = element("select", "", bar);
    this.speeds.title = "Seconds of motion per second (− +)";
    this.speeds.setAttribute("aria-label", "speed");
    for (const speed of SPEEDS) {
      const option = element("option", "", this.speeds);
      option.value = String(speed);
      option.textContent = speed >= 1 ? `${speed}×` : `1/${Math.round(1 / speed)}×`;
    }
    this.speeds.addEventListener("change", () => this.setSpeed(Number(this.speeds.value)));
    this.repeat = signed("repeat", "Begin again at the end (l)", bar, () => {
      clock.repeat = !clock.repeat;
      changed();
    });
    this.setSpeed(clock.speed);
  }

  setSpeed(speed: number): void {
    this.clock.speed = speed;
    this.speeds.value = String(speed);
  }

  /** Marks of events on the time axis. */
  mark(events: Happening[], go: (t: number) => void): void {
    for (const old of this.axis.querySelectorAll("i")) old.remove();
    for (const { name, t, color } of events) {
      const mark = element("i", "", this.axis);
      mark.title = `${name}, ${shown(t)} s`;
      mark.style.setProperty("--at", String((t - this.clock.start) / this.clock.length));
      mark.style.background = color;
      mark.addEventListener("click", () => go(t));
    }
  }

  show(): void {
    const { clock } = this;
    this.slider.value = String(clock.part);
    const digits = Math.min(6, Math.max(2, 3 - Math.floor(Math.log10(clock.length))));
    this.output.textContent = `${clock.time.toFixed(digits)} s`;
    this.repeat.setAttribute("aria-pressed", String(clock.repeat));
    const [sign, title] = clock.playing ? ["pause", "Pause (space)"] : ["play", "Play (space)"];
    if (this.play.title === title) return;
    this.play.title = title;
    this.play.setAttribute("aria-label", title);
    this.play.replaceChildren(icon(sign));
  }
}
