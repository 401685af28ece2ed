// Elements; whatever a model names is set as text, never as markup.

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  parent?: HTMLElement,
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (className) made.className = className;
  parent?.append(made);
  return made;
}

const SHAPES: Record<string, string> = {
  first: "M4 3h2v10H4zM13 3v10L6.5 8z",
  play: "M4.5 2.5v11L13.5 8z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  repeat: "M8 3V.8L11.8 4 8 7.2V5a3.5 3.5 0 1 0 3.5 3.5h2A5.5 5.5 0 1 1 8 3z",
  theme: "M8 1.5a6.5 6.5 0 1 0 0 13zM8 1.5a6.5 6.5 0 0 1 0 13v-1.6a4.9 4.9 0 0 0 0-9.8z",
};

/** A sign that needs no font. */
export function icon(name: string): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", SHAPES[name]);
  svg.append(path);
  return svg;
}

/** A round button with a sign. */
export function signed(name: string, title: string, parent: HTMLElement, act: () => void): HTMLButtonElement {
  const made = button("", title, parent, act);
  made.className = "round";
  made.setAttribute("aria-label", title);
  made.append(icon(name));
  return made;
}

export function button(label: string, title: string, parent: HTMLElement, act: () => void): HTMLButtonElement {
  const made = element("button", "", parent);
  made.type = "button";
  made.textContent = label;
  made.title = title;
  made.addEventListener("click", (event) => {
    act();
    if (event.detail > 0) made.blur(); // a click by hand leaves the keys to the page
  });
  return made;
}
