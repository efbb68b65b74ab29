import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hostEventTypes } from "../../../plugin-sdk/envelope.ts";
import { adapterEventTypes } from "../../../plugin-sdk/events.ts";
import { errorTable } from "../../../core/ground/errors/error-table.ts";
import type { SessionHost } from "../../../core/sessions/host/session-host.ts";
import { adapterCode, completed, openHost } from "../../sessions/host/test-host.ts";
import { bodies, hostileTexts, type JsonSchema, parameterTexts } from "./bad-input.ts";
import { openDoor } from "./door-fixture.ts";
import { MemoryHost } from "./memory-host.ts";

interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  schema: JsonSchema;
}

interface Operation {
  operationId: string;
  tags: string[];
  parameters?: Parameter[];
  requestBody?: { content: { "application/json"?: { schema: JsonSchema } } };
  responses: Record<string, { content?: Record<string, unknown> }>;
}

interface OpenApi {
  openapi: string;
  info: { license?: object };
  servers: object[];
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, JsonSchema> };
}

/** Puts every component in the place of its references. */
function resolved<T>(value: T, { components }: OpenApi): T {
  return JSON.parse(JSON.stringify(value), (_, inner: { $ref?: string } | null) => {
    const name = /^#\/components\/schemas\/(\w+)$/.exec(inner?.$ref ?? "")?.[1];
    return name === undefined ? inner : resolved(components.schemas[name], { components } as OpenApi);
  }) as T;
}

interface Probe {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
}

const openings = [
  ["sessions of a test", openMemoryHost],
  ["a host of its own", openRealHost],
] as const;

describe.each(openings)("every operation of the OpenAPI document, on %s", (_, open) => {
  test("answers generated bad input with a problem and never with a defect", async () => {
    const { sessions, known } = await open();
    const door = await openDoor({
      sessions,
      limits: { http_requests_per_second: 1e6, http_body_bytes: 100_000, http_refusals_per_second: 1e6 },
    });
    const send = door.local;
    const document = await (await send("http://localhost/v1/openapi.json")).json() as OpenApi;
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        path,
        method: method.toUpperCase(),
        operation: { ...operation, ...resolved({ requestBody: operation.requestBody }, document) } as Operation,
      }))
    );
    expect(operations.length).toBeGreaterThan(15);
    for (const { path, method, operation } of operations) {
      await fc.assert(
        fc.asyncProperty(probes(path, method, { operation, known }), async (probe) => {
          const stop = new AbortController();
          const { path: at, ...init } = probe;
          const response = await send(`http://localhost${at}`, { ...init, signal: stop.signal });
          const declared = operation.responses[String(response.status)];
          const told = `${probe.method} ${at} -> ${response.status}`;
          if (response.status < 300) {
            expect(declared, told).toBeDefined();
            stop.abort();
            return;
          }
          const problem = await response.json() as { code: keyof typeof errorTable; status: number; detail: string };
          expect(response.headers.get("content-type"), told).toBe("application/problem+json");
          expect(problem.status, told).toBe(response.status);
          expect(errorTable[problem.code].http_status, told).toBe(response.status);
          // What this version, or this moment, does not allow is no defect.
          if (problem.code !== "unsupported" && problem.code !== "busy") {
            expect(response.status, `${told} ${problem.detail}`).toBeLessThan(500);
          }
        }),
        { numRuns: 40, endOnFailure: true },
      );
    }
    expect(door.logs.filter(({ level }) => level === "error")).toEqual([]);
    expect((await send("http://localhost/health")).status).toBe(200);
  }, 120_000);
});

test("the document is OpenAPI 3.1, and every operation says its scope, its answers and its problems", async () => {
  const door = await openDoor();
  const document = await (await door.local("http://localhost/v1/openapi.json")).json() as OpenApi;
  expect(document.openapi).toBe("3.1.0");
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  for (const operation of operations) {
    expect(operation).toMatchObject({ summary: expect.any(String), "x-scope": expect.any(String) });
    expect(document.tags).toContainEqual(expect.objectContaining({ name: operation.tags[0] }));
    expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(["4XX", "5XX"]));
  }
  expect(document).toMatchObject({ servers: [{ url: "/" }], info: { license: { name: "MIT" } } });
});

