import type { ListResourcesResult, ReadResourceResult, Resource } from "@modelcontextprotocol/server";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionSummary } from "../../../plugin-sdk/session-summary.ts";
import { toBulkheadError } from "../../ground/errors/to-error-data.ts";
import type { SessionHandle, SessionHost } from "../../sessions/host/session-host.ts";
import { textOrBase64 } from "../../ground/platform/files/text-or-base64.ts";
import { readEvents } from "./read-events.ts";
import { invalid, refusal } from "./refusals.ts";
import type { McpResources } from "./surface.ts";
import { realpath } from "../../ground/platform/files/files.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { basename, dirname, join } from "../../ground/platform/files/paths.ts";
import { readPlainFile } from "../../ground/platform/files/read-plain-file.ts";

/** Sessions on one page of the list. */
const pageSize = 50;
/** Shortest time between notifications about a watched session. */
const newsEveryMs = 1000;

type Address =
  | { of: "events"; session_id: string; after: number }
  | { of: "result"; session_id: string }
  | { of: "artifact"; session_id: string; path: string };

/** Session logs, results and artifacts. */
export function sessionResources(sessions: SessionHost): McpResources {
  return {
    templates,
    list: (cursor) => list(sessions, cursor),
    read: (uri) => read(sessions, uri),
    watch(uri, onChange) {
      const address = parseAddress(uri);
      return address === null ? null : watch(sessions, address.session_id, onChange);
    },
  };
}

const templates: McpResources["templates"] = [
  {
    name: "session-events",
    title: "A session's events",
    uriTemplate: "bulkhead://sessions/{session_id}/events{?after}",
    description: "A page of events after a seq, with next_after for the next page.",
    mimeType: "application/json",
  },
  {
    name: "session-result",
    title: "A session's result",
    uriTemplate: "bulkhead://sessions/{session_id}/result",
    description: "What a session that has ended came to, with its provenance.",
    mimeType: "application/json",
  },
  {
    name: "session-artifact",
    title: "A file that a session changed",
    uriTemplate: "bulkhead://sessions/{session_id}/artifacts/{+path}",
    description: "Its content when the session ended; paths are those of the result's artifacts.",
  },
];

async function list(sessions: SessionHost, cursor: string | undefined): Promise<ListResourcesResult> {
  const page = await sessions.list({ limit: pageSize, before: cursor }).catch((error: unknown) => {
    throw invalid(toBulkheadError(error).message);
  });
  const last = page.length === pageSize ? page.at(-1)?.session_id : undefined;
  return { resources: page.flatMap(resourcesOf), nextCursor: last };
}

function resourcesOf({ session_id, title, state, started_at }: SessionSummary): Resource[] {
  const common = { description: title, mimeType: "application/json", annotations: { lastModified: started_at } };
  const uri = `bulkhead://sessions/${session_id}`;
  const events = { ...common, uri: `${uri}/events`, name: `${session_id}-events`, title: `Events: ${title}` };
  if (state === "running") return [events];
  return [events, { ...common, uri: `${uri}/result`, name: `${session_id}-result`, title: `Result: ${title}` }];
}

async function read(sessions: SessionHost, uri: string): Promise<ReadResourceResult | null> {
  const address = parseAddress(uri);
  if (address === null) return null;
  const json = (value: unknown): ReadResourceResult => ({
    contents: [{ uri, mimeType: "application/json", text: JSON.stringify(value) }],
  });
  try {
    const { session_id } = address;
    if (address.of === "events") return json(await readEvents(sessions, session_id, { after: address.after }));
    if ((await sessions.get(session_id)).state === "running") {
      throw new BulkheadError("busy", `Session "${session_id}" is still running: it has no result yet.`);
    }
    const handle = await sessions.open(session_id);
    if (address.of === "result") return json(await handle.result());
    const content = textOrBase64(await readArtifact(handle, address.path));
    return { contents: ["text" in content ? { uri, text: content.text } : { uri, blob: content.base64 }] };
  } catch (error) {
    throw refusal(error, { uri });
  }
}

/** Parses an address; null for a foreign one. A path that leads upwards never belongs to a session. */
function parseAddress(uri: string): Address | null {
  const found =
    /^bulkhead:\/\/sessions\/([\w-]{1,64})\/(?:(events)(?:\?after=(\d{1,15}))?|(result)|artifacts\/(.{1,4096}))$/s
      .exec(uri);
  if (found === null) return null;
  const [, session_id = "", events, after = "0", result, encoded = ""] = found;
  if (events !== undefined) return { of: "events", session_id, after: Number(after) };
  if (result !== undefined) return { of: "result", session_id };
  const path = decode(encoded);
  if (path === null || path.split("/").some((part) => part === ".." || part === "." || part === "")) return null;
  return { of: "artifact", session_id, path };
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Reports a session's new events; a burst of them once at its beginning and once at its end. */
function watch(sessions: SessionHost, sessionId: string, onChange: () => void): () => void {
  const left = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let toldAt = -Infinity;
  const tell = () => {
    timer = undefined;
    toldAt = performance.now();
    onChange();
  };
  const follow = async () => {
    const { last_seq } = await sessions.get(sessionId);
    const handle = await sessions.open(sessionId);
    for await (const _ of handle.events({ after: last_seq, signal: left.signal })) {
      if (timer === undefined) timer = setTimeout(tell, Math.max(0, toldAt + newsEveryMs - performance.now()));
    }
  };
  // A session that does not exist has no news.
  follow().catch(() => {});
  return () => {
    left.abort();
    clearTimeout(timer);
  };
}

/** Bytes of an artifact, at most. */
const maxBytes = 4 * 1024 * 1024;

/**
 * Reads a file that a session changed, as it was when the session ended: refuses a file that was changed since, and one
 * that is reached through a link.
 * @throws {BulkheadError} `not_found`, `too_large`, `conflict`
 */
async function readArtifact(handle: SessionHandle, path: string): Promise<Uint8Array> {
  const { workdir, artifact } = await find(handle, path);
  if ((artifact.bytes ?? 0) > maxBytes) {
    throw new BulkheadError(
      "too_large",
      `Cannot give "${path}": it has ${artifact.bytes} bytes, and ${maxBytes} may be.`,
    );
  }
  const root = await realpath(workdir).catch(() => null);
  const folder = root === null ? null : await realpath(dirname(join(root, path))).catch(() => null);
  // A folder that has become a link has another real path.
  const inside = root !== null && folder === dirname(join(root, path));
  const bytes = inside ? await readPlainFile(join(folder, basename(path)), maxBytes) : null;
  if (bytes !== null && sha256Hex(bytes) === artifact.sha256) return bytes;
  throw new BulkheadError("conflict", `Cannot give "${path}": it is not what it was when the session ended.`, {
    hint: "Read the file itself, if what it holds now will do.",
  });
}

async function find(handle: SessionHandle, path: string) {
  let workdir: string | null = null;
  const left = new AbortController();
  for await (const { event } of handle.events({ signal: left.signal })) {
    if (event.type === "session_started") workdir = event.workdir;
    break;
  }
  left.abort();
  const { artifacts, requested } = await handle.result();
  const artifact = artifacts?.find((one) => one.path === path && one.kind === "file" && one.sha256 !== null);
  if (artifact === undefined) {
    throw new BulkheadError("not_found", `Session "${handle.id}" has no artifact "${path}" with a content.`, {
      hint: "The session's result lists its artifacts.",
    });
  }
  return { workdir: workdir ?? requested.workdir, artifact };
}
