/**
 * Whether a program's loader, shell, interpreter or helper takes code or its place from this variable. Neither an
 * adapter nor a request may set one; only the host's own value can go to a child, where the operator granted the name.
 */
export function isLoaderName(name: string): boolean {
  const upper = name.toUpperCase();
  return names.has(upper) || prefixes.some((prefix) => upper.startsWith(prefix));
}

const prefixes = [
  "LD_",
  "DYLD_",
  "NODE_",
  "DENO_",
  "BUN_",
  "NPM_CONFIG_",
  "GIT_",
  "BASH_FUNC_",
  "PYTHON",
  "PERL5",
  "RUBY",
  "GEM_",
  "LUA_",
  "BULKHEAD_",
];

const names: ReadonlySet<string> = new Set([
  "BASHOPTS",
  "BASH_ENV",
  "BROWSER",
  "CDPATH",
  "CLASSPATH",
  "COMSPEC",
  "EDITOR",
  "ENV",
  "GCONV_PATH",
  "GLIBC_TUNABLES",
  "HOME",
  "HOSTALIASES",
  "IFS",
  "JAVA_TOOL_OPTIONS",
  "JDK_JAVA_OPTIONS",
  "LESSCLOSE",
  "LESSOPEN",
  "LOCPATH",
  "LOGNAME",
  "MANPAGER",
  "NLSPATH",
  "OPENSSL_CONF",
  "OPENSSL_ENGINES",
  "OPENSSL_MODULES",
  "PAGER",
  "PATH",
  "PATHEXT",
  "PROMPT_COMMAND",
  "PS1",
  "PS4",
  "RES_OPTIONS",
  "SHELL",
  "SHELLOPTS",
  "SSH_ASKPASS",
  "SUDO_ASKPASS",
  "SYSTEMROOT",
  "TMPDIR",
  "USER",
  "VISUAL",
  "WINDIR",
  "ZDOTDIR",
  "_JAVA_OPTIONS",
]);
