import type { SessionUpdate } from "@agentclientprotocol/sdk";

/** What an editor shows of a session: a model of it that keeps the protocol's rules. */
export class Screen {
  messages = "";
  thoughts = "";
  calls: { toolCallId: string; title: string; name?: string | null | undefined; status?: unknown }[] = [];
  plan: { content: string; status: string; priority: string }[] = [];
  notices: string[] = [];

  show(update: SessionUpdate): void {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        if (update.content.type === "text") this.messages += update.content.text;
        return;
      case "agent_thought_chunk":
        if (update.content.type === "text") this.thoughts += update.content.text;
        return;
      case "tool_call":
        this.calls.push(update);
        return;
      case "tool_call_update":
        Object.assign(this.calls.find(({ toolCallId }) => toolCallId === update.toolCallId) ?? {}, update);
        return;
      case "plan":
        this.plan = update.entries;
        return;
      case "notice":
        this.notices.push(update.title);
        return;
      default:
        return;
    }
  }
}
