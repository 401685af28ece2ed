import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";

// The two pages: their sources, their names, and what their policies allow besides their own script.
const VIEWER = { file: "index.html", name: "viewer.html", scripts: "", more: "" };
const STUDIO = { file: "studio.html", name: "studio.html", scripts: " 'wasm-unsafe-eval'", more: "connect-src 'self'; " };

// One page with everything in it. Its policy allows this one script, by its hash, and nothing from anywhere.
function onePage({ file, name: fileName, scripts, more }: typeof VIEWER): Plugin {
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
        `default-src 'none'; script-src 'sha256-${hash}'${scripts}; ${more}style-src 'unsafe-inline'; ` +
        "img-src data:; base-uri 'none'; form-action 'none'";
      const page = bundle[file];
      if (!page || page.type !== "asset") throw new Error(`no ${file} in the bundle`);
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
      page.fileName = fileName;
    },
  };
}

export default defineConfig(({ mode }) => ({
  build: {
    outDir: "dist",
    emptyOutDir: mode !== "studio",
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 1e8,
    rollupOptions: { input: (mode === "studio" ? STUDIO : VIEWER).file, output: { format: "iife", inlineDynamicImports: true } },
  },
  plugins: [onePage(mode === "studio" ? STUDIO : VIEWER)],
}));
