import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { matchesArguments, parseArgumentPattern } from "../../plugin-sdk/argument-pattern.ts";
import {
  argumentPatterns,
  exposesPrompt,
  fillCommandTemplate,
  neededPlaceholders,
  parseArguments,
  parseCommandTemplate,
  templatePlaceholders,
} from "../../plugin-sdk/command-template.ts";

const values = {
  binary: "tool",
  model: "large",
  prompt: "Say hello",
  prompt_file: "/temp/prompt.txt",
  output_file: "/temp/output.txt",
  workdir: "/work",
  plugin_dir: "/plugin",
  params: { depth: 3, fast: true, tags: ["a", "b"], name: "x", rules: [{ a: 1 }], place: { x: "y z" } },
};

function fill(template: string, more: object = {}): string[] {
  return fillCommandTemplate(parseCommandTemplate(template), { ...values, ...more }).args;
}

describe("fillCommandTemplate", () => {
  test.each<[string, string[]]>([
    ["{binary}", []],
    ["{binary} run {prompt}", ["run", "Say hello"]],
    ['{binary} -p "{prompt}"', ["-p", "Say hello"]],
    ["{binary} -p '{prompt}!'", ["-p", "Say hello!"]],
    ["{binary} --model={model}", ["--model=large"]],
    ["{binary}\n  -o {output_file}\t{workdir} {plugin_dir}/x", ["-o", "/temp/output.txt", "/work", "/plugin/x"]],
    ["{binary} {params.rules} {params.place}", ['[{"a":1}]', '{"x":"y z"}']],
    ["{binary} {params.depth} {params.fast} {params.tags}", ["3", "true", "a,b"]],
    ['{binary} a\\ b "c d"e \'\' \\{x\\} "q\\"q"', ["a b", "c de", "", "{x}", 'q"q']],
    ['{binary} "a | b > c; $(d) & `e` < f"', ["a | b > c; $(d) & `e` < f"]],
    ["{binary} a\\|b $HOME *.ts ~", ["a|b", "$HOME", "*.ts", "~"]],
  ])("fills %j", (template, args) => expect(fill(template)).toEqual(args));

  test("feeds the prompt's file on standard input", () => {
    const template = parseCommandTemplate("{binary} --model {model} < {prompt_file}");
    expect(fillCommandTemplate(template, values)).toEqual({
      binary: "tool",
      args: ["--model", "large"],
      stdin_file: "/temp/prompt.txt",
    });
    expect(template.prompt_on_stdin).toBe(true);
    expect(template.placeholders).toEqual(["binary", "model", "prompt_file"]);
    expect(parseCommandTemplate("{binary} <{prompt_file} -x").args).toEqual([[{ literal: "-x" }]]);
  });

  test("leaves stdin_file out where nothing is fed", () => {
    expect(fillCommandTemplate(parseCommandTemplate("{binary}"), values)).toEqual({ binary: "tool", args: [] });
  });

  test("keeps any prompt as exactly one argument, also one that looks like a placeholder or an option", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (prompt) => {
      expect(fill("{binary} -p {prompt} -q", { prompt })).toEqual(["-p", prompt, "-q"]);
      expect(fill('{binary} "{prompt}"', { prompt })).toEqual([prompt]);
    }));
    for (const prompt of ["-rf", "--help", "\"a\" 'b'", "{model}", "$(x) | y", "@file", "a\nb", ""]) {
      expect(fill("{binary} {prompt}", { prompt })).toEqual([prompt]);
    }
  });

  test.each<[string, object]>([
    ["{binary} {model}", { model: "-x" }],
    ["{binary} {model}", { model: "@x" }],
    ["{binary} {params.depth}", { params: { depth: -1 } }],
  ])("refuses a value that would become an option: %s with %j", (template, more) => {
    expect(() => fill(template, more)).toThrow(expect.objectContaining({ code: "invalid_request" }));
  });

  test.each<[string, object, string]>([
    ["{binary} {model}", { model: undefined }, "model"],
    ["{binary} {params.none}", {}, "params.none"],
    ["{binary} {params.constructor}", {}, "params.constructor"],
    ["{binary} {params.depth}", { params: { depth: null } }, "params.depth"],
    ["{binary} < {prompt_file}", { prompt_file: undefined }, "prompt_file"],
  ])("names the placeholder without a value: %s", (template, more, placeholder) => {
    expect(() => fill(template, more)).toThrow(
      expect.objectContaining({ code: "invalid_request", details: { placeholder } }),
    );
  });
});

