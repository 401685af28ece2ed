// What the page asks its server, with the token of its address.

/** The server does not answer any more. */
export class Gone extends Error {}

const token = new URLSearchParams(location.search).get("token") ?? "";

/** The lines of an answer as they come. */
export async function* ask(what: string, question: object = {}): AsyncGenerator<Record<string, unknown>> {
  const answer = await fetch(`/${what}`, {
    method: "POST",
    headers: { "X-Linkwork-Token": token, "Content-Type": "application/json" },
    body: JSON.stringify(question),
  }).catch(() => {
    throw new Gone("linkwork studio has ended; the text here is kept, and another start of it gives another page");
  });
  if (!answer.ok || !answer.body) throw new Error(await answer.text());
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line) yield JSON.parse(line);
    if (done) return;
  }
}

/** The one line of an answer; what the server refuses is an error. */
export async function askOnce<T>(what: string, question: object = {}): Promise<T> {
  for await (const line of ask(what, question)) {
    if (typeof line.error === "string") throw new Error(line.error);
    return line as T;
  }
  throw new Error("the server has not answered");
}
