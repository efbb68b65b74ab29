import { whileItLasts } from "../../ground/platform/engine/within.ts";
import { type TProperties, Type } from "@sinclair/typebox";
import { readTraceparent } from "../../ground/checks/trace-context.ts";
import { termsSchema } from "../../ground/checks/message-terms.ts";
import { propertiesOf } from "../../ground/checks/properties-of.ts";
import { closed } from "../../../plugin-sdk/schema.ts";
import { type SessionRequest, sessionRequestSchema } from "../../../plugin-sdk/request.ts";
import { deliveries } from "../../../plugin-sdk/messages.ts";
import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";
import { attachmentsOf, type NewMessage, partsOf, textOf } from "../../../plugin-sdk/conversation.ts";
import type { RunSessionOptions, SessionHandle, SessionHost } from "../../sessions/host/session-host.ts";
import { makeTool, success } from "./answers.ts";
import { followSession, resumeCall } from "./follow-session.ts";
import { givenContentSchema, type GivenPart, storedParts } from "./given-content.ts";
import { endedData, runningAnswer, sessionDataSchema, sessionInput, waitingAnswer } from "./session-data.ts";
import { newTask } from "./session-tasks.ts";
import type { McpAnswer, McpCall, McpTool } from "./surface.ts";
import { omitEmpty, omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";

/** Fields that say how to run a session, besides the request to its agent. */
const runFields = {
  adapter: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: 64 })], {
    description: 'Id of an adapter, several in the order in which they are tried, or "auto"; default: routing.agent.',
  })),
  require: Type.Optional(Type.Record(Type.String(), Type.Unknown(), {
    description: 'What the agent must be able to do, such as {"code_review": true}.',
  })),
  artifacts: Type.Optional(Type.Union([Type.Literal("git"), Type.Literal("none")], {
    description: "Whether git compares the folder before and after; default: git.",
  })),
  wait: Type.Optional(Type.Boolean({
    description: "False: answer at once with the session's id, and let it run; default: true.",
  })),
} satisfies TProperties;

// The interface hides that this is an object schema; a test calls the tool with every field.
const requestFields = propertiesOf(sessionRequestSchema);

const runInput = Type.Object({
  ...requestFields,
  ...runFields,
  prompt: Type.Optional(Type.String({ description: "The task; with content, the words before its own." })),
  content: Type.Optional(givenContentSchema),
}, {
  ...closed,
  description: "A fresh session: nothing of an earlier one is known to it, unless continue_from names the agent's own.",
});

/** Creates the tool that runs a session. */
export function runSessionTool(sessions: SessionHost, client: string): McpTool {
  return makeTool({
    name: "run_session",
    title: "Run a session",
    description:
      "Runs one agent on a task, with images and files, in a folder, behind Bulkhead's walls, and gives what " +
      "came of it: output, changed files, usage, provenance. Progress and events are streamed as notifications. Where the agent asks " +
      'something, the answer has state "waiting" and the tool "answer" goes on. Cancelling interrupts the session.',
    hints: { reads_only: false, destroys: true },
    input: runInput,
    data: sessionDataSchema,
    async call(args, call) {
      const resumed = await resumeCall(sessions, call);
      if (resumed !== null) return resumed;
      const { adapter, require, artifacts, wait = true, prompt, content, ...request } = args as unknown as RunArguments;
      const { signal } = call.context.mcpReq;
      const parts = await storedParts(content, { sessions, client });
      const words = prompt ? [{ type: "text" as const, text: prompt }] : [];
      const asked = {
        prompt: textOf([...words, ...parts]),
        ...omitEmpty({ content: attachmentsOf(parts) }),
        ...traceOf(call),
        ...request,
      };
      const handle = await startSession(sessions, asked, {
        client,
        signal,
        adapter,
        require,
        artifacts,
      });
      if (!wait) return runningAnswer(handle.id);
      return call.takesTask ? await newTask(sessions, handle.id) : await followSession(handle, call);
    },
  });
}

