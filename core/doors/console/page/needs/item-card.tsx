import { useEffect, useRef } from "preact/hooks";
import type { WaitingItem } from "../../../http/waiting-item.ts";
import { May } from "../may.tsx";
import { Ago, durationText } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";
import { About } from "./about.tsx";
import { Answer } from "./answer.tsx";
import { askedText, commandOf, folderName } from "./asked-text.ts";

interface ItemCardProps {
  item: WaitingItem;
  isCurrent: boolean;
  isPicked: boolean;
  canPick: boolean;
  focus: () => void;
  toggle: () => void;
}

/** One thing that waits: what it is, whose, until when, and the ways to answer it. */
export function ItemCard({ item, isCurrent, isPicked, canPick, focus, toggle }: ItemCardProps) {
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isCurrent) element.current?.scrollIntoView({ block: "nearest" });
  }, [isCurrent]);
  return (
    <li
      ref={element}
      class={`item item-${item.kind}${isCurrent ? " current" : ""}`}
      onClick={focus}
      aria-current={isCurrent ? "true" : undefined}
    >
      <ItemHead item={item} isPicked={isPicked} canPick={canPick} toggle={toggle} />
      {item.session_id !== null && <ItemSession item={item} id={item.session_id} />}
      <About item={item} />
      <Answer item={item} isCurrent={isCurrent} />
    </li>
  );
}

function ItemHead(
  { item, isPicked, canPick, toggle }: Pick<ItemCardProps, "item" | "isPicked" | "canPick" | "toggle">,
) {
  const asked = askedText(item);
  const isCommand = item.request_id !== null && commandOf(item) !== null;
  return (
    <header>
      {item.kind === "permission" && (
        <May right="run">
          <input
            type="checkbox"
            checked={isPicked}
            disabled={!canPick}
            title={canPick ? undefined : "Another tool, or other choices, than those that are selected"}
            aria-label={`Select: ${plainText(asked, 80)}`}
            onChange={toggle}
          />
        </May>
      )}
      <span class={`tag tag-${item.kind}`}>{kinds[item.kind]}</span>
      <strong class={`item-title${isCommand ? " item-command" : ""}`}>
        <Text of={asked} />
      </strong>
      <span class="item-times">
        {item.deadline !== null && <Deadline at={item.deadline} cutFromMs={item.deadline_cut_from_ms} />}
        {item.at !== null && <Ago at={item.at} />}
      </span>
    </header>
  );
}

/** Time before its end at which a deadline is near. Milliseconds. */
const nearMs = 15 * 60_000;

function Deadline({ at, cutFromMs }: { at: string; cutFromMs: number | null }) {
  const isNear = Date.parse(at) - Date.now() < nearMs;
  return (
    <span class={isNear ? "deadline deadline-near" : "deadline"}>
      <Ago at={at} until /> left
      {cutFromMs !== null && ` (limits.answer_timeout_ms, not the ${durationText(cutFromMs)} asked for)`}
    </span>
  );
}

function ItemSession({ item, id }: { item: WaitingItem; id: string }) {
  const who = item.adapter_id ?? item.plugin_id;
  const asked = askedText(item);
  return (
    <p class="item-who">
      {who !== null && (
        <b>
          <Text of={who} />
        </b>
      )}
      {item.workdir !== null && (
        <span class="item-place" title={plainText(item.workdir, 600)}>
          <Text of={plainText(folderName(item.workdir), 60)} />
        </span>
      )}
      <a class="one-line" href={addressOf("sessions", id)}>
        {(asked === item.title || item.title === id ? "" : plainText(item.title, 120)) || "Its session"}
      </a>
      <code class="item-id">{id.slice(0, 8)}</code>
    </p>
  );
}

const kinds: Readonly<Record<WaitingItem["kind"], string>> = {
  permission: "Permission",
  question: "Question",
  grant: "Refused",
  quarantine: "Quarantine",
  conflict: "Conflict",
  held: "Can run programs",
};
