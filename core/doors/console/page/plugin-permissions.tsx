import { useState } from "preact/hooks";
import type { Permissions } from "../../../../plugin-sdk/permissions.ts";
import { attempt, noticeOf, useConsole } from "./console-context.ts";
import { Ago, Failure, Sure } from "./parts.tsx";
import { addressOf } from "./route.ts";
import { plainText } from "./shown-text.ts";
import { Text } from "./text.tsx";
import type { GrantPreview, PermissionRow, PluginRow } from "./wall-facts.ts";

/** Permissions that one plugin asks for, to grant, narrow and revoke; each grant is tried on the history first. */
export function PluginPermissions({ plugin, changed }: { plugin: PluginRow; changed: () => void }) {
  const found = useConsole();
  const path = `/v1/plugins/${encodeURIComponent(plugin.id)}/grants`;
  const [asked, setAsked] = useState<PermissionRow | null>(null);
  const revokeAll = async () => {
    if (await attempt(found, `${plugin.name} has no grant now.`, () => found.api.send("DELETE", path))) changed();
  };
  const revoke = async (row: PermissionRow) => {
    const isDone = await attempt(found, `${plugin.name} may no longer: ${row.permission} ${row.target}`, async () => {
      const { grant } = await found.api.get<{ grant: Permissions }>(path);
      await found.api.send("PUT", path, without(grant, row));
    });
    if (isDone) changed();
  };
  return (
    <section class="panel" aria-labelledby="plugin-name">
      <header class="panel-head">
        <h2 id="plugin-name">
          {plainText(plugin.name, 80)} <span class="quiet-line">{plugin.id} {plugin.version}</span>
        </h2>
        <Sure
          label="Revoke all"
          question={`Take back all that ${plainText(plugin.name, 40)} was granted?`}
          act={() => void revokeAll()}
        />
      </header>
      <p class="quiet-line">
        <Text of={plugin.description} />
      </p>
      {plugin.permissions.length === 0 && <p>It asks for nothing.</p>}
      <ul class="plain-list permissions">
        {plugin.permissions.map((row) => (
          <li>
            <div class="permission">
              <Decision of={row} />
              <b>{row.permission}</b>{" "}
              <code>
                <Text of={plainText(row.target, 300)} />
              </code>
              <span class="permission-act">
                {row.effective.length === 0 && !row.denied && row.permission !== "limits" && (
                  <button
                    type="button"
                    class="primary"
                    onClick={() => setAsked(row)}
                  >
                    Grant …
                  </button>
                )}
                {row.granted && <button type="button" onClick={() => void revoke(row)}>Revoke</button>}
              </span>
            </div>
            <p class="quiet-line">
              <Text of={row.why} />
              {row.broad_because !== undefined && (
                <b class="broad">
                  <Text of={row.broad_because} />
                </b>
              )}
            </p>
            {asked === row && <GrantForm plugin={plugin} row={row} close={() => setAsked(null)} changed={changed} />}
          </li>
        ))}
      </ul>
      {plugin.programs.map((program) => (
        <p class="quiet-line">
          <code>
            <Text of={program.program} />
          </code>: {program.contained === "agent"
            ? "a home of its own, granted hosts alone"
            : program.contained === "workdir"
            ? "writes only its folder"
            : "has all your rights"}
          {program.hosts !== null && program.hosts.length > 0 && (
            <>, calls {program.hosts.map((host) => plainText(host, 80)).join(", ")}</>
          )}
          {program.keys_kept.length > 0 && `, keys that stay with the host: ${program.keys_kept.join(", ")}`}
        </p>
      ))}
    </section>
  );
}

function Decision({ of: { effective, denied, granted } }: { of: PermissionRow }) {
  if (denied) return <span class="tag tag-failed">denied</span>;
  if (effective.length > 0) return <span class="tag tag-done">allowed</span>;
  return <span class="tag tag-waiting">{granted ? "granted, not in force" : "not granted"}</span>;
}

/** Tries a grant on the history, then gives it. The target may be narrowed first. */
function GrantForm(
  { plugin, row, close, changed }: { plugin: PluginRow; row: PermissionRow; close: () => void; changed: () => void },
) {
  const found = useConsole();
  const [target, setTarget] = useState(row.binary ?? row.target);
  const [preview, setPreview] = useState<{ target: string; value: GrantPreview } | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const path = `/v1/plugins/${encodeURIComponent(plugin.id)}/grants`;
  const body = { permission: row.permission === "run_env" ? "run" : row.permission, target };
  const tryIt = async () => {
    setFailure(null);
    try {
      setPreview({ target, value: await found.api.send<GrantPreview>("POST", `${path}/preview`, body) });
    } catch (error) {
      setFailure(error);
    }
  };
  const give = async () => {
    if (
      !await attempt(
        found,
        `${plugin.name} may now: ${row.permission} ${target}`,
        () => found.api.send("POST", path, body),
      )
    ) return;
    close();
    changed();
  };
  const isTried = preview?.target === target;
  return (
    <form class="grant-form" onSubmit={(event) => (event.preventDefault(), void (isTried ? give() : tryIt()))}>
      <label>
        Grant {row.permission}
        <input
          type="text"
          required
          autofocus
          value={target}
          onInput={({ currentTarget }) => setTarget(currentTarget.value)}
        />
        <small>Make it narrower if you can: one host instead of a domain, one folder instead of all.</small>
      </label>
      {failure !== null && <Failure {...noticeOf(failure)} />}
      {isTried && preview !== null && <Preview of={preview.value} />}
      <div class="dialog-actions">
        <button type="button" onClick={close}>Cancel</button>
        <button type="button" class={isTried ? "" : "primary"} onClick={() => void tryIt()}>
          Try it on the history
        </button>
        <button type="submit" class="primary" disabled={!isTried && failure === null}>Grant</button>
      </div>
    </form>
  );
}

function Preview({ of: { allowed, refused, newly_allowed, searched, examples } }: { of: GrantPreview }) {
  return (
    <div class="preview" role="status">
      <p>
        <b>Of {searched.toLocaleString("en")} calls in the history</b> it would have allowed{" "}
        <b>{allowed.toLocaleString("en")}</b>, of which <b>{newly_allowed.toLocaleString("en")}</b> were denied then;
        {" "}
        <b>{refused.toLocaleString("en")}</b> would still be refused.
      </p>
      <ul class="plain-list">
        {examples.slice(0, 12).map(({ session_id, seq, at, permission, target, decision }) => (
          <li>
            <span class={`tag ${decision === "allowed" ? "tag-done" : "tag-failed"}`}>{decision}</span> {permission}
            {" "}
            <code>
              <Text of={plainText(target, 200)} />
            </code>{" "}
            <a href={addressOf("sessions", session_id, seq)}>
              <Ago at={at} />
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A grant with one permission less. */
function without(grant: Permissions, { permission, target, binary }: PermissionRow): Permissions {
  const name = permission === "run_env" ? "run" : permission;
  const value: unknown = Reflect.get(grant, name);
  if (!Array.isArray(value)) return Object.fromEntries(Object.entries(grant).filter(([key]) => key !== name));
  const left = value.filter((one: unknown) => {
    if (typeof one === "string") return one !== target && one !== binary;
    const { binary: program, name: secret } = one as { binary?: string; name?: string };
    return program === undefined ? !target.startsWith(secret ?? "\u0000") : program !== (binary ?? target);
  });
  return { ...grant, [name]: left };
}
