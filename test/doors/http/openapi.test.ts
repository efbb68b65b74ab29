import { expect, test } from "vitest";
import type { ApiRouteDeps, Call } from "../../../core/doors/http/route.ts";
import { routes } from "../../../core/doors/http/routes/all.ts";

interface OpenApi {
  tags: { name: string; description?: string }[];
  paths: Record<string, Record<string, { summary?: string; description?: string; tags?: string[] }>>;
}

async function document(): Promise<OpenApi> {
  const one = routes.find(({ id }) => id === "openapi")!;
  return await (await one.handle({} as Call, {} as ApiRouteDeps)).json() as OpenApi;
}

test("openapi gives every operation a summary, a description of its own and a tag, and describes each tag", async () => {
  const { tags, paths } = await document();
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  expect(operations).toHaveLength(routes.length);
  for (const { summary, description, tags: own } of operations) {
    expect(summary).toMatch(/^[a-z].*[^.]$/);
    expect(description).toMatch(/^[A-Z].{20,}\.$/s);
    expect(description).not.toContain("..");
    expect(own).toHaveLength(1);
    expect(tags.map(({ name }) => name)).toContain(own![0]);
  }
  const descriptions = operations.map(({ description }) => description);
  expect(new Set(descriptions).size).toBe(descriptions.length);
  for (const { description } of tags) expect(description).toMatch(/^[A-Z].*\.$/);
});

test("openapi says of an operation who may call it and what comes back", async () => {
  const { paths } = await document();
  expect(paths["/v1/conversations/{id}/messages"]!["post"]!.description).toBe(
    "Give a message to a conversation. It needs a token with the scope `run`, and concerns that token's own sessions; " +
      "`admin` concerns all. Header Idempotency-Key: its message_id: the same message with the same id is given once. " +
      "Header traceparent: the client's span, as W3C Trace Context writes it. 202: it is kept, and reaches the agent or is dropped.",
  );
});
