import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { conversationLabelNames } from "../../sessions/host/session-host.ts";
import { realFolder } from "../../ground/runtime/real-folder.ts";
import { isInside } from "../../ground/runtime/paths.ts";
import { type Caller, hasScope } from "./scopes.ts";

/**
 * Checks a request for a session against its caller's token; every door calls this. Returns the request to start, which
 * may differ from the one given.
 * @throws {BulkheadError} `forbidden`
 */
export async function admitSession(caller: Caller, request: SessionRequest): Promise<SessionRequest> {
  demandLabels(caller, request.labels);
  const { workdirs } = caller;
  if (workdirs === undefined) return request;
  if (request.place !== undefined) {
    throw new BulkheadError("forbidden", "The token does not allow it: choose where a session runs.", {
      hint: "It is for some folders of this machine. Use a token without folders, or leave place out.",
      details: { path: "place" },
    });
  }
  const workdir = await realFolder(request.workdir);
  if (workdir === null || !workdirs.some((folder) => isInside(folder, workdir))) {
    throw new BulkheadError("forbidden", `The token does not allow it: start a session in "${request.workdir}".`, {
      hint: `Its sessions are started in ${workdirs.join(", ")}, or below.`,
      details: { workdirs: [...workdirs] },
    });
  }
  // Start in the folder that was checked: a link in the path may lead elsewhere by the time the session starts.
  return { ...request, workdir };
}

/** Guards the labels by which a person's own door finds a conversation: their setter could put words into it. */
function demandLabels(caller: Caller, labels: Readonly<Record<string, string>> = {}): void {
  const kept = conversationLabelNames.filter((name) => Object.hasOwn(labels, name));
  if (kept.length === 0 || hasScope(caller, "admin")) return;
  throw new BulkheadError("forbidden", `The token's scopes do not allow it: set the label ${kept.join(", ")}.`, {
    hint: "An editor's conversations are found by these labels: choose another name.",
    details: { needed: ["admin"] },
  });
}