describe("parseCommandTemplate", () => {
  test.each<[string, string, number]>([
    ["", "does not begin with {binary}", 1],
    ["tool {prompt}", "does not begin with {binary}", 1],
    ["{binary}x", "does not begin with {binary}", 1],
    ["{binary} {binary}", "a second {binary}", 10],
    ["{binary} -m {modle}", "unknown placeholder {modle}", 13],
    ["{binary} {}", "unknown placeholder {}", 10],
    ["{binary} {params.}", "unknown placeholder {params.}", 10],
    ['{binary} "{prompt}', 'the quote " is not closed', 10],
    ["{binary} it's", "the quote ' is not closed", 12],
    ["{binary} {prompt", 'the brace "{" is not closed', 10],
    ["{binary} a\\", "nothing follows the backslash", 11],
    ["{binary} a | b", '"|" stands outside quotes', 12],
    ["{binary} a&", '"&" stands outside quotes', 11],
    ["{binary};x", '";" stands outside quotes', 9],
    ["{binary} > out", '">" stands outside quotes', 10],
    ["{binary} a$(x)", '"$(" stands outside quotes', 11],
    ["{binary} `x`", '"`" stands outside quotes', 10],
    ["{binary} <", '{prompt_file} does not follow the "<"', 10],
    ["{binary} < /etc/passwd", '{prompt_file} does not follow the "<"', 10],
    ["{binary} << {prompt_file}", '{prompt_file} does not follow the "<"', 10],
    ["{binary} < {prompt_file} < {prompt_file}", 'a second "<"', 26],
  ])("refuses %j", (template, fault, position) => {
    expect(() => parseCommandTemplate(template)).toThrow(
      expect.objectContaining({
        code: "invalid_manifest",
        message: expect.stringContaining(fault),
        details: { position, fault: expect.any(String) },
      }),
    );
  });

  test("refuses an option that is not declared, when it knows those that are", () => {
    expect(parseCommandTemplate("{binary} {params.a}", { params: ["a"] }).placeholders).toEqual(["binary", "params.a"]);
    expect(() => parseCommandTemplate("{binary} {params.b}", { params: ["a"] })).toThrow("names no option declared");
  });

  test("says in the hint what may stand there", () => {
    expect(() => parseCommandTemplate("{binary} {x}")).toThrow(
      expect.objectContaining({ hint: expect.stringContaining("{output_file}") }),
    );
  });
});

describe("exposesPrompt", () => {
  test.each([
    ["{binary} {prompt}", true],
    ["{binary} run -p {prompt} --json", true],
    ["{binary} {prompt} -- x", true],
    ["{binary} -p -- {prompt}", false],
    ["{binary} --prompt={prompt}", false],
    ["{binary} -p < {prompt_file}", false],
    ["{binary} {prompt_file}", false],
  ])("%s: %s", (template, exposed) => expect(exposesPrompt(parseCommandTemplate(template))).toBe(exposed));
});