type RunArguments = Omit<SessionRequest, "prompt" | "content"> & Pick<RunSessionOptions, "adapter" | "artifacts"> & {
  prompt?: string;
  content?: GivenPart[];
  require?: AgentCapabilities;
  wait?: boolean;
};

const messageInput = Type.Object({
  session_id: Type.String({ description: "Any session of the conversation, running or ended." }),
  text: Type.Optional(Type.String({ minLength: 1, description: "What to say to its agent; this or content." })),
  content: Type.Optional(givenContentSchema),
  delivery: Type.Optional(Type.Union(deliveries.map((one) => Type.Literal(one)), {
    description:
      "queue: after the turn under way (default); steer: into it; interrupt: stops it, and goes on with this.",
  })),
  expected_turn: Type.Optional(Type.Integer({ minimum: 1, description: "Refuses it unless this turn runs." })),
  output_schema: Type.Optional(Type.Record(Type.String(), Type.Unknown(), {
    description: "JSON Schema for the result of the turn that it begins.",
  })),
  with: Type.Optional(termsSchema),
  wait: Type.Optional(Type.Boolean({ description: "False: answer at once; default: until its turn is over." })),
}, closed);

/** Creates the tool that gives the agent of a conversation a message. */
export function sendMessageTool(sessions: SessionHost, client: string): McpTool {
  return makeTool({
    name: "send_message",
    title: "Send a message",
    description: "Says something to the agent of a session while it works, while it waits (keep_ms), or after it has " +
      "ended: then the message begins the next session of the conversation, with the same agent, folder and settings. " +
      "Gives what came of its turn. Cancelling takes the message back, or stops its turn.",
    hints: { reads_only: false, destroys: true },
    input: messageInput,
    data: sessionDataSchema,
    call: (message, call) => say(sessions, { client, ...message }, call),
  });
}

const continueInput = Type.Object({
  session_id: Type.String({ description: "The session to go on from." }),
  prompt: Type.String({ minLength: 1, description: "What to say to its agent next." }),
  timeout_ms: Type.Optional(Type.Integer({ minimum: 1 })),
  wait: Type.Optional(Type.Boolean({ description: "False: answer at once; default: true." })),
}, closed);

/** Creates the tool that continues a session: the name of earlier clients for {@link sendMessageTool}. */
export function continueSessionTool(sessions: SessionHost, client: string): McpTool {
  return makeTool({
    name: "continue_session",
    title: "Continue a session",
    description: "Says something more to the agent of a session, with the same agent, folder and settings. " +
      "It is send_message with a prompt alone.",
    hints: { reads_only: false, destroys: true },
    input: continueInput,
    data: sessionDataSchema,
    call: ({ prompt, timeout_ms, ...message }, call) => {
      const terms = timeout_ms === undefined ? {} : { with: { timeout_ms } };
      return say(sessions, { client, text: prompt, ...terms, ...message }, call);
    },
  });
}

/** A message as the tools take it. */
interface SaidWords extends Omit<NewMessage, "content" | "message_id" | "traceparent"> {
  client: string;
  session_id: string;
  text?: string;
  content?: GivenPart[];
  wait?: boolean;
}

/** Gives a conversation a message, and follows the turn that it goes into. */
async function say(
  sessions: SessionHost,
  { client, session_id, text, content, wait = true, ...given }: SaidWords,
  call: McpCall,
): Promise<McpAnswer> {
  const resumed = await resumeCall(sessions, call);
  if (resumed !== null) return resumed;
  const { conversations } = sessions;
  const { head } = await conversations.get(session_id);
  const { last_seq, waiting } = await sessions.get(head);
  const message: NewMessage = {
    ...given,
    content: await storedParts(partsOf({ text, content }), { sessions, client }),
    ...traceOf(call),
  };
  const { message_id, turn, ...said } = await conversations.say(session_id, message, { client });
  if (!wait) return runningAnswer(said.session_id, message_id);
  // Its agent goes on only once it is answered, and no event to come says so.
  if (waiting.length > 0 && said.state === "pending") return waitingAnswer(head, waiting);
  return await followSession(await sessions.open(said.session_id), call, {
    after: said.session_id === head ? last_seq : 0,
    awaited: { message_id, turn: said.state === "delivered" ? turn : undefined },
    cancel: () => conversations.withdraw(session_id, message_id).catch(() => conversations.stop(session_id)),
  });
}

