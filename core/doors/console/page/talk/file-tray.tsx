import { useEffect, useRef, useState } from "preact/hooks";
import type { AgentReport } from "../../../../../plugin-sdk/agent-report.ts";
import { imageTypes } from "../../../../ground/platform/files/content-type.ts";
import { Failure } from "../parts.tsx";
import { plainText } from "../shown-text.ts";
import { Text } from "../text.tsx";
import { type AttachedFiles, type DraftFile, notTaken, sizeText, type TakenKinds } from "./attached-files.ts";
import { Picture } from "./attached-parts.tsx";

/** Returns the kinds of attachments that an agent takes; null where that is not known. */
export function takenKinds(agents: readonly AgentReport[], agent: string | null): TakenKinds {
  const accepts = agents.find(({ id }) => id === agent)?.accepts;
  if (agent === null || accepts === undefined) return null;
  return { agent, images: accepts.includes("images"), files: accepts.includes("files") };
}

interface AttachProps {
  files: AttachedFiles;
  takes: TakenKinds;
  isBusy: boolean;
}

/** The button that adds images and files. It stays where the agent takes none, and then says why. */
export function Attach({ files, takes, isBusy }: AttachProps) {
  const input = useRef<HTMLInputElement>(null);
  const isOff = takes !== null && !takes.images && !takes.files;
  const choose = () => {
    if (isOff) files.refusals.value = [`Nothing was added: ${notTaken(takes, true)}.`];
    else input.current?.click();
  };
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        multiple
        accept={takes !== null && !takes.files ? [...imageTypes.keys()].join() : undefined}
        onChange={({ currentTarget }) => {
          void files.add([...currentTarget.files ?? []], takes);
          currentTarget.value = "";
        }}
      />
      <button
        type="button"
        class="attach"
        disabled={isBusy}
        aria-disabled={isOff}
        title={isOff ? notTaken(takes, true) : "Or paste it, or drop it here"}
        onClick={choose}
      >
        {takes !== null && !takes.files && takes.images ? "Add image" : "Add file"}
      </button>
    </>
  );
}

/** Takes files that are dropped anywhere on the page, which a browser would open in its place; true while one hovers. */
export function useDrop(take: (files: File[]) => void): boolean {
  const [hovers, setHovers] = useState(false);
  const taken = useRef(take);
  taken.current = take;
  useEffect(() => {
    const over = new AbortController();
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true;
    const onOver = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setHovers(true);
    };
    const onDrop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setHovers(false);
      taken.current([...event.dataTransfer?.files ?? []]);
    };
    addEventListener("dragover", onOver, over);
    addEventListener("dragleave", ({ relatedTarget }) => relatedTarget === null && setHovers(false), over);
    addEventListener("drop", onDrop, over);
    return () => over.abort();
  }, []);
  return hovers;
}

/** Returns the files that a paste brings; none where it brings words as well, as a table of a spreadsheet does. */
export function pastedFiles({ clipboardData }: ClipboardEvent): File[] {
  const isText = clipboardData?.types.includes("text/html") === true && clipboardData.getData("text/plain") !== "";
  return isText ? [] : [...clipboardData?.files ?? []];
}

/** The images and files of the message that is written, with how far each is, and those that were not taken. */
export function FileTray({ files, isBusy }: Omit<AttachProps, "takes">) {
  const list = files.list.value;
  return (
    <>
      {list.length > 0 && (
        <ul class="tray" aria-label="Images and files of your message">
          {list.map((one) => <TrayFile key={one.key} of={one} isBusy={isBusy} remove={() => files.remove(one.key)} />)}
        </ul>
      )}
      <Refusals of={files} />
      {list.map(({ key, state }) =>
        state.kind === "refused" && <Failure key={key} text={state.text} hint={state.hint} />
      )}
    </>
  );
}

function TrayFile({ of: file, isBusy, remove }: { of: DraftFile; isBusy: boolean; remove: () => void }) {
  const name = plainText(file.name, 80);
  return (
    <li class="tray-file" data-state={file.state.kind}>
      {file.picture !== null && <Picture of={file.picture} label={name} />}
      <span class="tray-name">
        <span class="one-line">
          <Text of={name} />
        </span>
        <Progress of={file} />
      </span>
      <button type="button" class="plain" disabled={isBusy} aria-label={`Remove ${name}`} onClick={remove}>×</button>
    </li>
  );
}

/** Files that were not taken, each with the reason. */
function Refusals({ of: { refusals } }: { of: AttachedFiles }) {
  if (refusals.value.length === 0) return null;
  return (
    <div class="failure tray-refusals">
      <div role="alert">
        {refusals.value.map((text) => (
          <p key={text}>
            <Text of={text} />
          </p>
        ))}
      </div>
      <button type="button" class="plain" aria-label="Close" onClick={() => (refusals.value = [])}>✕</button>
    </div>
  );
}

function Progress({ of: { state, file } }: { of: DraftFile }) {
  if (state.kind === "uploading") {
    return <progress max={Math.max(1, file.size)} value={state.sent} aria-label="Sent to the host" />;
  }
  const words = { waits: "goes out with the message", refused: "not taken", stored: sizeText(file.size) };
  return <small class={state.kind === "refused" ? "failed-text" : "quiet-line"}>{words[state.kind]}</small>;
}
