import type { ComponentChild } from "preact";
import { useEffect } from "preact/hooks";
import { attachmentsOf } from "../../../../plugin-sdk/conversation.ts";
import type { HostEvent } from "../../../../plugin-sdk/envelope.ts";
import { eventWords, type Weight } from "../../../ground/checks/event-words.ts";
import { DenialGrant } from "./session/denial-grant.tsx";
import { AttachedParts } from "./talk/attached-parts.tsx";
import { FoldRow, JsonText, LongText, Text } from "./text.tsx";
import { HeldList } from "./held-item.tsx";
import { ChangeMark, ClientName, Command, durationText, OutcomeMark } from "./parts.tsx";
import { countText } from "./spend/count-text.ts";
import { MarkdownText } from "./rows/markdown-text.tsx";
import { useRowPlace, useTalk } from "./row-place.ts";
import type { ShownEvent } from "./shown-event.ts";
import { plainText } from "./shown-text.ts";

/** An event of the host in a session, or one that needs no more than words. */
export function HostEventText({ event }: { event: ShownEvent["event"] }) {
  const Shown: ((of: { event: never }) => ComponentChild) | undefined =
    hostEvents[event.type as keyof typeof hostEvents];
  return Shown === undefined ? <WordsText event={event} /> : <Shown event={event as never} />;
}

const hostEvents: {
  readonly [T in HostEvent["type"]]?: (of: { event: Extract<HostEvent, { type: T }> }) => ComponentChild;
} = {
  session_started: ({ event }) => (
    <div class={useRowPlace().isDivided ? undefined : "prompt"}>
      {!useRowPlace().isDivided && (
        <>
          <p class="quiet-line">Prompt</p>
          <LongText of={event.requested.prompt} class="prose" />
          <AttachedParts of={attachmentsOf(event.requested.content ?? [])} />
        </>
      )}
      {event.passed_over.map(({ adapter_id, reason }) => (
        <p class="quiet-line">
          {adapter_id} was passed over: <Text of={reason} />
        </p>
      ))}
    </div>
  ),
  attempt_started: ({ event }) => (
    <p class="divider">
      <span>
        Attempt {event.attempt} · {event.adapter_id}
        {event.access_mode !== undefined && ` · ${event.access_mode}`}
      </span>
    </p>
  ),
  capability: ({ event }) => <CapabilityText event={event} />,
  artifacts: ({ event }) => <Artifacts of={event.artifacts} reason={event.reason} omitted={event.omitted} />,
  held: ({ event }) => <HeldList of={event.held} scripts={event.install_scripts} />,
  message_delivered: ({ event }) => <SaidInTurn of={event.message_id} turn={event.turn} />,
  message_dropped: ({ event }) => (
    <>
      <WordsText event={event} />
      <MessageText of={event.message_id} />
    </>
  ),
  turn_ended: ({ event }) => <TurnFailed event={event} />,
  session_ended: ({ event }) => <Ended event={event} />,
};

/** Words of a client at their place in a turn that ran. */
function SaidInTurn({ of: id, turn }: { of: string; turn: number }) {
  const client = useTalk()?.messages.value.get(id)?.client;
  return (
    <div class="prompt said">
      <p class="quiet-line">
        Into turn {turn}
        {client !== undefined && (
          <>
            {" "}· <ClientName of={client} />
          </>
        )}
      </p>
      <MessageText of={id} />
    </div>
  );
}

/** The text of a message, which is asked for where it is not here. */
function MessageText({ of: id }: { of: string }) {
  const talk = useTalk();
  const message = talk?.messages.value.get(id);
  useEffect(() => {
    if (message === undefined) talk?.want();
  }, [message === undefined]);
  if (message === undefined) return null;
  return (
    <>
      {message.text !== "" && <LongText of={message.text} class="prose" />}
      <AttachedParts of={message.attached} />
    </>
  );
}

function TurnFailed({ event: { turn, outcome, stop_reason, error } }: {
  event: Extract<HostEvent, { type: "turn_ended" }>;
}) {
  return (
    <p class={stop_reason === "interrupted" ? "quiet-line" : "failed-text"}>
      <OutcomeMark of={outcome} why={stop_reason} /> Turn {turn}
      {error === undefined ? " ended." : (
        <>
          : <Text of={error.message} links /> {error.hint !== undefined && <Text of={error.hint} links />}
        </>
      )}
    </p>
  );
}

const figures = { duration: durationText, count: countText };

const looks: { readonly [W in Weight]: string } = {
  debug: "quiet-line",
  info: "quiet-line",
  warning: "warned",
  error: "failed-text",
};

