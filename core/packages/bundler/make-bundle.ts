import type { BundleLimit, BundleOrder } from "./bundle-order.ts";
import type { Limits } from "../../ground/config/limits.ts";
import type { MadeScript } from "./accept-script.ts";
import { type BundlerOptions, Bundlers } from "./bundlers.ts";

// Of all hosts of this process: a bundler takes longer to start than to make most scripts.
const bundlers = new Bundlers();

/**
 * Makes the one script of a plugin in a process of its own, where its source can do no harm to others. Nothing of the
 * plugin runs there either.
 * @throws {BulkheadError} `bundle_failed` with the author's file, line and column, or with the `reason` why the bundler
 * ended: `out_of_memory`, `crash`, `timeout`, `protocol`; `too_large`
 */
export async function makeScript(order: BundleOrder, limits: Pick<Limits, BundleLimit>): Promise<MadeScript> {
  return await bundlers.make({ form: "script", order }, termsOf(limits));
}

/**
 * Joins a plugin's code to one readable module that imports nothing, for its package; in the same process.
 * @throws {BulkheadError} as {@link makeScript}
 */
export async function makeModule(order: BundleOrder, limits: Pick<Limits, BundleLimit>): Promise<string> {
  const { text } = await bundlers.make({ form: "module", order }, termsOf(limits));
  return text;
}

/** Shares the bundler's process with a host; call the answer when the host closes. The last host to close ends it. */
export function shareBundler(): () => Promise<void> {
  return bundlers.share();
}

/** Ends the bundler's process, if there is one and no host shares it; the next bundle starts it again. */
export async function stopBundler(): Promise<void> {
  await bundlers.end();
}

function termsOf({ bundle_timeout_ms, bundle_mb }: Pick<Limits, BundleLimit>): BundlerOptions {
  return { timeoutMs: bundle_timeout_ms, mb: bundle_mb };
}
