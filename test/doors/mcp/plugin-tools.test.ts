import { describe, expect, test } from "vitest";
import { adapterCode, openHost, until } from "../../sessions/host/test-host.ts";
import { connectOverHttp, connectOverPipes, eras } from "./mcp-client.ts";

const ner = adapterCode(`    const { language = "none", rules = [] } = request.params ?? {};
    const names = language === "de" ? { name: "Ada" } : { names: [language, request.prompt, ...rules] };
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null, output: "Found.",
      structured_output: names };`);
const manifest = `expose: tool
config:
  type: object
  properties:
    language: { type: string, enum: [en, de], description: Language of the text. }
    depth: { type: integer, minimum: 1 }
    skip: { type: array, max_length: 3 }
    rules: { type: array, items: { type: object, properties: { word: { type: string } }, required: [word] } }
output_schema: { type: object, properties: { names: { type: array } }, required: [names] }`;

const wires = { pipes: connectOverPipes, http: connectOverHttp };
const cases = eras.flatMap((era) =>
  (["pipes", "http"] as const).map((wire) => ({ era, wire, connect: wires[wire] as typeof connectOverPipes }))
);

describe.each(cases)("a plugin's own tool over $wire, $era", ({ era, connect }) => {
  test("has its description, its options and its output schema", async () => {
    const { host, add } = await openHost();
    await add("ner", { code: ner, manifest });
    await add("plain", { code: ner });
    await using tester = await connect({ sessions: host.sessions }, { era });
    const { tools } = await tester.client.listTools();
    expect(tools.map(({ name }) => name)).not.toContain("plain");
    expect(tools.find(({ name }) => name === "ner")).toMatchObject({
      title: "ner",
      description: "Made by a test.",
      inputSchema: {
        type: "object",
        properties: {
          language: { type: "string", enum: ["en", "de"], description: "Language of the text." },
          depth: { type: "integer", minimum: 1 },
          skip: { type: "array", items: { type: "string" }, maxItems: 3 },
          rules: {
            type: "array",
            items: {
              type: "object",
              properties: { word: { type: "string" } },
              required: ["word"],
              additionalProperties: false,
            },
          },
          prompt: { type: "string" },
          workdir: { type: "string" },
        },
        required: ["prompt", "workdir"],
        additionalProperties: false,
      },
      outputSchema: { type: "object", required: ["names"] },
    });
    const { structuredContent } = await tester.client.callTool({ name: "list_agents", arguments: {} });
    const { agents } = (structuredContent as { data: { agents: object[] } }).data;
    expect(agents).toContainEqual(expect.objectContaining({
      id: "ner",
      description: "Made by a test.",
      config: expect.objectContaining({
        properties: expect.objectContaining({ depth: { type: "integer", minimum: 1 } }),
      }),
      expose: "tool",
    }));
  });

  test("gives the data for a right argument, and says what is wrong with another", async () => {
    const { host, add, workdir } = await openHost();
    await add("ner", { code: ner, manifest });
    await using tester = await connect({ sessions: host.sessions }, { era });
    await tester.client.listTools();
    const call = async (args: Record<string, unknown>) =>
      await tester.client.callTool({ name: "ner", arguments: { prompt: "Ada", workdir, ...args } });
    const right = await call({ language: "en" });
    expect(right.isError).toBeFalsy();
    expect(right.structuredContent).toEqual({ names: ["en", "Ada"] });
    expect(JSON.parse((right.content[0] as { text: string }).text)).toEqual(right.structuredContent);
    const rules = await call({ language: "en", rules: [{ word: "of" }] });
    expect(rules.structuredContent).toEqual({ names: ["en", "Ada", { word: "of" }] });
    for (
      const args of [{ rules: [{ words: 1 }] }, { language: "fr" }, { surprise: 1 }, { prompt: 7 }, {
        workdir: "/no/such/folder",
      }]
    ) {
      const wrong = await call(args);
      expect(wrong.isError).toBe(true);
      expect(JSON.parse((wrong.content[0] as { text: string }).text)).toMatchObject({ success: false });
    }
    const bare = await tester.client.callTool({ name: "ner", arguments: { prompt: "Ada" } });
    expect(bare).toMatchObject({ isError: true });
    expect((bare.content[0] as { text: string }).text).toContain("workdir: expected string");
    const broken = await call({ language: "de" });
    expect(broken).toMatchObject({ isError: true });
    expect(JSON.parse((broken.content[0] as { text: string }).text)).toMatchObject({
      error_type: "output_invalid",
      details: { structured_output: { name: "Ada" } },
    });
  });
});

test("a tool whose name is taken has another one", async () => {
  const { host, add } = await openHost();
  await add("answer", { code: ner, manifest: "expose: tool" });
  await using tester = await connectOverPipes({ sessions: host.sessions });
  const names = (await tester.client.listTools()).tools.map(({ name }) => name);
  expect(names.filter((name) => name.includes("answer"))).toEqual(["answer", "run-answer"]);
});

describe.each(cases)("a list of tools that changes, over $wire, $era", ({ era, connect }) => {
  test("is announced", async () => {
    const { host, add } = await openHost();
    await add("ner", { code: ner, manifest });
    let told = 0;
    await using tester = await connect({ sessions: host.sessions }, { era, onTools: () => told++ });
    await tester.client.listTools();
    await add("second", { code: ner, manifest });
    await until(() => told > 0);
    expect((await tester.client.listTools()).tools.map(({ name }) => name)).toContain("second");
  });
});
