/** A program beside this file: a source on Deno, what was compiled from it on Node. */
export function programUrl(name: "bare-worker" | "cold-program" | "echo" | "warm-session"): URL {
  return new URL(`./${name}${import.meta.url.slice(import.meta.url.lastIndexOf("."))}`, import.meta.url);
}
