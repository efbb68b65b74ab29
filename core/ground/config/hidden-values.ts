/** What an option with such a name holds may be a secret. */
const secretName = /token|key|secret|password|passwd|credential|auth|cookie|dsn/i;

/** Whether the name of an option says that its value may be a secret. */
export function isSecretName(name: string): boolean {
  return secretName.test(name);
}

/**
 * Whether nobody is shown what stands at a path of the host manifest: what is a secret there or may be one, and what came
 * out of the environment.
 * @param path as it is written in errors, such as `plugins.demo.config.url`
 * @param references names of the variables that a value was made of, by its path
 */
export function isHiddenPlace(path: string, references: ReadonlyMap<string, readonly string[]>): boolean {
  if (/^secrets\b/.test(path) || /^tools\b.*\benv_vars\b/.test(path)) return true;
  if (/^mcp_servers\b.*\b(env|headers)\b/.test(path)) return true;
  const [, option] = /^plugins\.[^.]+\.config(.*)/.exec(path) ?? [];
  if (option !== undefined && isSecretName(option)) return true;
  return [...references.keys()].some((key) => path === key || isUnder(path, key) || isUnder(key, path));
}

function isUnder(path: string, other: string): boolean {
  return path.startsWith(`${other}.`) || path.startsWith(`${other}[`);
}