const answerInput = Type.Object({
  session_id: Type.String(),
  request_id: Type.String({ description: "As the waiting list of the session names it." }),
  choice: Type.String({ description: "One of the choices; where there are none, your own words." }),
  wait: Type.Optional(Type.Boolean({ description: "False: answer at once; default: until the session stops again." })),
}, closed);

/** Creates the tool that answers an agent's permission request or question. */
export function answerTool(sessions: SessionHost): McpTool {
  return makeTool({
    name: "answer",
    title: "Answer an agent",
    description: "Answers a permission request or question of a session's agent, and follows the session until it " +
      "ends or asks again.",
    hints: { reads_only: false, destroys: true },
    input: answerInput,
    data: sessionDataSchema,
    async call({ session_id, request_id, choice, wait = true }, call) {
      const resumed = await resumeCall(sessions, call);
      if (resumed !== null) return resumed;
      const { last_seq, waiting } = await sessions.get(session_id);
      const handle = await sessions.open(session_id);
      if (!await handle.answer(request_id, choice)) {
        const open = waiting.map((one) => `${one.request_id} (${one.choices.join(", ") || "any text"})`).join("; ");
        throw new BulkheadError(
          "conflict",
          `Cannot answer "${request_id}": it is not open, or has no choice "${choice}".`,
          {
            hint: open === "" ? "The session waits for no answer." : `Open are: ${open}.`,
            details: { session_id, waiting },
          },
        );
      }
      return wait ? await followSession(handle, call, { after: last_seq }) : runningAnswer(session_id);
    },
  });
}

/** Creates the tool that stops a session. */
export function interruptSessionTool(sessions: SessionHost): McpTool {
  return makeTool({
    name: "interrupt_session",
    title: "Interrupt a session",
    description: "Stops a running session gracefully, with all its programs, and gives what it came to.",
    hints: { reads_only: false, destroys: true, repeatable: true },
    input: sessionInput,
    data: sessionDataSchema,
    async call({ session_id }) {
      // The caller asked for the interruption, so it is no failure here.
      return success(endedData(await (await sessions.open(session_id)).interrupt()));
    },
  });
}

const deleteData = Type.Object({ session_id: Type.String(), deleted: Type.Literal(true) });

/** Creates the tool that forgets the events of a session. */
export function deleteSessionTool(sessions: SessionHost): McpTool {
  return makeTool({
    name: "delete_session",
    title: "Delete a session",
    description: "Forgets the events and the result of a session that has ended. Files that it changed stay.",
    hints: { reads_only: false, destroys: true },
    input: sessionInput,
    data: deleteData,
    async call({ session_id }) {
      await sessions.delete(session_id);
      return success({ data: { session_id, deleted: true } });
    },
  });
}

/** Returns the client's span, which it names beside the arguments. */
export function traceOf({ context }: McpCall): Pick<SessionRequest, "traceparent"> {
  return omitUndefined({ traceparent: readTraceparent(context.mcpReq._meta?.["traceparent"]) });
}

/** Starts a session unless the call is cancelled first. Later only its follower interrupts it. */
export async function startSession(
  sessions: SessionHost,
  request: SessionRequest,
  { signal, ...options }: RunSessionOptions & { signal: AbortSignal },
): Promise<SessionHandle> {
  return await whileItLasts(signal, (starting) => sessions.start(request, { ...options, signal: starting }));
}
