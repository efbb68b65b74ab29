import { useEffect, useState } from "preact/hooks";
import type { FolderState, Workspace } from "../../../../../plugin-sdk/workspace.ts";
import { workedIn } from "../../../../../plugin-sdk/workspace.ts";
import { RefusedCall } from "../api.ts";
import { noticeOf, useConsole } from "../console-context.ts";
import { useLoaded } from "../parts.tsx";
import { plainText } from "../shown-text.ts";

/** Folders that the list offers. */
const mostFolders = 20;
/** From the last letter of a path to the question what it is. */
const pauseMs = 300;

/** The folder to work in, those of earlier sessions to choose from, and what the folder has checked out. */
export function Folder({ of: given }: { of: string | undefined }) {
  const folders = useKnownFolders();
  const [typed, setTyped] = useState(given);
  const folder = typed ?? folders[0] ?? "";
  return (
    <div class="folder">
      <label>
        Folder<input
          type="text"
          name="workdir"
          required
          list="folders"
          value={folder}
          placeholder="/absolute/path"
          aria-describedby="folder-state"
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
        <datalist id="folders">{folders.map((one) => <option value={one} />)}</datalist>
      </label>
      <p id="folder-state" class="quiet-line" role="status">{useFolderText(folder.trim())}</p>
    </div>
  );
}

/** Returns folders of earlier sessions, the latest first: of one in a worktree, the folder that it was asked for. */
function useKnownFolders(): string[] {
  const { api, sessions } = useConsole();
  const [trees] = useLoaded((signal) => api.get<{ workspaces: Workspace[] }>("/v1/workspaces", {}, signal), []);
  const known = trees !== undefined && "value" in trees ? trees.value.workspaces : [];
  const folders = sessions.all.value.flatMap(({ workdir, session_id, conversation_id }) => {
    const tree = known.find((one) => workedIn(one, session_id));
    if (tree !== undefined) return [tree.workdir];
    return [session_id, conversation_id].some((id) => workdir.includes(id)) ? [] : [workdir];
  });
  return [...new Set(folders)].slice(0, mostFolders);
}

/** Says in words what a folder has checked out; empty until it is known. */
function useFolderText(folder: string): string {
  const { api } = useConsole();
  const [asked, setAsked] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setAsked(folder), pauseMs);
    return () => clearTimeout(timer);
  }, [folder]);
  const [loaded] = useLoaded(async (signal) => {
    // A relative path is one of a clone that the host makes.
    if (!asked.startsWith("/")) return { asked, text: "" };
    const state = api.get<FolderState>("/v1/folder", { workdir: asked }, signal);
    return { asked, text: await state.then(stateText, refusalText) };
  }, [asked]);
  return loaded !== undefined && "value" in loaded && loaded.value.asked === folder ? loaded.value.text : "";
}

function stateText({ branch, commit, uncommitted }: FolderState): string {
  if (commit === null) {
    if (branch === null) return "In no git repository: work there happens in the folder itself.";
    return `${plainText(branch, 200)}, without a commit yet: work there happens in the folder itself.`;
  }
  const at = commit.slice(0, 8);
  const place = branch === null ? `Commit ${at}, on no branch` : `${plainText(branch, 200)} at ${at}`;
  if (uncommitted === null) return `${place}.`;
  return uncommitted
    ? `${place}, with changes that are not committed: a worktree begins with them.`
    : `${place}, all committed.`;
}

/** A refusal in its words; a host that is away has a banner of its own. */
function refusalText(error: unknown): string {
  return error instanceof RefusedCall && error.status > 0 ? noticeOf(error).text : "";
}
