import type { ExplainedPlugin } from "../../../../../plugin-sdk/plugin-report.ts";
import { addressOf } from "../route.ts";
import { plainText } from "../shown-text.ts";
import { PluginTags } from "./plugin-tags.tsx";
import { permissionNames } from "./wall-facts.ts";

/** Plugins against kinds of permissions, with the number of each that is allowed, missing and denied. */
export function Matrix({ plugins, open }: { plugins: readonly ExplainedPlugin[]; open: string | null }) {
  return (
    <>
      <p class="legend">
        <span class="cell cell-given">1</span> allowed
        <span class="cell cell-missing">1</span> asked for, not granted
        <span class="cell cell-denied">1</span> denied
      </p>
      <div class="table-scroll" tabIndex={0} role="region" aria-label="Plugins and permissions">
        <table class="matrix">
          <thead>
            <tr>
              <th scope="col">Plugin</th>
              {permissionNames.map((name) => <th scope="col">{name}</th>)}
            </tr>
          </thead>
          <tbody>
            {plugins.map((plugin) => (
              <tr class={plugin.id === open ? "current" : ""}>
                <th scope="row">
                  <a href={addressOf("walls", "plugins", plugin.id)}>{plainText(plugin.name, 60)}</a>
                  <PluginTags of={plugin} />
                </th>
                {permissionNames.map((name) => <Cell plugin={plugin} name={name} />)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Cell({ plugin, name }: { plugin: ExplainedPlugin; name: string }) {
  const rows = plugin.permissions.filter(({ permission }) => permission === name);
  const counts = [
    ["given", rows.filter(({ effective }) => effective.length > 0).length, "allowed"],
    [
      "missing",
      rows.filter(({ requested, granted, denied }) => requested && !granted && !denied).length,
      "not granted",
    ],
    ["denied", rows.filter(({ denied }) => denied).length, "denied"],
  ] as const;
  const title = rows.map(({ target, effective, why }) =>
    `${effective.length > 0 ? "allowed" : "not allowed"}: ${target}. ${why}`
  ).join("\n");
  if (rows.length === 0) {
    return (
      <td class="cell-none">
        <span class="hidden">not asked for</span>
      </td>
    );
  }
  return (
    <td title={plainText(title, 600)}>
      {counts.filter(([, count]) => count > 0).map(([look, count, words]) => (
        <span class={`cell cell-${look}`}>
          {count}
          <span class="hidden">{words}</span>
        </span>
      ))}
    </td>
  );
}
