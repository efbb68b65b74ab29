import {
  type AdapterContext,
  type AdapterEvent,
  BulkheadError,
  errorDataOf,
  type RateLimitDetector,
  type SessionRequest,
} from "bulkhead/plugin-sdk";
import { Conversation } from "./conversation.ts";
import { limitEvent } from "./error-output.ts";
import type { AgentOptions } from "./options.ts";
import type { RemoteAgent } from "./remote-agent.ts";
import { remoteTransport } from "./remote-transport.ts";

/** Options and collaborators of a session with a remote agent. */
interface RemoteSession {
  agent: RemoteAgent;
  options: AgentOptions;
  ctx: AdapterContext;
  detector: RateLimitDetector;
}

/**
 * One session with an agent that runs elsewhere; the last word of each turn comes last in it, and there is always one.
 * @throws {BulkheadError} `unsupported` for a request with MCP servers; `unavailable` when the connection is lost
 */
export async function* runRemote(
  request: SessionRequest,
  { agent, options, ctx, detector }: RemoteSession,
): AsyncGenerator<AdapterEvent[], void, void> {
  if (request.mcp_servers !== undefined && request.mcp_servers.length > 0) {
    throw new BulkheadError(
      "unsupported",
      "Cannot give its MCP servers to an agent elsewhere: they are this machine's.",
      {
        hint: "Name none, or run the agent here.",
      },
    );
  }
  const transport = remoteTransport(agent, ctx);
  const conversation = new Conversation(transport, { ctx, options });
  const cancel = (): void => void conversation.cancel().catch(() => {});
  ctx.signal.addEventListener("abort", cancel, { once: true });
  try {
    for await (const events of conversation.run(request)) {
      const last = events.find(({ type }) => type === "completed" || type === "error");
      const words = last ? lastWords(last, { ctx, detector }) : [];
      yield [...events.filter((event) => event !== last), ...words];
      if (last && !conversation.isBetweenTurns) return;
    }
    if (conversation.isBetweenTurns) return;
    const message = "The agent's connection ended in the middle of its turn.";
    yield lastWords({ type: "error", code: "unavailable", message, recoverable: true }, { ctx, detector });
  } catch (thrown) {
    const { code, message, details } = errorDataOf(thrown) ?? {};
    // A connection that cannot be made, or is lost, is this agent's: another one may be within reach.
    throw code === "network_error" ? new BulkheadError("unavailable", message ?? "", { details }) : thrown;
  } finally {
    ctx.signal.removeEventListener("abort", cancel);
    await transport.close();
  }
}

/** Once the session is stopped from outside, why it was is its last word; a rate limit says how long to wait. */
function lastWords(
  last: AdapterEvent,
  { ctx, detector }: Pick<RemoteSession, "ctx" | "detector">,
): AdapterEvent[] {
  if (ctx.signal.aborted) {
    const { code, message } = errorDataOf(ctx.signal.reason) ?? { code: "interrupted", message: "It was interrupted." };
    return [{ type: "error", code, message, recoverable: false }];
  }
  if (last.type !== "error" || last.code !== "rate_limit") return [last];
  return [limitEvent(last.message, detector), last];
}