describe("argumentPatterns", () => {
  test("makes the prompt any argument and all else one that is no option", () => {
    const template = parseCommandTemplate('{binary} "two words" -m {model} --p={prompt} {prompt} \\{x < {prompt_file}');
    expect(argumentPatterns(template)).toEqual(['"two words" -m {} --p={*} {*} \\{x']);
    expect(argumentPatterns(parseCommandTemplate("{binary}"))).toEqual([""]);
  });

  test("every filled template matches its own pattern, and no other number of arguments does", () => {
    const piece = fc.oneof(
      fc.constantFrom("model", "prompt", "prompt_file", "output_file", "workdir", "plugin_dir", "params.x").map((
        name,
      ) => `{${name}}`),
      fc.string({ unit: "binary" }).map((text) => `"${text.replace(/[\\"{]/g, "\\$&")}"`),
    );
    const word = fc.array(piece, { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join(""));
    const safe = fc.string({ unit: "binary" }).map((text) => `v${text}`);
    fc.assert(fc.property(fc.array(word), fc.string({ unit: "binary" }), safe, (words, prompt, value) => {
      const template = parseCommandTemplate(["{binary}", ...words].join(" "));
      const rest = Object.fromEntries(templatePlaceholders.map((name) => [name, value]));
      const { args } = fillCommandTemplate(template, { ...rest, binary: "b", prompt, params: { x: value } });
      const [line = "?"] = argumentPatterns(template);
      const pattern = parseArgumentPattern(line);
      expect(args).toHaveLength(words.length);
      expect(matchesArguments(pattern, args)).toBe(true);
      expect(matchesArguments(pattern, [...args, "more"])).toBe(false);
    }));
  });
});

describe("a group in brackets", () => {
  const template = parseCommandTemplate("{binary} -p [--resume {continue_from}] [-m {model} --tools={allowed_tools}]");
  const args = (more: object) => fillCommandTemplate(template, { binary: "tool", ...more }).args;

  test("is there only where all its placeholders have a value", () => {
    expect(args({})).toEqual(["-p"]);
    expect(args({ continue_from: "s-1", model: "m" })).toEqual(["-p", "--resume", "s-1"]);
    expect(args({ continue_from: "", model: "m", allowed_tools: ["a", "b"] })).toEqual([
      "-p",
      "-m",
      "m",
      "--tools=a,b",
    ]);
    expect(args({ model: "m", allowed_tools: [] })).toEqual(["-p", "-m", "m", "--tools="]);
    expect(() => args({ continue_from: "-x" })).toThrow("would be read as an option");
  });

  test("gives the run permission a line for each combination, which all commands match", () => {
    const lines = argumentPatterns(template);
    expect(lines).toEqual(["-p", "-p --resume {}", "-p -m {} --tools={}", "-p --resume {} -m {} --tools={}"]);
    for (const more of [{}, { continue_from: "s" }, { model: "m", allowed_tools: ["t"] }]) {
      expect(lines.filter((line) => matchesArguments(parseArgumentPattern(line), args(more)))).toHaveLength(1);
    }
    expect(neededPlaceholders(template)).toEqual([]);
  });

  test("is text where the bracket is quoted, escaped or inside a word", () => {
    expect(fill("{binary} a[{model}] '[x]' \\[y]")).toEqual(["a[large]", "[x]", "[y]"]);
  });

  test.each<[string, string, number]>([
    ["{binary} --resume {continue_from}", "{continue_from} stands outside brackets", 19],
    ["{binary} [-m {model}", 'the bracket "[" is not closed', 10],
    ["{binary} [-v]", "no placeholder in the brackets can be without a value", 10],
    ["{binary} [-p {prompt}]", "no placeholder in the brackets can be without a value", 10],
    ["{binary} [-m {model}]x", 'no blank follows the "]"', 22],
    ["{binary} [-m {model} < {prompt_file}]", 'a "<" stands in brackets', 22],
    ["{binary} [{model}] [{model}] [{model}] [{model}] [{model}]", "group 5 in brackets stands, one too many, at", 50],
  ])("refuses %j", (line, fault, position) => {
    expect(() => parseCommandTemplate(line)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining(fault),
        details: { position, fault: expect.any(String) },
      }),
    );
  });
});

describe("parseArguments", () => {
  test("splits a line in which nothing is filled in", () => {
    expect(parseArguments('auth  status "a b"')).toEqual(["auth", "status", "a b"]);
    expect(parseArguments("")).toEqual([]);
  });

  test("refuses placeholders and signs, with the position", () => {
    expect(() => parseArguments("-m {model}")).toThrow(
      expect.objectContaining({ details: { position: 4, fault: "{model} cannot be filled in" } }),
    );
    expect(() => parseArguments("a | b")).toThrow(
      expect.objectContaining({ details: { position: 3, fault: '"|" stands outside quotes' } }),
    );
  });
});
