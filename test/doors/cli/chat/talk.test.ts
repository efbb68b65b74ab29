import { expect, test } from "vitest";
import { ChatTalk } from "../../../../core/doors/cli/chat/talk.ts";
import type { SessionHost } from "../../../../core/sessions/host/session-host.ts";
import type { AttachmentPart } from "../../../../plugin-sdk/messages.ts";
import { fakeTerminal } from "../fake-terminal.ts";

/** A talk whose host notes what it gets, each act after 20 ms; acts that fail first as often as asked. */
function talkTo({ failures = 0 } = {}) {
  const acts: string[] = [];
  const act = async (text: string) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (failures-- > 0) throw new Error("The daemon has stopped.");
    acts.push(text);
  };
  const typesOf = (parts: readonly { type: string }[] = []) => parts.map(({ type }) => ` ${type}`).join("");
  const sessions = {
    start: async (request: { prompt: string; content?: AttachmentPart[] }) => {
      await act(`start ${request.prompt}${typesOf(request.content)}`);
      return { id: "s1" };
    },
    conversations: {
      say: async (id: string, message: { content: { type: string; text?: string }[]; with?: { agent: string } }) => {
        const [{ text = "" } = {}, ...rest] = message.content;
        await act(`say ${id} ${text}${typesOf(rest)}${message.with === undefined ? "" : ` to ${message.with.agent}`}`);
        return { session_id: id };
      },
    },
  } as unknown as SessionHost;
  const call = { options: {}, terminal: fakeTerminal() };
  return { acts, talk: new ChatTalk(call, { sessions, configOf: () => Promise.resolve(undefined), host: null }) };
}

const image: AttachmentPart = { type: "image", sha256: "0".repeat(64), mime_type: "image/png" };

test("a message that is typed before the first one is with the host goes into the same conversation", async () => {
  const { acts, talk } = talkTo();
  talk.wanted = "some-agent";
  talk.attached = [image];
  const first = talk.say("begin", "queue");
  const second = talk.say("and this", "steer");
  talk.wanted = "other-agent";
  await Promise.all([first, second, talk.say("then that", "queue")]);
  expect(acts).toEqual(["start begin image", "say s1 and this", "say s1 then that to other-agent"]);
});

test("images, files and agent of a message that did not arrive are those of the next one", async () => {
  const { acts, talk } = talkTo({ failures: 1 });
  talk.attached = [image];
  await expect(talk.say("look", "queue")).rejects.toThrow("The daemon has stopped.");
  expect(talk.attached).toEqual([image]);
  await talk.say("look", "queue");
  expect([acts, talk.attached]).toEqual([["start look image"], []]);
});
