import { encodeFrame, FrameReader, wrapFrame } from "../../ground/checks/frames.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { keepInspectorShut } from "../../ground/platform/engine/keep-inspector-shut.ts";
import { loadLibrary } from "../../ground/platform/engine/load-library.ts";
import { hostEnv } from "../../ground/platform/engine/platform.ts";
import { endWarden, openHostPipe } from "../../ground/platform/processes/warden-side.ts";
import { type Esbuild, makeModule, makeScript } from "./make-script.ts";
import { type BundleAnswer, type BundleJob, bundleLanes, type BundleMade, mostAnswerBytes } from "./protocol.ts";

/** A job is the host's own and holds the hashes of a package's files. */
const mostJobBytes = 64 * 1024 * 1024;

keepInspectorShut();
serveHost();

/** The bundler's whole work: one job after the other comes down the host's pipe, and its script or its fault goes up. */
function serveHost(): void {
  const pipe = openHostPipe();
  const frames = new FrameReader(mostJobBytes);
  const esbuild = loadLibrary(hostEnv("BULKHEAD_ESBUILD") ?? "") as Esbuild;
  pipe.onClose(endWarden);
  pipe.onBytes((bytes) => {
    frames.push(bytes, ({ payload }) => {
      // An uncaught error ends this process on purpose: its program is gone, or something else is wrong that the next
      // job should not meet.
      void serve(JSON.parse(new TextDecoder().decode(payload)) as BundleJob, { esbuild, write: pipe.write });
    });
  });
}

async function serve(
  { form, order }: BundleJob,
  { esbuild, write }: { esbuild: Esbuild; write(bytes: Uint8Array): void },
): Promise<void> {
  const send = (lane: number, text: string) => {
    if (text !== "") write(wrapFrame(lane, new TextEncoder().encode(text)));
  };
  const answer = (answer: BundleAnswer) => write(encodeFrame(bundleLanes.answer, JSON.stringify(answer)));
  try {
    if (form === "module") {
      send(bundleLanes.text, await makeModule(order, esbuild));
      return answer({ type: "made", edits: [], inputs: null });
    }
    const { text, bundled, sourceMap, edits, inputs } = await makeScript(order, esbuild);
    send(bundleLanes.text, text);
    send(bundleLanes.sourceMap, sourceMap);
    if (edits.length > 0) send(bundleLanes.bundled, bundled);
    const made = encodeFrame(bundleLanes.answer, JSON.stringify({ type: "made", edits, inputs } satisfies BundleMade));
    if (made.length <= mostAnswerBytes) write(made);
    // A script with too much to check again is not cached, but made each time.
    else answer({ type: "made", edits, inputs: null });
  } catch (error) {
    if (!(error instanceof BulkheadError)) throw error;
    answer(refusalOf(error));
  }
}

function refusalOf({ code, message, hint, details = {} }: BulkheadError): BundleAnswer {
  return {
    type: "refused",
    code: code === "too_large" ? code : "bundle_failed",
    message: message.slice(0, 16_384),
    hint,
    details: Object.fromEntries(
      Object.entries(details).map(([key, value]) => [key, typeof value === "string" ? value.slice(0, 2000) : value]),
    ),
  };
}
