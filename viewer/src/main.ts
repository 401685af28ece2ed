// Where the page begins: its data, or why it cannot be shown.

import "./style.css";
import type { Page } from "./data";
import { element } from "./dom";
import { Live } from "./live";
import { Viewer } from "./viewer";

declare global {
  interface Window {
    linkwork?: Viewer; // for scripts and tests
    live?: Live;
  }
}

const app = document.getElementById("app") as HTMLElement;

async function begin(): Promise<void> {
  const page = JSON.parse(document.getElementById("data")?.textContent ?? "") as Page;
  if (page.live) {
    try {
      window.live = await Live.begin(page, page.live, app);
      window.linkwork = window.live.viewer;
      if (page.plays) window.linkwork.setPlaying(true);
      return;
    } catch (error) {
      app.replaceChildren(); // it replays what it holds
      page.results[0].facts.push(`cannot compute here: ${error instanceof Error ? error.message : error}`);
    }
  }
  window.linkwork = new Viewer(page, app);
  if (page.plays) window.linkwork.setPlaying(true);
}

begin().catch((error) => {
  app.replaceChildren();
  element("p", "failed", app).textContent = `The motion cannot be shown: ${error instanceof Error ? error.message : error}`;
  throw error;
});
