import {
  type CallToolResult,
  type CompleteRequest,
  type GetPromptResult,
  type InputRequiredResult,
  type ListResourcesResult,
  type Prompt,
  type ReadResourceResult,
  type ResourceTemplateType,
  Server,
  type ServerContext,
  type Tool,
} from "@modelcontextprotocol/server";
import { invalid } from "./refusals.ts";
import { asksForms, statedCapabilities } from "./stated-capabilities.ts";
import { declaresTasks, type McpTasks, serveTasks, tasksExtension } from "./task-methods.ts";
import { ToolWatch } from "./tool-watch.ts";

/** One call of a tool. */
export interface McpCall {
  context: ServerContext;
  /** Whether the client can put a question to its person. */
  canAsk: boolean;
  /** Whether the client takes a task for an answer. */
  takesTask: boolean;
}

/** Outcome of a tool: its answer, or a question to the client's person. */
export type McpAnswer = CallToolResult | InputRequiredResult;

/** A tool: its description for clients, and its action. */
export interface McpTool extends Tool {
  /** Runs the tool; the arguments are unchecked. */
  call(args: Record<string, unknown>, call: McpCall): Promise<McpAnswer>;
}

/** A prompt: its description for clients, and its messages. */
export interface McpPrompt extends Prompt {
  get(args: Record<string, string>): Promise<GetPromptResult>;
}

/** Resources that can be read by address. */
export interface McpResources {
  templates: ResourceTemplateType[];
  list(cursor: string | undefined): Promise<ListResourcesResult>;
  /** Null for an unknown address. */
  read(uri: string): Promise<ReadResourceResult | null>;
  /** Reports changes until the returned function is called; null where there is nothing to watch. */
  watch(uri: string, onChange: () => void): (() => void) | null;
}

/** Everything that one server offers. */
export interface McpSurface {
  name: string;
  title?: string;
  version: string;
  instructions?: string;
  tools: readonly McpTool[];
  /** Returns tools that come and go; default: none. */
  moreTools?(): Promise<readonly McpTool[]>;
  prompts: readonly McpPrompt[];
  resources: McpResources;
  /** Absent: no answer is a task. */
  tasks?: McpTasks;
  /** Returns possible values of an argument, the likeliest first. */
  complete(params: CompleteRequest["params"]): Promise<string[]>;
}

/** Rounds of questions in one call: an agent may ask often. */
const maxRounds = 1000;
/** Watched addresses of one connection. */
const maxWatched = 64;
/** Values that one completion may name, by the protocol. */
const maxCompletions = 100;

/** Creates a server of the protocol for one connection, or for one request of the newer protocol. */
export function createServer(surface: McpSurface, era: "legacy" | "modern"): Server {
  const { name, title, version, instructions, tools, prompts, resources, complete } = surface;
  // The extension is one of the newer protocol, which has deprecated log messages.
  const tasks = era === "modern" ? surface.tasks : undefined;
  const server = new Server({ name, version, ...(title ? { title } : {}) }, {
    capabilities: {
      tools: { listChanged: true },
      prompts: {},
      resources: { subscribe: true },
      completions: {},
      ...(era === "legacy" ? { logging: {} } : {}),
      ...(tasks === undefined ? {} : { extensions: { [tasksExtension]: {} } }),
    },
    inputRequired: { maxRounds },
    ...(instructions ? { instructions } : {}),
  });
  const more = async () => await surface.moreTools?.() ?? [];
  const watch = new ToolWatch(more, () => void server.sendToolListChanged().catch(() => {}));
  server.setRequestHandler("tools/list", async () => {
    const others = await more().catch(() => []);
    watch.saw(others);
    return { tools: [...tools, ...others].map(({ call: _, ...shown }) => shown) };
  });
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const named = (one: McpTool) => one.name === params.name;
    const tool = tools.find(named) ?? (await more()).find(named);
    if (tool === undefined) throw invalid(`There is no tool "${params.name}".`);
    const takesTask = tasks !== undefined && declaresTasks(statedCapabilities(context));
    return await tool.call(params.arguments ?? {}, { context, canAsk: canAsk(server, context), takesTask });
  });
  if (tasks !== undefined) serveTasks(server, tasks, (context) => canAsk(server, context));
  server.setRequestHandler("prompts/list", () => ({ prompts: prompts.map(({ get: _, ...shown }) => shown) }));
  server.setRequestHandler("prompts/get", async ({ params }) => {
    const prompt = prompts.find((one) => one.name === params.name);
    if (prompt === undefined) throw invalid(`There is no prompt "${params.name}".`);
    const given = params.arguments ?? {};
    const missing = (prompt.arguments ?? []).find((one) => one.required && given[one.name] === undefined);
    if (missing) throw invalid(`Prompt "${params.name}" needs its argument "${missing.name}".`);
    return await prompt.get(given);
  });
  server.setRequestHandler("resources/list", ({ params }) => resources.list(params?.cursor));
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: resources.templates }));
  server.setRequestHandler("resources/read", async ({ params }) => {
    const read = await resources.read(params.uri);
    if (read === null) throw invalid(`There is no resource "${params.uri}".`, { uri: params.uri });
    return read;
  });
  server.setRequestHandler("completion/complete", async ({ params }) => {
    const all = await complete(params);
    const values = all.slice(0, maxCompletions);
    return { completion: { values, total: all.length, hasMore: all.length > values.length } };
  });
  const stopWatching = watchResources(server, resources);
  server.onclose = () => {
    stopWatching();
    watch.end();
  };
  return server;
}

function canAsk(server: Server, context: ServerContext): boolean {
  return asksForms(statedCapabilities(context) ?? server.getClientCapabilities());
}

/** @returns ends the watching */
function watchResources(server: Server, resources: McpResources): () => void {
  const watched = new Map<string, () => void>();
  server.setRequestHandler("resources/subscribe", ({ params: { uri } }) => {
    if (watched.has(uri)) return {};
    if (watched.size >= maxWatched) {
      throw invalid(`Cannot watch "${uri}": ${maxWatched} resources are watched already.`);
    }
    const stop = resources.watch(uri, () => void server.sendResourceUpdated({ uri }).catch(() => {}));
    if (stop !== null) watched.set(uri, stop);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    watched.get(uri)?.();
    watched.delete(uri);
    return {};
  });
  return () => {
    for (const stop of watched.values()) stop();
    watched.clear();
  };
}
