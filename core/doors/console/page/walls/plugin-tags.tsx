import type { ExplainedPlugin } from "../../../../../plugin-sdk/plugin-report.ts";

/** State of a plugin in a word each, beside its name. */
export function PluginTags({ of: plugin }: { of: ExplainedPlugin }) {
  return (
    <>
      {plugin.quarantine?.quarantined_at != null && <span class="tag tag-failed">in quarantine</span>}
      {plugin.blocked !== null && <span class="tag tag-failed">blocked</span>}
      {!plugin.enabled && <span class="tag">off</span>}
    </>
  );
}
