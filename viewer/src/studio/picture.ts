// The mechanism beside its text: where it starts, then how it moves; one picture takes the place of the other.

import type { Page } from "../data";
import { element } from "../dom";
import { Live } from "../live";
import { PlanarStage, type View } from "../planar";
import { Viewer } from "../viewer";
import type { Values } from "../carry";

/** What a picture tells the text. */
export interface Owner {
  /** Values have been changed by hand, `done` when it has let go. */
  changed(values: Values, done: boolean): void;
  /** Another picture stands there. */
  shown(viewer: Viewer): void;
}

export class Picture {
  viewer: Viewer | undefined;
  live: Live | undefined;
  private host: HTMLElement | undefined;
  keepView = false; // while something is drawn
  private fitted: View | undefined; // what is seen unless the reader has chosen
  private turn = 0; // of pictures that were asked for: the last one counts

  constructor(
    private readonly place: HTMLElement,
    private readonly owner: Owner,
  ) {}

  get stage(): PlanarStage | undefined {
    const stage = this.viewer?.stages[0];
    return stage instanceof PlanarStage ? stage : undefined;
  }

  /** Show another page, unless it is too late for it; the part of the plane that is seen stays. */
  async show(page: Page, isTooLate: () => boolean): Promise<boolean> {
    const turn = ++this.turn;
    const host = element("div", "sheet");
    host.id = "app";
    host.style.visibility = "hidden"; // until it is drawn
    this.place.append(host);
    const live = page.live ? await Live.begin(page, page.live, host, { changed: (values, done) => this.owner.changed(values, done) }) : undefined;
    if (turn !== this.turn || isTooLate()) {
      live?.viewer.end();
      host.remove();
      return false;
    }
    const viewer = live?.viewer ?? new Viewer(page, host);
    const before = this.viewer;
    const [time, playing, was] = [before?.time, before?.playing ?? false, this.live?.viewer.clock.length];
    const seen = this.stage?.view;
    const chosen = seen && (this.keepView || JSON.stringify(seen) !== JSON.stringify(this.fitted));
    this.end();
    Object.assign(this, { viewer, live, host });
    this.fitted = this.stage?.view;
    if (chosen && this.stage) this.stage.view = seen;
    if (time !== undefined && was === viewer.clock.length) viewer.setTime(time);
    viewer.setPlaying(playing && live !== undefined);
    host.style.visibility = "";
    this.owner.shown(viewer);
    return true;
  }

  private end(): void {
    this.viewer?.end();
    this.host?.remove();
  }
}
