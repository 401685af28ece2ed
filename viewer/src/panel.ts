// One plot: curves over time or over another quantity, their legend, a line at the time of the picture, values under the pointer.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type Result, shown } from "./data";
import { element } from "./dom";
import { largest, limits, spread, type Values } from "./range";
import { cssColor } from "./theme";

const ROUNDING = 1e-14; // of the largest value of a panel
const HEIGHT = 148;
const SQUARE = 250; // height of one quantity over another
const FONT = "11px system-ui, sans-serif";

export interface Curve {
  label: string;
  color: string;
  dash: number[] | undefined;
  result: Result;
  read(): Values;
  /** The same of another motion of this mechanism. */
  of(other: Result): Values;
}

export interface Over {
  label: string;
  factor: number;
  name: string;
}

export class Panel {
  readonly element: HTMLElement;
  private readonly plot: uPlot;
  private readonly now: HTMLElement;
  private readonly texts: HTMLElement[] = [];
  private readonly reading: HTMLElement;
  private values: Values[] = [];
  private xs: ArrayLike<number>[] = []; // of a quantity over another
  private alike = true;
  private rounding = 0;

  constructor(
    host: HTMLElement,
    title: string,
    private readonly curves: Curve[],
    private readonly log: boolean,
    private readonly over: Over | undefined,
    seek: (t: number) => void,
  ) {
    this.element = element("section", "panel", host);
    element("h2", "", this.element).textContent = title;
    const data = this.data();
    this.plot = new uPlot(this.options(), data, element("div", "plot", this.element));
    this.now = element("div", over ? "dot" : "now", this.plot.over);
    this.reading = element("div", "reading", this.plot.over);
    this.reading.hidden = true;
    this.legend();
    this.listen(seek);
  }

