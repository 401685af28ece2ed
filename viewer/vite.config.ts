import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";

// One page with everything in it. Its policy allows this one script, by its hash, and nothing from anywhere.
function onePage(): Plugin {
  return {
    name: "one-page",
    enforce: "post",
    generateBundle(_, bundle) {
      let script = "";
      let style = "";
      for (const [name, part] of Object.entries(bundle)) {
        if (part.type === "chunk") script += part.code;
        else if (name.endsWith(".css")) style += part.source;
        else continue;
        delete bundle[name];
      }
      script = script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
      const hash = createHash("sha256").update(script).digest("base64");
      const policy =
        `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; ` +
        "img-src data:; base-uri 'none'; form-action 'none'";
      const page = bundle["index.html"];
      if (!page || page.type !== "asset") throw new Error("no index.html in the bundle");
      const source = String(page.source)
        .replace(/<script type="module"[^>]*><\/script>\s*/, "")
        .replace(/<link rel="stylesheet"[^>]*>\s*/, "");
      const put = (text: string, mark: string, what: string) => {
        if (text.split(mark).length !== 2) throw new Error(`the page needs ${mark} once`);
        return text.split(mark).join(what);
      };
      page.source = put(
        put(put(source, "POLICY", policy), "<!--style-->", `<style>${style}</style>`),
        "<!--script-->",
        `<script>${script}</script>`,
      );
      page.fileName = "viewer.html";
    },
  };
}

export default defineConfig({
  build: {
    outDir: "dist",
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 1e8,
    rollupOptions: { output: { format: "iife", inlineDynamicImports: true } },
  },
  plugins: [onePage()],
});
