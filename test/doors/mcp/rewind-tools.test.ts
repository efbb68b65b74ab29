import { describe, expect, test } from "vitest";
import type { ForkRequest, RewindReport, RewindRequest } from "../../../plugin-sdk/conversation.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { MessageCaller } from "../../../core/sessions/host/session-host.ts";
import { noConversations } from "../../sessions/host/no-conversations.ts";
import { ScriptedHost } from "../../sessions/host/scripted-session-host.ts";
import { connectOverPipes, eras } from "./mcp-client.ts";

const report: RewindReport = {
  talk: { forgets: [2], session_id: null },
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
    const callers: unknown[] = [];
    const rewind = async (id: string, request: RewindRequest, caller?: MessageCaller) => {
      calls.push([id, request]);
      callers.push(caller?.client);
      if (request.dry_run === true) return report;
      throw new BulkheadError("conflict", "Cannot take the files back.", {
        hint: "Look first.",
        details: { paths: ["a.txt"] },
      });
    };
    Object.assign(host, { conversations: { ...noConversations, rewind } });
    await using tester = await connectOverPipes({ sessions: host }, { era });
    const request = { to: 1, files: true, talk: true, dry_run: true, keep_theirs: true, unclaimed: false };
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
    expect(callers).toEqual(["mcp", "mcp"]);
    const { tools } = await tester.client.listTools();
    expect(tools.find(({ name }) => name === "rewind_session")?.annotations)
      .toMatchObject({ readOnlyHint: false, destructiveHint: true, idempotentHint: false });
  });

  test("fork_session answers with the first turn of the new conversation, or at once", async () => {
    const host = new ScriptedHost(async () => ({ output: "The other way." }));
    const calls: unknown[] = [];
    const fork = async (id: string, { prompt = "", ...request }: ForkRequest, caller?: MessageCaller) => {
      calls.push([id, { prompt, ...request }, caller?.client]);
      return await host.get((await host.start({ workdir: "/work", prompt })).id);
    };
    Object.assign(host, { conversations: { ...noConversations, fork } });
    await using tester = await connectOverPipes({ sessions: host }, { era });
    const call = async (args: object) =>
      (await tester.client.callTool({ name: "fork_session", arguments: { session_id: "s1", ...args } }))
        .structuredContent;
    const whole = { at: 2, agent: "beta", model: "tide-2", workspace: "worktree", prompt: "other", message_id: "m1" };
    expect(await call(whole)).toMatchObject({
      success: true,
      data: { session_id: host.sessions[0]!.id, state: "ended", output: "The other way." },
    });
    expect(await call({ wait: false })).toMatchObject({
      success: true,
      data: { session_id: host.sessions[1]!.id, state: "running" },
    });
    expect(calls).toEqual([["s1", whole, "mcp"], ["s1", { prompt: "" }, "mcp"]]);
    for (const args of [{ at: -1 }, { workspace: "elsewhere" }, { keep_ms: 5 }]) {
      expect(await call(args)).toMatchObject({ success: false, error_type: "invalid_request" });
    }
  });
});
