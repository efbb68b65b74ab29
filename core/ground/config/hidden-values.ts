/** Names of options whose values may be secrets. */
const secretName = /token|key|secret|password|passwd|credential|auth|cookie|dsn/i;

/** True when an option of this name may hold a secret. */
export function isSecretName(name: string): boolean {
  return secretName.test(name);
}

/**
 * True when the value at a path of the host manifest must not be shown: it is or may be a secret, or came out of the
 * environment.
 * @param path as it is written in errors, such as `plugins.demo.config.url`
 * @param references names of the variables that a value was made of, by its path
 */
export function isHiddenPlace(path: string, references: ReadonlyMap<string, readonly string[]>): boolean {
  if (/^secrets\b/.test(path) || /^tools\b.*\benv_vars\b/.test(path)) return true;
  if (/^mcp_servers\b.*\b(env|headers)\b/.test(path)) return true;
  const [, option] = /^plugins\.[^.]+\.config(.*)/.exec(path) ?? [];
  if (option !== undefined && isSecretName(option)) return true;
  return [...references].some(([key, names]) =>
    names.some((name) => name !== "HOME") && (path === key || isUnder(path, key) || isUnder(key, path))
  );
}

function isUnder(path: string, other: string): boolean {
  return path.startsWith(`${other}.`) || path.startsWith(`${other}[`);
}
