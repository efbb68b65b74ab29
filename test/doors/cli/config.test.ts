import { readFile } from "node:fs/promises";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hostManifestJsonSchema } from "../../../core/ground/config/host-manifest-schema.ts";
import { newOperator } from "../../packages/install/operator.ts";

beforeEach(() => void (process.env["BULKHEAD_TEST_KEY"] = "value-of-the-key"));
afterEach(() => void delete process.env["BULKHEAD_TEST_KEY"]);

const text = `bulkhead: 1
plugins:
  replay: # mine
    grant: { read: [plugin] }
limits: { timeout_ms: 60000 }
daemon:
  port: 0
`;

describe("config check", () => {
  it("says what is enabled, or every fault at line and column", async () => {
    const operator = await newOperator(text);
    expect(await operator.bulkhead("config", "check")).toMatchObject({
      code: 0,
      out: expect.stringContaining("1 plugin enabled: replay."),
    });
    await operator.write(
      "bulkhead.yaml",
      "bulkhead: 1\nplugins:\n  replay:\n    isolation: thread\nlimits: { timeout: 1 }\ndaemon: { port: 70000 }\n",
    );
    const { code, err } = await operator.bulkhead("config", "check");
    expect(code).toBe(2);
    expect(err).toContain("bulkhead.yaml:4:16 plugins.replay.isolation: expected process, or trusted: true beside it");
    expect(err).toContain("bulkhead.yaml:5:11 limits.timeout: expected a known key");
    expect(err).toContain("bulkhead.yaml:6:17 daemon.port: expected");
  });

  it("says what each budget is, and what is wrong with one", async () => {
    const budgets = "budgets:\n  a: { labels: { team: a }, per: day, cost: 20 }\n  all: { tokens: 5 }\n";
    const operator = await newOperator(text + budgets);
    const { out } = await operator.bulkhead("config", "check");
    expect(out).toContain('Budget "a": 20 a day, for sessions with the label team=a.\n');
    expect(out).toContain('Budget "all": 5 tokens in all, for all sessions.\n');
    await operator.write("bulkhead.yaml", `${text}budgets:\n  a: { per: week, cost: 1 }\n  b: { per: day }\n`);
    const { code, err } = await operator.bulkhead("config", "check");
    expect(code).toBe(2);
    expect(err).toContain("budgets.a.per: expected");
    expect(err).toContain('budgets.b: expected "cost", "tokens" or both');
    const many = Array.from({ length: 257 }, (_, at) => `  b${at}: { tokens: 1 }\n`).join("");
    await operator.write("bulkhead.yaml", `${text}budgets:\n${many}`);
    expect((await operator.bulkhead("config", "check")).err).toContain("budgets: expected at most 256 budgets");
    await operator.write("bulkhead.yaml", `${text}${budgets}cluster: { servers: ["nats://127.0.0.1:1"], name: c }\n`);
    expect((await operator.bulkhead("config", "check")).out).toContain("A cluster cannot hold it");
  });

  it("finds what only the plugins can tell: one that is not there, an option that it has not", async () => {
    const operator = await newOperator("bulkhead: 1\nplugins:\n  nobody: {}\n  replay:\n    config: { nothing: 1 }\n");
    const { code, err } = await operator.bulkhead("config", "check");
    expect(code).toBe(2);
    expect(err).toContain("bulkhead.yaml:3:3 plugins.nobody: expected the id of a plugin");
    expect(err).toContain("bulkhead.yaml:5:15 plugins.replay.config.nothing");
  });
});

describe("tools", () => {
  const tool = (lines: string) => newOperator(`bulkhead: 1\ntools:\n  x:\n    binary: tr\n${lines}`);

  it("takes models as a list, as other hosts do", async () => {
    const operator = await tool(
      '    command_template: "{binary} -m {model} < {prompt_file}"\n    models: [pro, flash]\n',
    );
    expect(await operator.bulkhead("config", "check")).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse((await operator.bulkhead("agents", "--json")).out.split("\n")[0]!)).toMatchObject({
      models: ["pro", "flash"],
    });
  });

  it("notes that a prompt may become an option of the program, at every place where it is read", async () => {
    const note = 'A prompt that begins with "-" may be taken for an option of the program. Write -- {prompt}';
    const operator = await tool('    command_template: "{binary} {prompt}"\n');
    for (const command of [["config", "check"], ["plugin", "check", "x"]]) {
      expect(await operator.bulkhead(...command)).toMatchObject({ code: 0, out: expect.stringContaining(note) });
    }
    const { out } = await operator.bulkhead("run", "x", "--json", "--", "--help");
    expect(out).toContain(JSON.stringify(note).slice(1, -1));
    expect((await operator.bulkhead("run", "x", "hello", "--json")).out).not.toContain("may be taken");
    const safe = await tool('    command_template: "{binary} -- {prompt}"\n');
    expect((await safe.bulkhead("config", "check")).out).not.toContain("may be taken");
  });
});

