import { coversPattern, mayMeet, sameForm } from "../../../core/packages/permissions/argument-samples.ts";
import { formatArgumentPattern, matchesArguments, parseArgumentPattern } from "../../../plugin-sdk/argument-pattern.ts";
import {
  argumentPatterns,
  fillCommandTemplate,
  parseArguments,
  parseCommandTemplate,
} from "../../../plugin-sdk/command-template.ts";
import { promise, type Target } from "../target.ts";

const values = {
  binary: "demo",
  model: "m",
  prompt: "--help; rm -rf / `x` $(y)",
  prompt_file: "/tmp/p",
  output_file: "/tmp/o",
  workdir: "/w",
  plugin_dir: "/p",
  params: { x: "1", depth: 3 },
};

/** Lines of arguments: patterns and command templates. */
export const patternTargets: readonly Target[] = [
  {
    name: "argument-pattern",
    weight: 14,
    seeds: [
      "commit -m {*} {...}\ncommit -m x y z",
      '--model={} {} \'a b\' "c\\"d"\n--model=x y',
      "{...} a {...} b {...}\na b a b",
      "a{}b{*}c\naxbyc",
      "{...} {*} {...} {*}\n{*} {...} {*} {...}",
    ],
    tokens: ["{...} ", "{*}", "{}", " ", "'", '"', "\\", "a", "--x=", "-", "@", "\n"],
    read(input) {
      const [line = "", other = ""] = input.split("\n");
      const pattern = parseArgumentPattern(line);
      const written = formatArgumentPattern(pattern);
      promise(formatArgumentPattern(parseArgumentPattern(written)) === written, "a written pattern reads as itself");
      const args = other.split(" ").slice(0, 200);
      const matched = matchesArguments(pattern, args);
      const second = parseArgumentPattern(other);
      const fits = matchesArguments(second, args);
      if (fits && coversPattern(line, other)) promise(matched, "a wider pattern allows what a narrower one allows");
      if (fits && matched) promise(mayMeet(line, other), "patterns that share a call may meet");
      promise(coversPattern(line, line) && mayMeet(line, line), "a pattern covers and meets itself");
      promise(sameForm(sameForm(line)) === sameForm(line), "a form that can be compared stays the same");
    },
  },
  {
    name: "command-template",
    weight: 12,
    seeds: [
      "{binary} --model {model} < {prompt_file}",
      "{binary} -p {prompt} --out={output_file} '{params.x} y' \"\\{no\\}\"",
      "{binary} {workdir}/x {params.depth}{model}",
    ],
    tokens: [
      "{binary} ",
      "{prompt}",
      "{prompt_file}",
      "{params.x}",
      "< ",
      "> ",
      "| ",
      "$(x)",
      "`",
      "'",
      '"',
      "\\",
      "{",
      "}",
      " ",
    ],
    read(input) {
      const template = parseCommandTemplate(input, { params: ["x", "depth"] });
      const { args, binary } = fillCommandTemplate(template, values);
      promise(binary === "demo" && args.length === template.args.length, "a value stays inside its argument");
      const patterns = argumentPatterns(template).map(parseArgumentPattern);
      promise(
        patterns.some((pattern) => matchesArguments(pattern, args)),
        "a template's own pattern allows what it becomes",
      );
    },
  },
  {
    name: "argument-line",
    weight: 4,
    seeds: ["--version", "auth status 'a b' \"c\""],
    tokens: ["'", '"', "\\", "{}", "|", " ", "\t", "$("],
    read: (input) => parseArguments(input),
  },
];
