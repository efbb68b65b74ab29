import { tmpdir } from "node:os";
import { describe, expect, test, vi } from "vitest";
import { helpPages } from "../../../core/doors/cli/help-pages.ts";
import { pageLines } from "../../../core/doors/cli/render/page-lines.ts";
import { createPaint } from "../../../core/doors/cli/render/paint.ts";
import { tellError } from "../../../core/doors/cli/render/error-text.ts";
import { propertiesOf } from "../../../core/ground/checks/properties-of.ts";
import { termsSchema } from "../../../core/ground/checks/message-terms.ts";
import { requestFlags } from "../../../core/doors/cli/request-flags.ts";
import { runCli } from "../../../core/doors/cli/run-cli.ts";
import { brokenLines } from "./broken-lines.ts";
import { fakeHost } from "./fake-host.ts";
import { fakeTerminal } from "./fake-terminal.ts";

async function cli(args: string[], options = {}) {
  const terminal = fakeTerminal({ args, cwd: tmpdir(), ...options });
  const code = await runCli(terminal, { createHost: fakeHost().create });
  return { code, out: terminal.out(), err: terminal.err() };
}

describe("bulkhead help", () => {
  test("alone lists commands and pages", async () => {
    const { code, out } = await cli(["help"]);
    expect(code).toBe(0);
    expect(out).toContain("Usage: bulkhead");
    for (const [name, about] of Object.entries(helpPages)) expect(out).toMatch(new RegExp(`^  ${name} +${about}`, "m"));
  });

  test.each([40, 50, 80])("breaks no word in a terminal of %i columns", async (columns) => {
    for (const words of [["--help"], ["help", "run"], ["help", "session", "list"]]) {
      expect(brokenLines((await cli(words, { columns })).out, columns)).toEqual([]);
    }
  });

  test("shows the usage of a command and of a sub-command", async () => {
    expect((await cli(["help", "run"])).out).toContain("Usage: bulkhead run");
    expect((await cli(["help", "plugin", "grant"])).out).toContain("Usage: bulkhead plugin grant");
  });

  test.each(["run", "chat", "acp", "loop", "session say", "session rerun"])(
    "%s offers a copy of a session only where it offers to go on from one",
    async (words) => {
      const { out } = await cli(["help", ...words.split(" ")]);
      expect(out.includes("--continue-at")).toBe(out.includes("--continue-from"));
    },
  );

  test("session say has flags for what a message takes, and no others", async () => {
    const { out } = await cli(["help", "session", "say"]);
    const fields = new Set([
      ...Object.keys(propertiesOf(termsSchema)),
      "prompt",
      "content",
      "output_schema",
      "traceparent",
    ]);
    for (const { field, flags } of requestFlags) {
      const flag = flags.split(", ").at(-1)!.split(" ")[0]!;
      expect({ [flag]: new RegExp(`${flag}\\b`).test(out) }).toEqual({ [flag]: fields.has(field.split(".")[0]!) });
    }
  });

  test.each(Object.keys(helpPages))("%s prints the page within the terminal's width", async (page) => {
    const { code, out, err } = await cli(["help", page], { columns: 80 });
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("After this page");
    expect(out).not.toMatch(/<!--|\]\(|^\|/m);
    // Code and long names are never broken.
    const prose = out.slice(out.indexOf("After this page")).split("\n").filter((line) =>
      !line.startsWith("    ") && !/\S{60}/.test(line)
    );
    for (const line of prose) expect([...line].length, line).toBeLessThanOrEqual(80);
  });

  test("--json gives the exit codes with the page of the errors", async () => {
    const { out } = await cli(["help", "errors", "--json"]);
    const { exit_codes } = JSON.parse(out) as { exit_codes: Record<string, unknown>[] };
    expect(exit_codes).toContainEqual({
      exit_code: 7,
      meaning: "a deadline passed",
      stop_reasons: expect.arrayContaining(["timeout"]),
      errors: expect.arrayContaining(["timeout"]),
    });
  });

  test("--json gives the page as Markdown", async () => {
    const { out } = await cli(["help", "secrets", "--json"]);
    expect(JSON.parse(out)).toMatchObject({ page: "secrets", markdown: expect.stringMatching(/^# Secrets/) });
  });

  test("a word that is neither says what was meant, with exit code 5", async () => {
    const { code, err } = await cli(["help", "permisions"]);
    expect(code).toBe(5);
    expect(err).toContain('There is no command "permisions"');
    expect(err).toContain("Did you mean: bulkhead help permissions");
    expect((await cli(["help", "plugin", "nope"])).code).toBe(5);
  });
});

test("help shows commands as the person types them", async () => {
  vi.stubEnv("BULKHEAD_COMMAND", "npx bulkhead");
  try {
    const { out: whole } = await cli(["--help"]);
    expect(whole).toContain("Usage: npx bulkhead [options] [command]");
    expect(whole).toContain("  npx bulkhead setup\n      find the agents");
    expect(whole.split("\n").filter((line) => line.length > 100)).toEqual([]);
    expect((await cli(["plugin", "new", "--help"])).out).toContain("Usage: npx bulkhead plugin new [options] <name>");
    expect((await cli(["help"])).out).toContain("Pages (npx bulkhead help <page>):");
    const { out: page } = await cli(["help", "get-started"]);
    expect(page).toContain("    npx bulkhead setup");
    expect(page).toContain("(npx bulkhead help agents)");
    // A name that another program is told.
    expect(page).toContain(" -n bulkhead core/");
    expect(page).not.toMatch(/(?<!npx )bulkhead run/);
  } finally {
    vi.unstubAllEnvs();
  }
});

test("pageLines renders headings, lists, tables, links and code", () => {
  const page =
    "# Title\n\nSome **bold** `code`, see [Limits](limits.md#x).\n\n- one\n- two\n\n| A | B |\n| --- | --- |\n" +
    '| `x` | says \\| it |\n\n```sh\nrun it\n```\n\n<picture>\n  <source srcset="a">\n  <img alt="A wall." src="b">\n</picture>\n';
  expect(pageLines(page, { columns: 60, paint: createPaint(false) })).toEqual([
    "Title",
    "",
    "Some bold code, see Limits (bulkhead help limits).",
    "",
    "  - one",
    "  - two",
    "",
    "  x",
    "      says | it",
    "",
    "    run it",
    "",
    "Picture: A wall.",
  ]);
});

test("an error names the page that explains it, and wrong usage the command's own help", async () => {
  const terminal = fakeTerminal();
  await tellError({ code: "permission_denied", message: "Cannot read.", hint: "Grant it." }, terminal);
  expect(terminal.err()).toBe("error: Cannot read.\n  Grant it.\n  More: bulkhead help permissions\n");
  expect((await cli(["run", "--nonsense"])).err).not.toContain("More:");
});