/** An event in the words that all doors use. */
function WordsText({ event }: { event: ShownEvent["event"] }) {
  const { weight, tag, text, hint } = eventWords(event, figures);
  const capital = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);
  return (
    <p class={looks[weight]}>
      {tag !== undefined && (
        <span class={`tag ${weight === "error" ? "tag-failed" : ""}`}>
          {plainText(event.type === "error" ? tag : capital(tag), 80)}
        </span>
      )} <Text of={(tag === undefined ? capital(text) : text).slice(0, 2000)} links />
      {hint !== undefined && (
        <>
          {" "}
          <Text of={hint} links />
        </>
      )}
    </p>
  );
}

/** A denial with what would change it, or a use that a person should know of. */
function CapabilityText({ event }: { event: Extract<HostEvent, { type: "capability" }> }) {
  if (event.needed === false) {
    return <p class="quiet-line">Denied, and not needed: {event.permission} {plainText(event.target, 400)}</p>;
  }
  return (
    <div class="denied">
      <p>
        <span class={`tag ${event.decision === "denied" ? "tag-failed" : "tag-waiting"}`}>
          {event.decision === "denied" ? "Denied" : "Look at it"}
        </span>{" "}
        <b>{event.permission}</b>{" "}
        <code>
          <Text of={plainText(event.target, 400)} />
        </code>
      </p>
      {event.reason !== undefined && (
        <p class="quiet-line">
          <Text of={plainText(event.reason, 500)} />
        </p>
      )}
      {event.manifest_entry !== undefined && (
        <p class="quiet-line">
          The plugin's manifest must ask for it first: <code>{plainText(event.manifest_entry, 300)}</code>
        </p>
      )}
      {event.grant_command !== undefined && (
        <p class="quiet-line">
          {event.grantable === false ? "Then grant it:" : "This would allow it:"}{" "}
          <Command text={plainText(event.grant_command, 500)} />
        </p>
      )}
      {event.grant_command !== undefined && event.grantable !== false && <DenialGrant command={event.grant_command} />}
    </div>
  );
}

/** Files that git shows as changed. */
export function Artifacts(
  { of: artifacts, reason, omitted = 0 }: {
    of: Extract<HostEvent, { type: "artifacts" }>["artifacts"];
    reason?: string | undefined;
    omitted?: number | undefined;
  },
) {
  if (artifacts === null) {
    return (
      <p class="quiet-line">
        Changes are unknown{reason === undefined ? "." : (
          <>
            : <Text of={reason} />
          </>
        )}
      </p>
    );
  }
  if (artifacts.length === 0) return <p class="quiet-line">No file was changed.</p>;
  const more = Math.max(0, artifacts.length - 200) + omitted;
  return (
    <ul class="plain-list files">
      {artifacts.slice(0, 200).map(({ path, change, from }) => (
        <li>
          <ChangedPath change={change} path={path} from={from} />
        </li>
      ))}
      {more > 0 && <li>and {more.toLocaleString("en")} more</li>}
    </ul>
  );
}

/** A changed path with its mark, and the path from which it was moved. */
export function ChangedPath(
  { change, path, from }: { change: Parameters<typeof ChangeMark>[0]["of"]; path: string; from: string | undefined },
) {
  return (
    <>
      <ChangeMark of={change} />{" "}
      <code>
        <Text of={path} />
      </code>
      {from !== undefined && (
        <>
          from{" "}
          <code>
            <Text of={from} />
          </code>
        </>
      )}
    </>
  );
}

/** Characters of an output that stand open. */
const mostOpen = 600;

function Output({ of: text }: { of: string }) {
  if (text.length <= mostOpen) return <MarkdownText of={text} />;
  return (
    <FoldRow class="quiet" line={`All its output, ${text.length.toLocaleString("en")} characters`}>
      {() => <MarkdownText of={text} />}
    </FoldRow>
  );
}

function Ended({ event: { result } }: { event: Extract<HostEvent, { type: "session_ended" }> }) {
  // A turn's output stands in its turn.
  const { isDivided } = useRowPlace();
  // Data that breaks its schema is kept in the error.
  const data = result.structured_output ?? result.error?.details?.["structured_output"];
  return (
    <div class="ended">
      <p class="ended-line">
        <OutcomeMark of={result.outcome} why={result.stop_reason} />
        <span>The session ended after {durationText(result.usage.duration_ms)}</span>
      </p>
      {result.error !== undefined && (result.error.message !== result.stop_reason || result.error.hint !== undefined) &&
        (
          <p class="failed-text">
            <Text of={result.error.message} links />
            {result.error.hint !== undefined && (
              <>
                {" "}
                <Text of={result.error.hint} links />
              </>
            )}
          </p>
        )}
      {result.output !== "" && !isDivided && <Output of={result.output} />}
      {data !== undefined && <JsonText of={data} />}
    </div>
  );
}
