import { readFile } from "../../ground/platform/files/files.ts";
import { fileURLToPath } from "../../ground/platform/files/paths.ts";

// As in `pool/spare-container.ts`: this file may be the build's or the source.
const folder = new URL(
  import.meta.url.endsWith(".ts") ? "../../../dist/console/" : "../../../console/",
  import.meta.url,
);

/** Types of the page's files by the ends of their names. */
const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Encodings in which the build leaves each file, the smallest first. */
const encodings = [["br", ".br"], ["gzip", ".gz"]] as const;

/** Rules for the page: its own code, styles and server alone, in no frame, and no text that becomes markup. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Answers requests for the console's page; null for every other path. Reads a file at each request and keeps none. */
export async function consolePage(request: Request): Promise<Response | null> {
  const name = nameIn(new URL(request.url).pathname);
  const type = types[name?.split(".")[1] ?? ""];
  if (name === null || type === undefined || request.method !== "GET" && request.method !== "HEAD") return null;
  const accepted = request.headers.get("accept-encoding") ?? "";
  const [encoding, ending] = encodings.find(([one]) => accepts(accepted, one)) ?? [null, ""];
  const bytes = await readFile(fileURLToPath(new URL(`${name}${ending}`, folder))).catch(() => null);
  if (bytes === null) return null;
  return new Response(request.method === "HEAD" ? null : new Uint8Array(bytes), {
    headers: {
      "content-type": type,
      "content-length": String(bytes.length),
      "content-security-policy": policy,
      "permissions-policy": "camera=(), geolocation=(), microphone=()",
      "vary": "accept-encoding",
      ...(encoding === null ? {} : { "content-encoding": encoding }),
    },
  });
}

/** Name of the file at a path; null for what is no file of the page. */
function nameIn(path: string): string | null {
  if (path === "/console") return "index.html";
  return /^\/console\/([a-z][A-Za-z0-9-]*\.[a-z]+)$/.exec(path)?.[1] ?? null;
}

function accepts(header: string, encoding: string): boolean {
  return header.split(",").some((one) => one.trim().toLowerCase() === encoding);
}
