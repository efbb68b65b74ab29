import { describe, expect, test } from "vitest";
import type { RewindReport, RewindRequest } from "../../../plugin-sdk/conversation.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { noConversations } from "../../sessions/host/no-conversations.ts";
import { ScriptedHost } from "../../sessions/host/scripted-session-host.ts";
import { connectOverPipes, eras } from "./mcp-client.ts";

const report: RewindReport = {
  conversation_id: "c1",
  to: 1,
  undo: false,
  dry_run: true,
  before: "a".repeat(40),
  after: "b".repeat(40),
  files: [{ path: "a.txt", change: "restored" }],
  conflicts: [],
  unclaimed: [],
  left: [],
  objects_gone: [],
  under_way: null,
  head_moved: false,
};

describe.each(eras)("tools that take back and fork, %s", (era) => {
  test("rewind_session takes what HTTP takes, and gives what it gives", async () => {
    const host = new ScriptedHost(async () => {});
    const calls: unknown[] = [];
    const rewind = async (id: string, request: RewindRequest) => {
      calls.push([id, request]);
      if (request.dry_run === true) return report;
      throw new BulkheadError("conflict", "Cannot take the files back.", {
        hint: "Look first.",
        details: { paths: ["a.txt"] },
      });
    };
    Object.assign(host, { conversations: { ...noConversations, rewind } });
    await using tester = await connectOverPipes({ sessions: host }, { era });
    const request = { to: 1, dry_run: true, keep_theirs: true, unclaimed: false };
    const call = (args: object) => tester.client.callTool({ name: "rewind_session", arguments: { ...args } });
    expect((await call({ session_id: "s1", ...request })).structuredContent)
      .toMatchObject({ success: true, data: report });
    expect((await call({ session_id: "s1", undo: true })).structuredContent).toMatchObject({
      success: false,
      error_type: "conflict",
      error: "Cannot take the files back.",
      recovery_guidance: "Look first.",
      details: { paths: ["a.txt"] },
    });
    expect(calls).toEqual([["s1", request], ["s1", { undo: true }]]);
    for (const args of [{}, { session_id: "s1", to: -1 }, { session_id: "s1", surprise: 1 }]) {
      expect((await call(args)).structuredContent).toMatchObject({ success: false, error_type: "invalid_request" });
    }
    const { tools } = await tester.client.listTools();
    expect(tools.find(({ name }) => name === "rewind_session")?.annotations)
      .toMatchObject({ readOnlyHint: false, destructiveHint: true, idempotentHint: false });
  });
});
