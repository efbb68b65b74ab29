import { absolutePath } from "../../../core/ground/platform/files/contain-path.ts";
import { cleanLine, cleanText } from "../../../core/ground/log/terminal-text.ts";
import { promise, type Target } from "../target.ts";
import { isInside } from "../../../core/ground/platform/files/paths.ts";

/** Paths as adapters name them. */
export const pathTargets: readonly Target[] = [
  {
    name: "path",
    weight: 12,
    seeds: [
      "src/main.ts",
      "../../etc/passwd",
      "data:notes/x",
      "/etc/passwd",
      "./a/./b/../c",
      "a\\..\\b",
      "~/.ssh/id_rsa",
      "data:/../../x",
    ],
    tokens: ["../", "./", "/", "//", "..", "data:", "file:", "%2e%2e/", "\\", "~", "/proc/self/root", " "],
    read(input) {
      const path = absolutePath(input, { workdir: "/work/dir", dataDir: "/data/dir" });
      promise(path.startsWith("/"), "a path is absolute");
      promise(!path.split("/").includes(".."), "no step up is left in a path");
      promise(!path.includes("\0"), "a path holds no NUL");
      const inside = path === "/work/dir" || path.startsWith("/work/dir/");
      promise(isInside("/work/dir", path) === inside, "inside is told by whole segments");
    },
  },
  {
    name: "terminal-text",
    weight: 6,
    seeds: ["\u001b[31mred\u001b[0m\n", "\u001b]0;title\u0007", "a\u202eb\u200bc\ud800"],
    tokens: ["\u001b[", "\u001b]52;c;", "\u0007", "\u009b", "\r", "\u2028", "\u{e0041}", "\\u{1b}"],
    read(input) {
      // deno-lint-ignore no-control-regex
      const raw = /[\u0000-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2028\u2029]/;
      promise(!raw.test(cleanText(input)), "no control character is left");
      promise(!raw.test(cleanLine(input, 100)), "no control character is left in a line");
      promise(cleanText(cleanText(input)) === cleanText(input), "clean text stays as it is");
      promise(cleanText(input).isWellFormed(), "clean text has no half characters");
    },
  },
];
