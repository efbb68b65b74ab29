import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { noticePaths, type NotifySettings } from "../../../ground/config/notify-settings.ts";
import { unlessAborted } from "../../../ground/platform/engine/within.ts";
import { runOperatorProgram } from "../../../ground/platform/processes/operator-program.ts";
import { demandRecorded } from "../../../ground/recorded/demand-recorded.ts";
import { postOtlp } from "../../../records/telemetry/post-otlp.ts";
import { filledHeaders } from "../export-telemetry.ts";
import { type Notice, withoutContent } from "./notice.ts";
import type { OperatorSettings } from "../operator-settings.ts";

/** Time for the program. Milliseconds. */
const callMs = 30_000;
/** Waits before a post is tried again, where the place does not say, and the longest. Milliseconds. */
const againMs: readonly number[] = [1000, 5000];
const longestWaitMs = 30_000;

/**
 * Gives a notice to the operator's program and posts it to the address, as far as they are set.
 * @throws {BulkheadError} `unaccepted_change` for a program that an agent could change, `binary_missing`, `io_error`,
 * `timeout`, `network_error`, `env_missing` for a header's secret
 */
export async function sendNotice(
  notice: Notice,
  notify: NotifySettings,
  { settings, signal }: { settings: Pick<OperatorSettings, "openSecrets">; signal: AbortSignal },
): Promise<void> {
  const calls = [callProgram(notice, notify, signal), postNotice(notice, notify, { settings, signal })];
  // One that fails keeps no notice from the other.
  const failed = (await Promise.allSettled(calls)).find((call) => call.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

async function callProgram(notice: Notice, notify: NotifySettings, signal: AbortSignal): Promise<void> {
  if (notify.run === undefined) return;
  for (const path of noticePaths(notify)) await demandRecorded(path, "program");
  const [file = "", ...args] = notify.run;
  await runOperatorProgram(file, args, { stdin: JSON.stringify(notice), ms: callMs, signal });
}

async function postNotice(
  notice: Notice,
  { url, headers: written, content }: NotifySettings,
  { settings, signal }: { settings: Pick<OperatorSettings, "openSecrets">; signal: AbortSignal },
): Promise<void> {
  if (url === undefined) return;
  const headers = await filledHeaders(written, settings);
  const body = JSON.stringify(content ? notice : withoutContent(notice));
  for (const wait of [...againMs, null]) {
    const posted = await postOtlp(body, { url, headers, signal });
    if (posted.state === "taken") return;
    if (posted.state === "refused" || wait === null || signal.aborted) {
      const why = posted.state === "refused" ? `status ${posted.status}` : posted.reason;
      throw new BulkheadError("network_error", `${new URL(url).host} did not take the notice: ${why}.`, {
        hint: 'Check "notify" in bulkhead.yaml.',
      });
    }
    const rest = new Promise((resolve) => setTimeout(resolve, Math.min(posted.again_ms ?? wait, longestWaitMs)));
    await unlessAborted(rest, signal);
  }
}
