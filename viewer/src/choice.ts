// Which of many curves are worth a panel.

import type { Quantity } from "./data";
import { largest, limits } from "./range";

const NOTHING = 1e-12; // of the largest curve of a panel: one that stays below is zero
const PLACES = ["q", "points", "joints"]; // kinds of which matters how much they change, not where they are

export interface Chosen {
  curves: Quantity[];
  remark: string; // on what is left out
}

/** The largest curves, in their own order; those that are zero throughout are left out. */
export function choose(all: Quantity[], most: number): Chosen {
  const size = ({ kind, values }: Quantity) => {
    const [low, high] = limits([values]);
    return PLACES.includes(kind) ? high - low : largest([values]);
  };
  const sizes = new Map(all.map((quantity) => [quantity, size(quantity)]));
  const whole = largest(all.map(({ values }) => values));
  const alive = all.filter(({ values }) => largest([values]) > NOTHING * whole);
  const zero = all.length - alive.length;
  const bySize = [...alive].sort((a, b) => (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0)).slice(0, most);
  const curves = alive.filter((quantity) => bySize.includes(quantity));
  const remarks = [
    ...(alive.length > curves.length ? [`largest ${curves.length} of ${alive.length}`] : []),
    ...(zero ? [`${zero} zero`] : []),
  ];
  return { curves, remark: remarks.join(", ") };
}
