/** git setting for every program that is started: git ignores bare repositories that it discovers. */
const setting = { key: "safe.bareRepository", value: "explicit" };

const most = 1000;

/**
 * Adds git's own setting against bare repositories to an environment: a folder with `HEAD`, `objects` and `refs` needs
 * no `.git`, and its `config` names programs that `git status` runs. Existing pairs stay, and ours comes last: of two
 * pairs for one setting git takes the later one.
 */
export function withSafeGit(env: Readonly<Record<string, string>>): Record<string, string> {
  const count = Number(env["GIT_CONFIG_COUNT"] ?? "0");
  const known = Array.from({ length: Number.isInteger(count) && count <= most ? Math.max(count, 0) : 0 }, (_, at) => ({
    key: env[`GIT_CONFIG_KEY_${at}`],
    value: env[`GIT_CONFIG_VALUE_${at}`],
  }));
  // git fails on a pair with a missing half.
  const pairs = [...known.filter(({ key, value }) => key !== undefined && value !== undefined), setting];
  const others = Object.entries(env).filter(([name]) => !/^GIT_CONFIG_(COUNT|KEY_\d+|VALUE_\d+)$/.test(name));
  return {
    ...Object.fromEntries(others),
    GIT_CONFIG_COUNT: String(pairs.length),
    ...Object.fromEntries(pairs.flatMap(({ key = "", value = "" }, at) => [
      [`GIT_CONFIG_KEY_${at}`, key],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ])),
  };
}