  private options(): uPlot.Options {
    const { log, over } = this;
    const line = () => cssColor("line");
    const ink = () => cssColor("muted");
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 }, font: FONT, gap: 3 };
    const extent = (all: Values[]) => {
      const [low, high] = limits(all);
      return spread(low, high);
    };
    const free = (_u: uPlot, low: number, high: number): [number, number] => spread(low, high);
    return {
      width: 300,
      height: over ? SQUARE : HEIGHT,
      pxAlign: 0,
      legend: { show: false },
      cursor: { show: false },
      select: { show: false, left: 0, top: 0, width: 0, height: 0 },
      padding: [6, 20, 0, 0],
      scales: {
        x: { time: false, range: over ? () => extent(this.xs) : (_u, low, high) => [low, high > low ? high : low + 1] },
        y: log ? { distr: 3 } : { range: over ? () => extent(this.values) : free },
      },
      axes: [
        { ...axis, size: over ? 40 : 26, ...(over && { label: over.label, labelFont: FONT, labelSize: 14, labelGap: 0 }) },
        { ...axis, size: 58, values: (_u, ticks) => ticks.map((x) => (log && !decade(x) ? "" : tick(x))) },
      ],
      series: [
        {},
        ...this.curves.map(({ label, color, dash }) => ({
          label, stroke: color, width: 1.6, dash, spanGaps: !this.alike, points: { show: false },
        })),
      ],
      hooks: { drawAxes: [(u) => this.paint(u)] },
    };
  }

  /** What uPlot draws: curves over time, on the times of all if they differ; of one quantity over another only the frame. */
  private data(): uPlot.AlignedData {
    this.values = this.curves.map((curve) => curve.read());
    this.rounding = this.log ? 0 : ROUNDING * largest(this.values);
    const { over } = this;
    if (over) {
      this.xs = this.curves.map(({ result }) => Array.from(result.quantities.get(over.name)?.values ?? [], (x) => over.factor * x));
      return [[0, 1], ...this.curves.map(() => [null, null])] as unknown as uPlot.AlignedData;
    }
    const first = this.curves[0].result.t;
    this.alike = this.curves.every(({ result: { t } }) => t === first || (t.length === first.length && t.every((x, k) => x === first[k])));
    if (this.alike) return [first, ...this.values] as unknown as uPlot.AlignedData;
    const own = this.curves.map(({ result }, k) => [Array.from(result.t), Array.from(this.values[k])] as uPlot.AlignedData);
    return uPlot.join(own);
  }

  /** Below the curves those of other motions, in grey; and curves over another quantity. */
  private paint(u: uPlot): void {
    const { over } = this;
    const { ctx } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    ctx.lineJoin = "round";
    const line = (xs: ArrayLike<number>, ys: Values, color: string, width: number, dash: number[] = []) => {
      ctx.strokeStyle = color;
      ctx.lineWidth = width * uPlot.pxRatio;
      ctx.setLineDash(dash.map((x) => x * uPlot.pxRatio));
      ctx.beginPath();
      for (let k = 0; k < xs.length; k++) {
        const y = ys[k];
        if (y !== null) ctx.lineTo(u.valToPos(xs[k], "x", true), u.valToPos(y, "y", true));
      }
      ctx.stroke();
    };
    this.curves.forEach((curve, k) => {
      if (!u.series[k + 1].show) return;
      for (const other of curve.result.others) {
        const x = over ? Array.from(other.quantities.get(over.name)?.values ?? [], (value) => over.factor * value) : other.t;
        line(x, curve.of(other), cssColor("other"), 1.3);
      }
    });
    if (over) this.curves.forEach(({ color, dash }, k) => u.series[k + 1].show && line(this.xs[k], this.values[k], color, 1.6, dash));
    ctx.restore();
  }

  private legend(): void {
    const legend = element("div", "legend", this.element);
    this.curves.forEach(({ label, color, dash }, k) => {
      const item = element("button", "", legend);
      item.type = "button";
      item.title = "show or hide";
      item.setAttribute("aria-pressed", "true");
      const swatch = element("i", dash ? "dashed" : "", item);
      swatch.style.color = color;
      element("span", "", item).textContent = label;
      item.addEventListener("click", () => {
        const show = !this.plot.series[k + 1].show;
        item.setAttribute("aria-pressed", String(show));
        this.plot.setSeries(k + 1, { show });
      });
      this.texts.push(element("output", "", item));
    });
  }

  private listen(seek: (t: number) => void): void {
    const { over } = this.plot;
    const at = (event: PointerEvent): [number, number] => {
      const box = over.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const go = (event: PointerEvent) => seek(this.timeAt(...at(event)));
    over.addEventListener("pointerdown", (event) => {
      over.setPointerCapture(event.pointerId);
      go(event);
    });
    over.addEventListener("pointermove", (event) => {
      if (event.buttons) go(event);
      this.tell(...at(event));
    });
    over.addEventListener("pointerleave", () => {
      this.reading.hidden = true;
    });
  }

  /** The time of a place in the plot: of its abscissa, or of the nearest point of a curve. */
  private timeAt(x: number, y: number): number {
    if (!this.over) return this.plot.posToVal(x, "x");
    let [found, least] = [0, Number.POSITIVE_INFINITY];
    this.curves.forEach(({ result }, k) => {
      for (let row = 0; row < result.t.length; row++) {
        const value = this.values[k][row];
        if (value === null) continue;
        const far = Math.hypot(this.plot.valToPos(this.xs[k][row], "x") - x, this.plot.valToPos(value, "y") - y);
        if (far < least) [found, least] = [result.t[row], far];
      }
    });
    return found;
  }

  /** Values under the pointer. */
  private tell(x: number, y: number): void {
    const time = this.timeAt(x, y);
    this.reading.hidden = false;
    this.reading.replaceChildren();
    element("small", "", this.reading).textContent = `${shown(time)} s`;
    this.curves.forEach(({ color, result }, k) => {
      if (!this.plot.series[k + 1].show) return;
      const row = element("span", "", this.reading);
      row.style.color = color;
      row.textContent = shown(between(this.values[k], result, time), this.rounding);
    });
    const width = this.plot.over.clientWidth;
    const left = x + 12 + this.reading.offsetWidth > width ? x - 12 - this.reading.offsetWidth : x + 12;
    this.reading.style.transform = `translate(${Math.round(left)}px, 4px)`;
  }

  /** The curves as the results are now. */
  renew(): void {
    this.plot.setData(this.data());
  }

  resize(width: number): void {
    if (this.plot.width !== width) this.plot.setSize({ width, height: this.plot.height });
  }

  /** The line or dot at this time and, if told, the values of then. */
  show(time: number, told: boolean): void {
    if (this.over) {
      const x = this.xs[0] && between(this.xs[0], this.curves[0].result, time);
      const y = between(this.values[0], this.curves[0].result, time);
      if (x !== undefined && y !== undefined) {
        const place = [this.plot.valToPos(x, "x"), this.plot.valToPos(y, "y")];
        this.now.style.transform = `translate(${place[0].toFixed(1)}px, ${place[1].toFixed(1)}px)`;
      }
    } else this.now.style.transform = `translateX(${this.plot.valToPos(time, "x").toFixed(1)}px)`;
    if (!told) return;
    this.curves.forEach(({ result }, k) => {
      this.texts[k].textContent = shown(between(this.values[k], result, time), this.rounding);
    });
  }

  destroy(): void {
    this.plot.destroy();
    this.element.remove();
  }
}

function between(values: Values, result: Result, time: number): number | undefined {
  const k = result.row(time);
  const [a, b] = [values[k], values[Math.min(k + 1, values.length - 1)]];
  if (a === null || time <= result.t[k] || b === null) return a ?? undefined;
  return a + ((time - result.t[k]) / (result.t[k + 1] - result.t[k])) * (b - a);
}

function decade(x: number): boolean {
  return Math.abs(Math.log10(x) - Math.round(Math.log10(x))) < 1e-9;
}

function tick(x: number): string {
  const size = Math.abs(x);
  if (size !== 0 && (size >= 1e5 || size < 1e-3)) return x.toExponential(1).replace(".0e", "e").replace("e+", "e");
  return String(Number(x.toPrecision(6)));
}
