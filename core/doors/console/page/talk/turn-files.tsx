import { useEffect, useState } from "preact/hooks";
import type { TurnDiff } from "../../../../../plugin-sdk/conversation.ts";
import { useConsole } from "../console-context.ts";
import { DiffFile, filesOf } from "../diff-text.tsx";
import { pathOf } from "../review/patch-files.ts";
import { Artifacts } from "../host-event.tsx";
import { Failed, useLoaded } from "../parts.tsx";
import { Text } from "../text.tsx";
import type { Talk } from "./talk.ts";
import type { ChangedFiles, ShownTurn } from "./talk-turns.ts";

/** Files of a diff that are drawn before more is asked for. */
const mostFiles = 20;
/** Names in a sentence. */
const mostNames = 8;

/** Number of files that a turn changed; null where git cannot tell. */
export function fileCount({ artifacts, omitted = 0 }: ChangedFiles): number | null {
  return artifacts === null ? null : artifacts.length + omitted;
}

/** Changes of one turn: their diff where the host keeps its files, else their list. */
export function TurnFiles({ talk, of: turn }: { talk: Talk; of: ShownTurn }) {
  const { files } = turn;
  if (files === null) return null;
  return (
    <section class="turn-files" aria-label={`Files of turn ${turn.turn}`}>
      {files.isKept
        ? <KeptDiff talk={talk} turn={turn.turn} />
        : <Artifacts of={files.artifacts} reason={files.reason} omitted={files.omitted} />}
    </section>
  );
}

function KeptDiff({ talk, turn }: { talk: Talk; turn: number }) {
  const { api } = useConsole();
  const id = talk.report.value?.conversation_id ?? "";
  const [loaded] = useLoaded(
    (signal) => api.get<TurnDiff>(`/v1/conversations/${encodeURIComponent(id)}/turns/${turn}/diff`, {}, signal),
    [id, turn],
  );
  const diff = loaded !== undefined && "value" in loaded ? loaded.value : null;
  useEffect(() => {
    if (diff !== null) talk.learn(turn, diff.taken_back);
  }, [diff]);
  if (loaded === undefined) return <p class="quiet-line">Reading …</p>;
  if ("failed" in loaded) return <Failed of={loaded.failed} />;
  return <ShownDiff of={loaded.value} />;
}

function ShownDiff({ of: { files, files_omitted: omitted = 0, patch, patch_cut } }: { of: TurnDiff }) {
  const [most, setMost] = useState(mostFiles);
  const parsed = filesOf(patch) ?? [];
  const unclaimed = files.filter((file) => file.unclaimed === true).map(({ path }) => path);
  if (files.length === 0) return <p class="quiet-line">No file was changed.</p>;
  return (
    <div class="diff">
      {unclaimed.length > 0 && (
        <p class="quiet-line">
          Nothing shows that the agent changed <Text of={unclaimed.slice(0, mostNames).join(", ")} />
          {unclaimed.length > mostNames && ` and ${unclaimed.length - mostNames} more`}: it may have been you.
        </p>
      )}
      {parsed.slice(0, most).map((file) => <DiffFile key={pathOf(file)} file={file} />)}
      {parsed.length > most && (
        <button type="button" class="more" onClick={() => setMost(most * 4)}>
          Show more of {parsed.length} files
        </button>
      )}
      {patch_cut === true && parsed.length <= most && (
        <p class="quiet-line">
          {parsed.length} of {(files.length + omitted).toLocaleString("en")}{" "}
          files are shown: the diff of all is too long.
        </p>
      )}
    </div>
  );
}
