// Where the page begins: its data, or why it cannot be shown.

import "./style.css";
import type { Page } from "./data";
import { element } from "./dom";
import { Viewer } from "./viewer";

declare global {
  interface Window {
    linkwork?: Viewer; // for scripts and tests
  }
}

const app = document.getElementById("app") as HTMLElement;
try {
  const page = JSON.parse(document.getElementById("data")?.textContent ?? "") as Page;
  window.linkwork = new Viewer(page, app);
} catch (error) {
  app.replaceChildren();
  element("p", "failed", app).textContent = `The motion cannot be shown: ${error instanceof Error ? error.message : error}`;
  throw error;
}
