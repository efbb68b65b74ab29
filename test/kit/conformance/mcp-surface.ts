import { inputRequired, inputResponse, type ServerContext } from "@modelcontextprotocol/server";
import { bulkheadSurface } from "../../../core/doors/mcp/bulkhead-surface.ts";
import type { McpPrompt, McpResources, McpSurface, McpTool } from "../../../core/doors/mcp/surface.ts";
import { noWorkspaces } from "../../doors/mcp/mcp-client.ts";
import { ScriptedHost } from "../../sessions/host/scripted-session-host.ts";

/** A picture and a sound, as small as they can be. */
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

const nothing: McpTool["inputSchema"] = { type: "object", properties: {} };
const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
const text = (words: string) => ({ type: "text" as const, text: words });
const image = { type: "image" as const, data: png, mimeType: "image/png" };
const embedded = (uri: string, words: string, mimeType = "text/plain") => ({
  type: "resource" as const,
  resource: { uri, mimeType, text: words },
});

type Act = (args: Record<string, unknown>, context: ServerContext) => ReturnType<McpTool["call"]>;

function tool(name: string, act: Act): McpTool {
  return {
    name,
    description: `What the conformance suite asks for: ${name}.`,
    inputSchema: nothing,
    call: (args, { context }) => act(args, context),
  };
}

/** The tools that the suite's scenarios call, through the door's own server. */
const tools: McpTool[] = [
  tool("test_simple_text", async () => ({ content: [text("This is a simple text response for testing.")] })),
  tool("test_image_content", async () => ({ content: [image] })),
  tool("test_audio_content", async () => ({ content: [{ type: "audio", data: wav, mimeType: "audio/wav" }] })),
  tool("test_embedded_resource", async () => ({
    content: [embedded("test://embedded-resource", "This is an embedded resource content.")],
  })),
  tool("test_multiple_content_types", async () => ({
    content: [
      text("Multiple content types test:"),
      image,
      embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ],
  })),
  tool("test_tool_with_logging", async (_args, { mcpReq }) => {
    for (const words of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await mcpReq.log("info", words);
      await pause();
    }
    return { content: [text("It has logged.")] };
  }),
  tool("test_tool_with_progress", async (_args, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      const params = { progressToken, progress, total: 100 };
      if (progressToken !== undefined) await mcpReq.notify({ method: "notifications/progress", params });
      await pause();
    }
    return { content: [text("It has made progress.")] };
  }),
  tool("test_error_handling", async () => ({
    content: [text("This tool intentionally returns an error for testing")],
    isError: true,
  })),
  tool("test_sampling", async ({ prompt }, { mcpReq }) => {
    const answer = await mcpReq.requestSampling({
      messages: [{ role: "user", content: text(String(prompt)) }],
      maxTokens: 100,
      // On the stream of this call: the client may not have opened the other one yet, and then the library drops it.
    }, { relatedRequestId: mcpReq.id });
    return { content: [text(`LLM response: ${JSON.stringify(answer.content)}`)] };
  }),
  elicits("test_elicitation", (args) => String(args["message"]), {
    username: { type: "string", description: "User's response" },
    email: { type: "string", description: "User's email address" },
  }),
  elicits("test_elicitation_sep1034_defaults", () => "Please fill this in.", {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  }),
  elicits("test_elicitation_sep1330_enums", () => "Please choose.", {
    untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
    titledSingle: { type: "string", oneOf: titled("value", "Option") },
    legacyEnum: {
      type: "string",
      enum: ["opt1", "opt2", "opt3"],
      enumNames: ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
    titledMulti: { type: "array", items: { anyOf: titled("value", "Choice") } },
  }),
  tool("test_reconnection", async (_args, { http }) => {
    http?.closeSSE?.();
    await pause();
    return { content: [text("It was finished while nobody listened.")] };
  }),
  {
    name: "json_schema_2020_12_tool",
    description: "Tool with JSON Schema 2020-12 features",
    inputSchema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } },
      },
      properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
      additionalProperties: false,
    },
    call: async () => ({ content: [text("It was called.")] }),
  },
];

function titled(value: string, title: string) {
  return ["First", "Second", "Third"].map((nth, index) => ({
    const: `${value}${index + 1}`,
    title: `${nth} ${title}`,
  }));
}

/** Asks the client's person, in the way of the door's own tools. */
function elicits(name: string, message: (args: Record<string, unknown>) => string, properties: object): McpTool {
  return tool(name, async (args, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, "form");
    if (answer.kind === "elicit") return { content: [text(`User response: ${JSON.stringify(answer)}`)] };
    const requestedSchema = { type: "object", properties } as Parameters<
      typeof inputRequired.elicit
    >[0]["requestedSchema"];
    return inputRequired({
      inputRequests: { form: inputRequired.elicit({ message: message(args), requestedSchema }) },
    });
  });
}

const prompts: McpPrompt[] = [
  prompt("test_simple_prompt", [], () => [text("This is a simple prompt for testing.")]),
  prompt("test_prompt_with_arguments", ["arg1", "arg2"], ({ arg1, arg2 }) => [
    text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`),
  ]),
  prompt("test_prompt_with_embedded_resource", ["resourceUri"], ({ resourceUri = "" }) => [
    embedded(resourceUri, "Embedded resource content for testing."),
    text("Please process the embedded resource above."),
  ]),
  prompt("test_prompt_with_image", [], () => [image, text("Please analyze the image above.")]),
];

type Content = ReturnType<typeof text> | ReturnType<typeof embedded> | typeof image;

function prompt(name: string, names: string[], contents: (args: Record<string, string>) => Content[]): McpPrompt {
  return {
    name,
    description: `What the conformance suite asks for: ${name}.`,
    arguments: names.map((one) => ({ name: one, description: "An argument.", required: true })),
    get: async (args) => ({ messages: contents(args).map((content) => ({ role: "user" as const, content })) }),
  };
}

/** All that Bulkhead offers, and beside it what the suite asks of any server. */
export function conformanceSurface(): McpSurface {
  const own = bulkheadSurface({ sessions: new ScriptedHost(async () => {}), workspaces: noWorkspaces });
  return {
    ...own,
    tools: [...own.tools, ...tools],
    prompts: [...own.prompts, ...prompts],
    resources: withStatic(own.resources),
  };
}

function withStatic(own: McpResources): McpResources {
  const words = "This is the content of the static text resource.";
  const statics = {
    "test://static-text": { mimeType: "text/plain", text: words },
    "test://static-binary": { mimeType: "image/png", blob: png },
    "test://watched-resource": { mimeType: "text/plain", text: words },
  };
  return {
    templates: [...own.templates, {
      name: "test-template",
      uriTemplate: "test://template/{id}/data",
      description: "What the conformance suite asks for.",
      mimeType: "application/json",
    }],
    async list(cursor) {
      const { resources } = await own.list(cursor);
      const more = Object.entries(statics).map(([uri, { mimeType }]) => ({
        uri,
        name: uri,
        description: uri,
        mimeType,
      }));
      return { resources: [...resources, ...more] };
    },
    async read(uri) {
      const found = Object.entries(statics).find(([name]) => name === uri);
      if (found) return { contents: [{ uri, ...found[1] }] };
      const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
      if (id === undefined) return await own.read(uri);
      const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
      return { contents: [{ uri, mimeType: "application/json", text: data }] };
    },
    watch: (uri, onChange) => uri in statics ? () => {} : own.watch(uri, onChange),
  };
}