describe("routing and grants", () => {
  it("refuses an agent that is not there, and notes a grant that nothing asks for", async () => {
    const operator = await newOperator(`${text}routing: { agent: rplay }\n`);
    const { code, err } = await operator.bulkhead("config", "check");
    expect(code).toBe(2);
    expect(err).toContain('bulkhead.yaml:8:19 routing.agent: expected the id of an enabled plugin, found "rplay"');
    expect(err).toContain('did you mean "replay"?');
    await operator.write("bulkhead.yaml", text);
    const note = "replay does not ask for it, so the grant has no effect.";
    expect(await operator.bulkhead("plugin", "grant", "replay", "env:HOME")).toMatchObject({
      code: 0,
      out: expect.stringContaining(`Note: ${note}\n`),
    });
    expect((await operator.bulkhead("config", "check")).out).toContain(`Note: env HOME: ${note}\n`);
  });
});

describe("config show", () => {
  it("shows what is in force and where it comes from", async () => {
    const operator = await newOperator(text);
    const { code, out } = await operator.bulkhead("config", "show", "--json");
    expect(code).toBe(0);
    const settings = Object.fromEntries(
      out.trim().split("\n").map((line) => JSON.parse(line)).map((one) => [one.key, one]),
    );
    const file = `${operator.folder}/bulkhead.yaml`;
    expect(settings["limits.timeout_ms"]).toEqual({
      key: "limits.timeout_ms",
      value: 60000,
      hidden: false,
      origin: { from: "file", file, line: 5, column: 23 },
    });
    expect(settings["limits.workers"]).toEqual({
      key: "limits.workers",
      value: 4,
      hidden: false,
      origin: { from: "default" },
    });
    expect(settings["plugins.replay.grant"]).toMatchObject({ value: { read: ["plugin"] }, origin: { line: 4 } });
    expect(settings["plugins.replay.isolation"]).toMatchObject({ value: "process", origin: { from: "default" } });
    expect(settings["daemon.port"]).toMatchObject({ value: 0, origin: { from: "file", line: 7 } });
    expect(settings["daemon.log_level"]).toMatchObject({ value: "info", origin: { from: "default" } });
    expect((await operator.bulkhead("config", "show")).out).toMatch(/daemon\.port +bulkhead\.yaml:7:9 +0\n/);
  });

  it("hides what may be a secret: what comes out of the environment, and options with such names", async () => {
    const operator = await newOperator(
      'bulkhead: 1\nstate_dir: "/tmp/${BULKHEAD_TEST_KEY}"\nplugins:\n  x:\n    config: { url: "a ${BULKHEAD_TEST_KEY}", api_key: literal-key, size: 3 }\n',
    );
    for (const json of [[], ["--json"]]) {
      const { code, out } = await operator.bulkhead("config", "show", ...json);
      expect(code).toBe(0);
      expect(out).not.toContain("literal-key");
      expect(out).not.toContain("a value-of-the-key");
    }
    const { out } = await operator.bulkhead("config", "show");
    expect(out).toMatch(/plugins\.x\.config\.url +\$BULKHEAD_TEST_KEY in bulkhead\.yaml:5:20 +\(hidden\)/);
    expect(out).toMatch(/plugins\.x\.config\.size +bulkhead\.yaml:5:\d+ +3/);
  });
});

describe("schema", () => {
  it("prints the schema that init writes", async () => {
    const operator = await newOperator();
    const { out } = await operator.bulkhead("schema", "host");
    expect(JSON.parse(out)).toEqual(hostManifestJsonSchema());
    await operator.bulkhead("init", "--force");
    expect(JSON.parse(await readFile(`${operator.folder}/bulkhead.schema.json`, "utf8"))).toEqual(JSON.parse(out));
  });
});