test("the document names what clients make types of, and every reference leads somewhere", async () => {
  const document = await (await (await openDoor()).local("http://localhost/v1/openapi.json")).json() as OpenApi;
  const { schemas } = document.components;
  const names = ["Session", "SessionSummary", "SessionResult", "StartSession", "Envelope", "Event", "Agent", "Plugin"];
  expect(Object.keys(schemas)).toEqual(expect.arrayContaining([...names, "Workspace", "Problem", "Permissions"]));
  const types = [...adapterEventTypes, ...hostEventTypes];
  expect(schemas["Event"]?.anyOf).toHaveLength(types.length);
  const referred = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name!);
  expect(referred.filter((name) => !Object.hasOwn(schemas, name))).toEqual([]);
  for (const one of Object.values(schemas)) expect(Object.keys(one)).not.toEqual([]);
});

/** A host, and what is there to be named: first a working directory. */
interface Opened {
  sessions: SessionHost;
  known: string[];
}

async function openMemoryHost(): Promise<Opened> {
  const sessions = new MemoryHost();
  const ended = await sessions.start({ workdir: "/", prompt: "x" });
  await sessions.end(ended.id);
  return { sessions, known: ["/", ended.id, (await sessions.start({ workdir: "/", prompt: "x" })).id, "memory"] };
}

/** A host with one plugin whose sessions end by themselves. */
async function openRealHost(): Promise<Opened> {
  const { host, add, workdir } = await openHost();
  await add("brief", { code: adapterCode(`yield ${completed};`) });
  const { id } = await host.sessions.start({ workdir, prompt: "x" }, { adapter: "brief" });
  return { sessions: host.sessions, known: [workdir, id, "brief", "auto"] };
}

function probes(
  path: string,
  method: string,
  { operation, known }: { operation: Operation; known: readonly string[] },
): fc.Arbitrary<Probe> {
  const { parameters = [], requestBody } = operation;
  const values = fc.record(
    Object.fromEntries(parameters.map(({ name, schema }) => [name, fc.option(parameterTexts(schema, known))])),
  );
  const extra = fc.option(fc.constantFrom(...hostileTexts), { freq: 5 });
  const schema = requestBody?.content["application/json"]?.schema;
  const body = schema === undefined ? fc.constant(undefined) : bodies(schema, known[0]!);
  const type = fc.constantFrom("application/json", "application/json", "application/json", "text/plain");
  const verb = fc.oneof({ weight: 9, arbitrary: fc.constant(method) }, {
    weight: 1,
    arbitrary: fc.constantFrom("PATCH", "PUT", "DELETE", "POST"),
  });
  return fc.record({ values, extra, body, type, verb }).map((one) => {
    const query: string[] = one.extra === null ? [] : [`${encodeURIComponent(wellFormed(one.extra))}=1`];
    const headers: Record<string, string> = one.body === undefined ? {} : { "content-type": one.type };
    let at = path;
    for (const { name, in: place } of parameters) {
      const value = one.values[name];
      const text = encodeURIComponent(wellFormed(value ?? "x"));
      if (place === "path") at = at.replace(`{${name}}`, text || "x");
      else if (value !== null && place === "query") query.push(`${name}=${text}`);
      // A client cannot send what HTTP does not allow in a header.
      else if (value != null) headers[name] = value.replaceAll(/[^\x20-\x7e]/g, "").slice(0, 2000).trim();
    }
    const probe = { method: one.verb, path: query.length > 0 ? `${at}?${query.join("&")}` : at, headers };
    return one.body === undefined ? probe : { ...probe, body: one.body };
  });
}

/** As a URL can hold it. */
function wellFormed(text: string): string {
  return text.replaceAll(/[\ud800-\udfff]/g, "\ufffd").slice(0, 2000);
}
